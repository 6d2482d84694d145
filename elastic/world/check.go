package world

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// units below this are rounding.
const rounding = 1e-6

// Check returns every violation of an invariant so far, one line each, in a fixed order; nil = none.
// It uses only the world's record; if there are Records, they are audited too.
func (w *World) Check() []string {
	var all []string
	for _, f := range w.Findings() {
		all = append(all, f.Text)
	}
	return all
}

// Finding is a violation of an invariant.
type Finding struct {
	Kind string // its kind, if a scenario may excuse it; "" = it may not
	Job  int64  // of which job; 0 = of none, or not known
	Text string
}

// StoppedUnsaved is the kind of a finding that a scenario may excuse: I3, a daemon requeued a run
// whose work was not saved. Package records has other kinds.
const StoppedUnsaved = "stopped_unsaved"

// Findings are what Check returns, with their kinds.
func (w *World) Findings() []Finding {
	c := &checker{w: w}
	seen := map[slurm.JobID]bool{}
	for _, t := range w.trainers {
		if seen[t.id] && !w.forgetful() {
			c.add("I1", t, "two jobs share the number")
		}
		seen[t.id] = true
		runs := t.Runs()
		c.oneAtATime(t, runs)
		c.contiguous(t, runs)
		if !t.Job.Liar {
			c.nothingLost(t, runs)
		}
		c.sizes(t, runs)
		c.visible(t)
	}
	c.gpus()
	c.ownJobsOnly()
	c.noLaunchLost()
	c.audited()
	for _, err := range w.faults {
		c.found("the world: %v", err)
	}
	return c.broken
}

// audited checks the same invariants from the records alone, with package audit, which shares no code
// with the engine.
func (c *checker) audited() {
	if c.w.Records == nil {
		return
	}
	liars := map[int64]bool{}
	for _, t := range c.w.trainers {
		liars[int64(t.id)] = liars[int64(t.id)] || t.Job.Liar // numbers may be reused
	}
	c.broken = append(c.broken, c.w.Records.Findings(func(job int64) bool { return liars[job] })...)
}

// forgetful reports whether slurmctld loses state in this world: it may then reuse restart counts and
// job numbers.
func (w *World) forgetful() bool {
	return slices.ContainsFunc(w.cfg.Fake.Faults, func(f fake.Fault) bool { return f.Kind == fake.Forget })
}

// LateStop reports whether the fault makes slurmctld carry out a stop late.
func LateStop(f fake.Fault) bool {
	return f.Kind == fake.Late && (f.On == "scontrol requeue incomplete" || f.On == "scontrol requeuehold")
}

// lateStops returns the longest time that slurmctld takes in this world to carry out a stop.
func (w *World) lateStops() (most time.Duration) {
	for _, f := range w.cfg.Fake.Faults {
		if LateStop(f) {
			most = max(most, f.For)
		}
	}
	return most
}

type checker struct {
	w      *World
	broken []Finding
}

func (c *checker) found(format string, args ...any) {
	c.broken = append(c.broken, Finding{Text: fmt.Sprintf(format, args...)})
}

func (c *checker) add(which string, t *Trainer, format string, args ...any) {
	c.found("%s job %d: %s", which, t.id, fmt.Sprintf(format, args...))
}

// oneAtATime: I1, no two runs of a job overlap, and each has its own restart.
func (c *checker) oneAtATime(t *Trainer, runs []RunRecord) {
	for i := 1; i < len(runs); i++ {
		before, after := runs[i-1], runs[i]
		if before.Ended.IsZero() || after.Began.Before(before.Ended) {
			c.add("I1", t, "run %d began while run %d went on", after.Restarts, before.Restarts)
		}
		if after.Restarts <= before.Restarts && !c.w.forgetful() {
			c.add("I1", t, "run %d follows run %d", after.Restarts, before.Restarts)
		}
	}
}

// contiguous: each run continues from exactly where it resumed, without a gap.
func (c *checker) contiguous(t *Trainer, runs []RunRecord) {
	for _, r := range runs {
		at := r.Start
		for _, work := range r.Work {
			if math.Abs(work.From-at) > rounding || work.To < work.From-rounding {
				c.add("I3", t, "run %d worked from %.6g to %.6g after %.6g", r.Restarts, work.From, work.To, at)
			}
			at = work.To
		}
	}
}

// moment is how many seconds may pass between an answer and the stop.
const moment = 20

