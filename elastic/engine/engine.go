package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/execute"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/engine/watch"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/slurm"
)

// Config is what an Engine is made of.
type Config struct {
	Seams
	track.Rules
	Policy policy.Policy
	// Between, when set, is called before every effect of a cycle and between its queries:
	// there Direct and Meet may be called.
	Between func()
	// Events receives what happened, in order; nil drops it. It must not block.
	Events func(event.Event)
}

// Seams are the world outside. Those without a note on nil are required.
type Seams struct {
	Slurm   slurm.Client
	Journal journal.Journal
	Samples journal.Samples
	Mailbox observe.Mailbox
	// Limiter tells the site's limits, which every plan keeps; nil = there are none. It must
	// not block for long: see ErrAsking.
	Limiter slurm.Limiter
	// Accountant tells how jobs ended that Slurm has forgotten; nil = that stays unknown. It must
	// not block for long: see ErrAsking.
	Accountant slurm.Accountant
}

// Engine runs cycles. Its methods are called from one goroutine, except Report,
// which any may call.
type Engine struct {
	cfg Config
	*watch.Watch
	blind  blindness
	report publish.Board
	sealed bool      // Last holds a snapshot
	next   time.Time // when the next cycle is due

	foretold foretold // the last forecast that was asked for
}

// blindness is that Slurm cannot be seen.
type blindness struct {
	since time.Time
	why   string // "" = it can
	wait  time.Duration
}

// New returns an engine that has looked at nothing yet.
func New(cfg Config) *Engine {
	if cfg.Events == nil {
		cfg.Events = func(event.Event) {}
	}
	e := &Engine{cfg: cfg, Watch: &watch.Watch{State: track.New(cfg.Rules, cfg.Samples, cfg.Events)}}
	e.wire()
	return e
}

// wire hands the seams to those who use them.
func (e *Engine) wire() {
	c := &e.cfg
	e.Observer.Slurm, e.Observer.Mail, e.Observer.Journal = c.Slurm, c.Mailbox, c.Journal
	e.Observer.Limiter, e.Observer.Accountant, e.Observer.Between = c.Limiter, c.Accountant, c.Between
	e.State.HasLimiter = c.Limiter != nil
	e.Executor = execute.Executor{State: e.State, Slurm: c.Slurm, Journal: c.Journal, Samples: c.Samples, Mail: c.Mailbox, Between: c.Between}
	e.report.State, e.report.Policy = e.State, c.Policy
}

// Reconfigure changes policy, limits and pace between two cycles.
func (e *Engine) Reconfigure(change func(*Config)) {
	change(&e.cfg)
	e.foretold, e.Learnt.Store, e.State.Rules = foretold{}, e.cfg.Samples, e.cfg.Rules
	e.wire()
	if e.Site.Known {
		e.Site = eligible.Read(e.Site.Limits, e.cfg.Edge) // which partitions are edge pools may be others
	}
}

// Report returns what the last cycle saw and decided; nil before the first.
func (e *Engine) Report() *publish.Report { return e.report.Last() }

// Cycle looks at the world once, moves what has to move and returns when to come
// again. An error means that nothing was decided in this cycle; running jobs
// keep their size, and the next cycle starts from what it sees.
func (e *Engine) Cycle(ctx context.Context, now time.Time) (wake time.Time, err error) {
	defer func() { e.due(wake) }()
	// 0. Remember: journal to memory, once.
	if err := e.Load(ctx, now); err != nil {
		return now.Add(e.cfg.Period), err
	}
	e.Rewind(now)
	e.Observer.Rewind(now)
	e.NoteAway(e.next, now)
	// 1. Observe: two queries, and the small files of the jobs that run.
	seen, err := e.Observe(ctx, now)
	if err != nil {
		return e.blinded(now, err), err
	}
	e.sighted(now)
	// 2. Fold: what was seen becomes what is known.
	e.Fold(ctx, seen, now)
	// 3. Go on with the moves under way: as many steps as need no new look.
	snap := e.Snapshot(seen, now)
	acted, stirred := e.Executor.Act(ctx, e.Open, snap, now)
	if stirred {
		snap = e.Snapshot(seen, now)
	}
	// 4. Decide: pure, from the snapshot alone, and once more where that was not fresh enough.
	plan := decide(e.cfg.Policy, snap)
	snap, plan, waits, err := e.freshly(ctx, seen, snap, plan, now)
	if err != nil {
		return e.blinded(now, err), err
	}
	// 5. Record: every new move stands in the journal before its first effect.
	opened, err := e.Executor.Record(ctx, plan, now)
	if err != nil {
		e.publish(snap, plan, now)
		return now.Add(e.cfg.Period), err
	}
	// 6. Act on the new moves.
	snap.Intents = e.Open
	more, _ := e.Executor.Act(ctx, opened, snap, now)
	acted = e.Executor.DoChores(ctx, now) || more || acted
	// 7. Confirm: what became of it is durable, published, and looked at again.
	err = e.Executor.Save(ctx)
	e.publish(snap, plan, now)
	return e.wake(now, acted, waits || e.cfg.Policy.Measures(snap)), err
}

// publish hands the cycle's result to readers, and keeps it for the next cycle.
func (e *Engine) publish(snap elastic.Snapshot, plan elastic.Plan, now time.Time) {
	snap.Intents = slices.Clone(e.Open)
	e.Last, e.sealed = snap.Lent(), true
	e.report.Publish(snap, plan, now)
	e.ForgetOld(now)
}

// wake returns when to look again: soon while anything is between two sizes, and before
// long while a job is measured, which waits at a size until it is known, or moves wait.
func (e *Engine) wake(now time.Time, acted, waits bool) time.Time {
	switch {
	case slices.ContainsFunc(e.Open, stopped):
		return beforeSecond(now.Add(e.cfg.Transition / 2))
	case acted || len(e.Open) > 0 || e.Ending(now):
		return now.Add(e.cfg.Transition)
	case waits:
		return now.Add(min(e.cfg.Period, measurePeriod))
	}
	return e.NextTry(now, now.Add(e.cfg.Period))
}

// measurePeriod is the longest time between two looks while a job is measured.
const measurePeriod = 5 * time.Second

// blinded notes that Slurm cannot be seen; nothing is changed meanwhile.
func (e *Engine) blinded(now time.Time, err error) time.Time {
	if e.blind.why == "" {
		e.blind.since, e.blind.wait = now, e.cfg.Transition
		e.Tell(now, 0, "blind", err.Error())
	}
	e.blind.why = err.Error()
	e.blind.wait = min(2*e.blind.wait, max(e.cfg.Backoff, e.cfg.Transition))
	e.report.Blind(e.blind.why, now.Sub(e.blind.since))
	return now.Add(e.blind.wait)
}

func (e *Engine) sighted(now time.Time) {
	if e.blind.why != "" {
		e.Tell(now, 0, "sighted", "Slurm answers again after "+now.Sub(e.blind.since).String())
		e.SeenAgain(now)
	}
	if e.Began.IsZero() {
		e.Began = now
	}
	e.blind.why = ""
}

// Happened says that something did, in Slurm perhaps: the next look asks for the nodes, too.
// It is called between two cycles.
func (e *Engine) Happened() { e.Seen.Old = true }
