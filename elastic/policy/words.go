package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// words is what the reasons need to know about the whole round.
type words struct {
	*round
	idle  []nodes.Node  // the inventory after the decision
	cause string        // for whom running jobs gave GPUs back; "" until asked for
	gives map[*pool]int // GPUs that running jobs can give back, where that was asked for
}

// explain says in one sentence why the job gets what it gets. It is called once
// the sizes are final.
func (r *round) explain(i int) string {
	if r.said == nil {
		r.said = &words{round: r, idle: r.try(r.size, r.wants).after, gives: map[*pool]int{}}
	}
	w, j := r.said, &r.jobs[i]
	switch {
	case j.role == fixed:
		return j.still
	case j.role == waiting && r.size[i] == 0:
		return w.waits(i)
	case j.role == waiting:
		return w.starts(i)
	case j.pin > 0:
		return w.pinned(i)
	case r.size[i] < j.now:
		return w.shrinks(i)
	case r.size[i] > j.now:
		return w.grows(i)
	}
	return w.keeps(i)
}

// served names whom reductions serve: those who would find no room without.
func (w *words) served() string {
	if w.cause != "" {
		return w.cause
	}
	t := w.try(w.base, w.wants)
	var who []string
	for _, i := range t.short {
		who = append(who, fmt.Sprintf("job %d waits for %s", w.jobs[i].ID, gpus(w.base[i]-w.jobs[i].now)))
	}
	for _, k := range t.unmet {
		who = append(who, fmt.Sprintf("ordinary job %d waits for %s", w.wants[k].id, gpus(w.wants[k].GPUs)))
	}
	switch len(who) {
	case 0:
		w.cause = "others wait for GPUs"
	case 1, 2:
		w.cause = strings.Join(who, " and ")
	default:
		w.cause = fmt.Sprintf("%s, and %d more wait", who[0], len(who)-1)
	}
	return w.cause
}

func (w *words) waits(i int) string {
	j := &w.jobs[i]
	want := j.least()
	head := j.blocked
	switch {
	case !j.pool.splits(want):
		return impossible(&w.snap, &j.Job, want)
	case head == nil || head == j:
	default:
		return fmt.Sprintf("waits behind job %d, which came first and needs %s", head.ID, gpus(head.least()))
	}
	idle := j.pool.free(w.idle)
	back := w.back(j.pool)
	switch {
	case idle+back == 0:
		return fmt.Sprintf("waits for %s: none is idle, and no running job can give one back", gpus(want))
	case idle+back < want:
		return fmt.Sprintf("waits for %s: %s, and running jobs can give back %d", gpus(want), areIdle(idle), back)
	}
	return fmt.Sprintf("waits for %s: %s, running jobs can give back %d, but not on nodes as it needs them", gpus(want), areIdle(idle), back)
}

// back is how many GPUs running jobs can give back in a pool.
func (w *words) back(on *pool) int {
	back, known := w.gives[on]
	if !known {
		_, _, back = w.reductions(w.base, on)
		w.gives[on] = back
	}
	return back
}

func (w *words) starts(i int) string {
	j, n := &w.jobs[i], w.size[i]
	switch {
	case j.pin > 0:
		return fmt.Sprintf("starts on %s: pinned to it", gpus(n))
	case n > j.least():
		saved := j.cost(j.least()) - j.cost(n)
		return fmt.Sprintf("starts on %s, %d above its minimum: spare GPUs save %s of %s", gpus(n), n-j.least(), j.time(saved), j.time(j.seconds(j.least())))
	case w.reducedFor(j):
		return fmt.Sprintf("starts on its minimum of %s, which running jobs give back", gpus(n))
	}
	return fmt.Sprintf("starts on its minimum of %s: %s", gpus(n), w.noGrowth(i))
}

// reducedFor reports whether some running job gives GPUs back where j may run.
func (w *words) reducedFor(j *job) bool {
	for k := range w.jobs {
		if o := &w.jobs[k]; o.role == movable && o.pin == 0 && w.size[k] < o.now && o.pool.meets(j.pool) {
			return true
		}
	}
	return false
}

func (w *words) pinned(i int) string {
	j, n := &w.jobs[i], w.size[i]
	switch {
	case n != j.now:
		return fmt.Sprintf("%s: its user pinned it to %d", change(j.now, n), j.pin)
	case n == j.pin:
		return fmt.Sprintf("keeps %s: pinned to it", gpus(n))
	case j.pin < n && w.strands(j):
		return fmt.Sprintf("keeps %s: pinned to %d, but it could not start again on its nodes, which take nothing new", gpus(n), j.pin)
	case j.pin < n:
		return fmt.Sprintf("keeps %s: pinned to %d, but no split of %d on nodes exists now", gpus(n), j.pin, j.pin)
	case j.blocked != nil:
		return fmt.Sprintf("keeps %s: pinned to %d, but job %d waits to start and comes first", gpus(n), j.pin, j.blocked.ID)
	}
	return fmt.Sprintf("keeps %s: pinned to %d, but of the %d more %s", gpus(n), j.pin, j.pin-n, areIdle(j.pool.free(w.idle)))
}

