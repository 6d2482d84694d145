package world

import (
	"context"
	"slices"
	"sort"
	"time"
)

// Cycler is the engine as Drive needs it.
type Cycler interface {
	Cycle(ctx context.Context, now time.Time) (wake time.Time, err error)
}

// stirrer is an engine that reports cheaply whether a job has answered.
type stirrer interface{ Stirred() bool }

// planned is an action of a user or administrator at a time.
type planned struct {
	at time.Time
	do func()
}

// put adds an action to a plan in order of time, after actions at the same time.
func put(plan []planned, p planned) []planned {
	i := sort.Search(len(plan), func(i int) bool { return plan[i].at.After(p.at) })
	return slices.Insert(plan, i, p)
}

// Drive runs cycles for a span of virtual time. Like the daemon it runs one early when a job
// answers. Errors of a cycle are ignored, as the engine handles them; only the end of ctx
// stops Drive early.
func (w *World) Drive(ctx context.Context, e Cycler, span time.Duration) error {
	return w.DriveUntil(ctx, e, span, func() bool { return false })
}

// DriveUntil is Drive that ends as soon as done reports true after a cycle.
func (w *World) DriveUntil(ctx context.Context, e Cycler, span time.Duration, done func() bool) error {
	end := w.Now().Add(span)
	for w.Now().Before(end) {
		if err := ctx.Err(); err != nil {
			return err
		}
		wake, _ := e.Cycle(ctx, w.Now())
		if done() {
			return nil
		}
		if !wake.After(w.Now()) {
			wake = w.Now().Add(time.Millisecond)
		}
		if wake.After(end) {
			wake = end
		}
		w.passUntil(wake, e)
	}
	return nil
}

// passUntil lets time pass up to t, or to the first answer of a job.
func (w *World) passUntil(t time.Time, e Cycler) {
	s, listens := e.(stirrer)
	for w.Now().Before(t) {
		next := t
		if listens && w.Mail.asked() {
			next = earlier(next, w.Now().Add(w.cfg.Notice))
		}
		if len(w.plan) > 0 {
			next = earlier(next, w.plan[0].at)
		}
		w.Slurm.AdvanceTo(next)
		w.carryOut()
		if listens && s.Stirred() {
			return
		}
	}
}

// carryOut performs the actions planned for now or before.
func (w *World) carryOut() {
	for len(w.plan) > 0 && !w.plan[0].at.After(w.Now()) {
		do := w.plan[0].do
		w.plan = w.plan[1:]
		do()
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Over reports whether every submitted job has ended.
func (w *World) Over() bool {
	for _, t := range w.trainers {
		if !t.Ended() {
			return false
		}
	}
	return true
}
