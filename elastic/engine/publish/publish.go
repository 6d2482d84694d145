package publish

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// Publish replaces the report by one of this cycle.
//
// It MUST be called at the end of a cycle, with the snapshot that the plan was made from: reasons,
// moves and records are read from the state as they are then. It is called also when recording
// failed, and then shows a plan that was not begun. Next is filled in later (Change). Slurm's own
// nodes and demands are shown, not the virtual partitions of the snapshot.
func (b *Board) Publish(snap elastic.Snapshot, plan elastic.Plan, now time.Time) {
	r := &Report{At: now, Policy: b.Policy.Name, Nodes: eligible.NodesAsInSlurm(snap.Nodes), Demands: eligible.DemandsAsInSlurm(snap.Demands), Health: b.State.Health.Findings(b.Rules.Health), Shares: b.shares()}
	if last := b.Report.Load(); last != nil {
		r.Took = last.Took
	}
	jobs := make(map[elastic.JobID]*elastic.Job, len(snap.Jobs))
	for i := range snap.Jobs {
		jobs[snap.Jobs[i].ID] = &snap.Jobs[i]
	}
	trials := b.Trials()
	var ended []*track.Job
	order := inOrderOf(snap, b.Ordered(), b.ByID)
	r.Jobs = slices.Grow(b.room(), len(order))
	for _, js := range order {
		if !js.Rec.Ended.IsZero() {
			ended = append(ended, js)
			continue
		}
		jr := r.next()
		old := jr.Job
		b.ReportOf(jr, js, plan)
		jr.Trial = trials[js.Rec.Token]
		if j := jobs[js.Rec.ID]; j != nil {
			jr.Job = copyOf(j, old)
		}
		if len(jr.Job.Place) > 0 {
			jr.Kind = snap.Kind(jr.Job, jr.Job.Place)
		}
		jr.ETA = ETA(jr.Job, jr.Kind, now)
		if due := jr.Record.Tag.Spec.Deadline; jr.Due == elastic.DueUnjudged && jr.Record.Promised && due.After(now) {
			jr.Promised, jr.Due = true, elastic.DuePromised // admitted earlier and not judged in this cycle
		}
		jr.Gauged, jr.Utilisation = js.Learnt.Gauged.Known && jr.Job.Phase == elastic.Running, js.Learnt.Gauged.Share
	}
	for _, js := range ended {
		jr := r.next()
		b.ReportOf(jr, js, plan)
		jr.Trial = trials[js.Rec.Token]
		jr.Ended, jr.Ending, jr.Why = true, js.Ending(), nil
	}
	b.replace(r)
}

// Trials returns the trials that lanes of sweeps run, by the token of the lane.
func (b *Board) Trials() map[string]elastic.Trial {
	if b.Rules.Trials == nil {
		return nil
	}
	return b.Rules.Trials()
}

// inOrderOf returns all jobs with those of the snapshot in its order: as they would start.
//
// The others keep their places in all:
//
//	all         1 2 3 4
//	snapshot    4 2
//	result      1 4 3 2
func inOrderOf(snap elastic.Snapshot, all []*track.Job, known track.Known) []*track.Job {
	listed := make(map[*track.Job]bool, len(snap.Jobs))
	var next []*track.Job
	for i := range snap.Jobs {
		if js := known[snap.Jobs[i].ID]; js != nil {
			listed[js], next = true, append(next, js)
		}
	}
	out := slices.Clone(all)
	for i, js := range out {
		if listed[js] {
			out[i], next = next[0], next[1:]
		}
	}
	return out
}

// Blind publishes the last report again with the reason why there is no newer one, and for how
// long. Before the first report it has the name of the policy and nothing else. A Publish ends it.
func (b *Board) Blind(why string, since time.Duration) {
	r := Report{Policy: b.Policy.Name}
	if last := b.Report.Load(); last != nil {
		r = *last
	}
	r.Blind, r.BlindFor = why, since
	b.Report.Store(&r)
}

// ReportOf fills a job's report from the state and the plan. Job is left to the caller. Everything
// else that jr had is lost. What can be changed later is copied: the move, the run. It costs O(open
// moves).
func (b *Board) ReportOf(jr *JobReport, js *track.Job, plan elastic.Plan) {
	said := js.Tells.Said
	*jr = JobReport{
		Record: js.Rec,
		Job:    &noJob,
		Decided: Decided{
			Target: plan.Target[js.Rec.ID], Why: said.Why, Policy: b.Policy.Of(js.Rec.Partition).Name,
			Promised: said.Promised, Ends: said.Ends, Due: said.Due,
		},
		Last: js.Tells.Last,
		Kept: js.Mail.Kept,
		Over: Over{LastWords: cmp.Or(js.Over.Words, js.Rec.Ending.Words)},
	}
	if js.Runs.Seg != nil {
		jr.Run = *js.Runs.Seg
	}
	for _, source := range slices.Sorted(maps.Keys(js.Tells.Problem)) {
		jr.Problems = append(jr.Problems, js.Tells.Problem[source])
	}
	for _, in := range b.Open {
		if in.Job == js.Rec.ID {
			copied := in
			jr.Intent, jr.Target = &copied, in.Target
		}
	}
}

// copyOf copies a job, into the memory of an old report if there is any. No reader may have that
// report: see Board.room.
func copyOf(j, old *elastic.Job) *elastic.Job {
	if old == nil || old == &noJob {
		old = new(elastic.Job)
	}
	*old = *j
	return old
}

// ETA returns the expected end at the present size; zero = unknown.
//
// It is unknown for a job that does not run, that has not declared its work, or whose speed was
// never measured. kind is the type of its GPUs; "" = the one that its curve knows best. No later
// resize is expected: the forecast has that.
func ETA(j *elastic.Job, kind string, now time.Time) time.Time {
	left, ok := j.Remaining()
	if !ok || j.Phase != elastic.Running || j.Curve.Samples() == 0 {
		return time.Time{}
	}
	seconds, _ := j.Curve.On(kind).Seconds(speed.Shape{GPUs: j.GPUs(), Nodes: len(j.Place)})
	return elastic.Ahead(now, left*seconds)
}