func (w *words) shrinks(i int) string {
	j, n := &w.jobs[i], w.size[i]
	lost := j.seconds(n) - j.seconds(j.now)
	if w.base[i] < j.now && lost < 0 { // given back by itself, see relieve
		return fmt.Sprintf("%s: fewer GPUs were measured to be faster; saves %s of %s for a %s move", change(j.now, n), j.time(-lost), j.time(j.seconds(j.now)), span(j.price))
	}
	return fmt.Sprintf("%s: %s; its rest takes %s instead of %s", change(j.now, n), w.served(), j.time(j.cost(n)), j.time(j.seconds(j.now)))
}

func (w *words) grows(i int) string {
	j, n := &w.jobs[i], w.size[i]
	saved, _ := j.saves(n, w.snap.Limits.Payback)
	return fmt.Sprintf("%s: saves %s of %s for a %s move; %s and nobody waits", change(j.now, n), j.time(saved), j.time(j.seconds(j.now)), span(j.price), wereIdle(j.pool.free(w.spare)))
}

func (w *words) keeps(i int) string {
	return fmt.Sprintf("keeps %s: %s", gpus(w.size[i]), w.noGrowth(i))
}

// noGrowth says why a job gets no more than it has: the first obstacle.
func (w *words) noGrowth(i int) string {
	j, n := &w.jobs[i], w.size[i]
	next := 0
	for _, k := range j.sizes {
		if k > n {
			next = k
			break
		}
	}
	idle := j.pool.free(w.idle)
	switch {
	case j.Unproven && !j.started() && j.pin == 0:
		return unproven + "; it grows once it has shown one"
	case next == 0:
		return w.most(j, n)
	case j.blocked != nil:
		return fmt.Sprintf("job %d waits for %s and comes first", j.blocked.ID, gpus(j.blocked.least()))
	case j.finished():
		return "it has done all its work"
	case j.started() && w.snap.Resting(&j.Job):
		return restWords(w.snap, &j.Job)
	case idle == 0 && len(w.wants) > 0:
		return fmt.Sprintf("no GPU is idle but those kept for ordinary job %d", w.wants[0].id)
	case idle == 0:
		return "no GPU is idle"
	case next-n > idle:
		return fmt.Sprintf("its next size is %d, and %s", next, areIdle(idle))
	}
	return w.notWorth(i, idle)
}

// restWords say until when a job rests that moved less than a cooldown ago. They hold
// whenever they are read.
func restWords(s elastic.Snapshot, j *elastic.Job) string {
	return fmt.Sprintf("it was moved at %s, and is not moved again before %s", hms(s.Now, j.Moved), hms(s.Now, s.RestsUntil(j)))
}

// hms is a time of day, with its date where that is another.
func hms(now, t time.Time) string {
	t = t.In(now.Location())
	if t.Sub(now).Abs() < 12*time.Hour {
		return t.Format("15:04:05")
	}
	return clock(t)
}

// notWorth says why idle GPUs in reach do not pay for the job.
func (w *words) notWorth(i, idle int) string {
	j, n := &w.jobs[i], w.size[i]
	best, most := 0, math.Inf(-1)
	for _, k := range j.sizes {
		if k > n && k-n <= idle {
			if saved := j.seconds(n) - j.seconds(k); saved > most {
				best, most = k, saved
			}
		}
	}
	_, worth := j.saves(best, w.snap.Limits.Payback)
	switch {
	case most <= 0:
		return fmt.Sprintf("more GPUs would not make it faster, though %s", areIdle(idle))
	case j.started() && !worth && w.snap.Limits.Payback > 1:
		return fmt.Sprintf("%d GPUs would save %s, and a move that costs %s has to save %g times that", best, j.time(most), span(j.price), w.snap.Limits.Payback)
	case j.started() && !worth:
		return fmt.Sprintf("%d GPUs would save %s, and the move would cost %s", best, j.time(most), span(j.price))
	case j.started():
		return fmt.Sprintf("%s, but not on nodes as it could use them, or others save more with them", areIdle(idle))
	}
	return fmt.Sprintf("%s, but not on nodes as it could use them", areIdle(idle))
}

// most says why no accepted size is above n.
func (w *words) most(j *job, n int) string {
	if j.Spec.Max > 0 && !slices.ContainsFunc(j.Spec.Options(j.Spec.Max), func(k int) bool { return k > n }) {
		return "that is its maximum"
	}
	return "its partition has no larger size for it"
}

// time prints seconds of a job; those that rest on an assumed speed are marked.
func (j *job) time(seconds float64) string {
	if j.Curve.Samples() == 0 {
		return "about " + span(seconds) + " (assumed)"
	}
	return span(seconds)
}

func span(seconds float64) string {
	switch {
	case seconds < 10 && seconds != math.Trunc(seconds):
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 10000:
		return fmt.Sprintf("%.0f s", seconds)
	}
	whole := (time.Duration(min(seconds, 1e9)) * time.Second).Round(time.Minute)
	return strings.TrimSuffix(whole.String(), "0s")
}

func gpus(n int) string {
	if n == 1 {
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", n)
}

func areIdle(n int) string {
	switch n {
	case 0:
		return "none is idle"
	case 1:
		return "1 is idle"
	}
	return fmt.Sprintf("%d are idle", n)
}

func wereIdle(n int) string {
	if n == 1 {
		return "1 GPU was idle"
	}
	return fmt.Sprintf("%d GPUs were idle", n)
}

func change(from, to int) string {
	verb := "grows"
	if to < from {
		verb = "shrinks"
	}
	return fmt.Sprintf("%s %d -> %d", verb, from, to)
}