// nothingLost: I3, every run starts from the newest valid checkpoint, and the daemon stops no run
// whose work is not saved. A program that saves on its own continues between its answer and the
// stop, which Slurm may carry out late; that work does not count.
func (c *checker) nothingLost(t *Trainer, runs []RunRecord) {
	for _, r := range runs {
		if r.Start < r.Best-rounding {
			c.add("I3", t, "run %d resumed at %.6g units although %.6g were saved", r.Restarts, r.Start, r.Best)
		}
		slack := rounding
		if t.Job.Spec.Habit {
			slack += (moment + c.w.lateStops().Seconds()) / t.Job.Model(r.gpus(), len(r.Split))
		}
		if ours(r.Why.By) && r.Done > r.Saved+slack {
			c.add("I3", t, "run %d was stopped by %s (%s) with %.6g units done and %.6g saved",
				r.Restarts, r.Why.By, r.Why.What, r.Done, r.Saved)
			if r.Why.What == fake.RequeuedBy {
				c.broken[len(c.broken)-1].Kind = StoppedUnsaved
			}
		}
	}
}

// sizes: I4, the daemon gave each run a size that the job accepts.
func (c *checker) sizes(t *Trainer, runs []RunRecord) {
	for _, r := range runs {
		if gpus := r.Aim.GPUs(); gpus > 0 && !t.Job.Spec.Allows(gpus, 1<<30) {
			c.add("I4", t, "run %d was to have %d GPUs", r.Restarts, gpus)
		}
	}
}

// ownJobsOnly: I8, the daemon changes only sluice's jobs, and cancels none but lanes of sweeps.
func (c *checker) ownJobsOnly() {
	own, lane := map[slurm.JobID]bool{}, map[slurm.JobID]bool{}
	for _, t := range c.w.trainers {
		own[t.id], lane[t.id] = true, t.Job.Spec.Sweep != ""
	}
	for _, ch := range c.w.Slurm.Changes() {
		if ours(ch.By) && (!own[ch.Job] || ch.Op == "scancel" && !lane[ch.Job] || ch.Op == "sbatch") {
			c.found("I8 job %d: %s by %s", ch.Job, ch.Op, ch.By)
		}
	}
}

// visible: I2, a job is known until it ends, and completes only when its work is done.
func (c *checker) visible(t *Trainer) {
	d, err := c.w.User("root").Job(context.Background(), t.id)
	if err != nil || d.State != slurm.Completed {
		return
	}
	another := d.User != t.Job.User || d.Name != t.Job.Name || elastic.Tagged(d.Comment) && !strings.Contains(d.Comment, t.Token)
	if another || t.Job.Liar {
		return // another job with this number, or a job that reports falsely
	}
	if done := t.Done(); done < t.Job.Spec.Total-rounding && t.Job.ExitAt == 0 && !t.Job.OnRequest {
		c.add("I2", t, "COMPLETED with %.6g of %.6g units", done, t.Job.Spec.Total)
	}
}

// noLaunchLost: I2, a job whose launch Slurm refused is requeued soon.
func (c *checker) noLaunchLost() {
	const soon = 5 * time.Minute
	last := map[slurm.JobID]fake.End{}
	for _, end := range c.w.Slurm.Ends() {
		last[end.Job] = end
	}
	for _, t := range c.w.trainers {
		end, ended := last[t.id]
		if !ended || end.Why.What != fake.Revoked || c.w.Now().Sub(end.At) < soon {
			continue
		}
		if runs := t.Runs(); len(runs) == 0 || runs[len(runs)-1].Began.Before(end.At) {
			c.add("I2", t, "left FAILED after a launch that was refused (%s)", end.Why.What)
		}
	}
}

// gpus: I4, no node's GPUs were ever allocated twice.
func (c *checker) gpus() {
	type change struct {
		at   time.Time
		gpus int
	}
	byNode := map[string][]change{}
	for _, a := range c.w.Slurm.Allocations() {
		byNode[a.Node] = append(byNode[a.Node], change{a.From, a.GPUs}, change{a.To, -a.GPUs})
	}
	for _, n := range c.w.cfg.Fake.Nodes {
		changes := byNode[n.Name]
		sort.SliceStable(changes, func(a, b int) bool {
			if changes[a].at.Equal(changes[b].at) {
				return changes[a].gpus < changes[b].gpus // releases first
			}
			return changes[a].at.Before(changes[b].at)
		})
		used := 0
		for _, ch := range changes {
			if used += ch.gpus; used > n.GPUs {
				c.found("I4 node %s: %d of %d GPUs given", n.Name, used, n.GPUs)
			}
		}
	}
}
