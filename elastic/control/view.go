package control

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// compact is squeue's compact code of each state.
var compact = map[string]string{
	"PENDING": "PD", "RUNNING": "R", "SUSPENDED": "S", "COMPLETING": "CG", "COMPLETED": "CD", "CANCELLED": "CA",
	"FAILED": "F", "TIMEOUT": "TO", "NODE_FAIL": "NF", "PREEMPTED": "PR", "BOOT_FAIL": "BF", "DEADLINE": "DL",
	"OUT_OF_MEMORY": "OOM", "CONFIGURING": "CF",
}

// doing is what a move waits for after each step.
var doing = map[elastic.Step]string{
	elastic.Intended:  "about to ask for a checkpoint",
	elastic.Asked:     "waits for the checkpoint",
	elastic.Verified:  "checkpoint verified, about to be stopped",
	elastic.Requeued:  "held, about to get its new size",
	elastic.Written:   "new size written, about to be released",
	elastic.Released:  "waits for Slurm to start it",
	elastic.Confirmed: "runs",
}

// viewReport is the report with the jobs the caller may see.
func viewReport(r *publish.Report, sees func(publish.JobReport) bool) wire.Report {
	out := wire.Report{Version: wire.Version, At: r.At, Took: r.Took.Seconds(), Next: r.Next, Policy: r.Policy,
		Blind: r.Blind, BlindFor: r.BlindFor.Seconds(), Nodes: []wire.Node{}, Jobs: []wire.Job{}, Demands: []wire.Demand{}}
	turn := 0 // a report lists waiting jobs in the order in which they start
	for _, jr := range r.Jobs {
		inTurn := waits(jr)
		if inTurn {
			turn++
		}
		if !sees(jr) {
			continue
		}
		j := viewJob(r, jr)
		if inTurn {
			j.StartOrder = turn
		}
		out.Jobs = append(out.Jobs, j)
	}
	held := holdings(r, sees)
	for _, n := range r.Nodes {
		out.Nodes = append(out.Nodes, viewNode(n, held[n.Name], viewHealth(r, n.Name, sees), r.At))
	}
	for _, d := range r.Demands {
		out.Demands = append(out.Demands, wire.Demand{JobID: int64(d.ID), Partition: d.Partition, Nodes: d.Nodes, GPUs: d.GPUs})
	}
	return out
}

// holding is what elastic jobs hold of one node.
type holding struct {
	gpus int
	jobs []int64 // jobs that the caller may see
}

// holdings sums up the GPUs of elastic jobs by node: of all jobs, but with the ids only of those
// that the caller may see.
func holdings(r *publish.Report, sees func(publish.JobReport) bool) map[string]holding {
	out := map[string]holding{}
	for _, jr := range r.Jobs {
		for _, share := range jr.Job.Place {
			h := out[share.Node]
			h.gpus += share.GPUs
			if sees(jr) {
				h.jobs = append(h.jobs, int64(jr.Record.ID))
			}
			out[share.Node] = h
		}
	}
	return out
}

func viewNode(n nodes.Node, h holding, health *wire.Health, now time.Time) wire.Node {
	slices.Sort(h.jobs)
	var types []wire.OfType
	for _, t := range n.Types {
		types = append(types, wire.OfType{Type: t.Type, GPUs: t.GPUs, Used: t.Used, Free: n.FreeOf(t.Type)})
	}
	return wire.Node{Types: types, Name: n.Name, Partitions: append([]string{}, n.Partitions...), Type: n.Type, GPUs: n.GPUs, Used: n.Used,
		Elastic: h.gpus, Free: n.Free(), Usable: n.Usable, Why: say.Unusable(n.Why, now), State: n.Why.State, Note: n.Why.Note, Until: n.Why.Until, CPUs: n.CPUs, CPUsUsed: n.CPUsUsed,
		MemoryMB: n.MemoryMB, MemUsedMB: n.MemUsedMB, Jobs: append([]int64{}, h.jobs...), Health: health}
}

// viewHealth returns the complaints about a node; nil if there are none.
func viewHealth(r *publish.Report, node string, sees func(publish.JobReport) bool) *wire.Health {
	for _, f := range r.Health {
		if f.Node != node {
			continue
		}
		out := &wire.Health{Excluded: f.Excluded, Why: f.Why, Note: f.Note, Jobs: []int64{}, Until: f.Until}
		for _, jr := range r.Jobs {
			if slices.Contains(f.By, jr.Record.ID) && sees(jr) && !slices.Contains(out.Jobs, int64(jr.Record.ID)) {
				out.Jobs = append(out.Jobs, int64(jr.Record.ID))
			}
		}
		return out
	}
	return nil
}

// stateOf returns Slurm's state of the job. squeue calls a job COMPLETING while its last run is
// cleaned up, and shows no other state then.
func stateOf(jr publish.JobReport) string {
	if jr.Job.Phase == elastic.Completing && jr.Job.State == string(slurm.Unknown) {
		return "COMPLETING"
	}
	return cmp.Or(jr.Job.State, jr.Record.State)
}

// viewJob returns a job as clients see it. Numbers come from the job's own programs, hence
// finite. For an ended job the reason is its ending, and the place its last one.
func viewJob(r *publish.Report, jr publish.JobReport) wire.Job {
	rec, spec := jr.Record, jr.Record.Tag.Spec
	out := wire.Job{
		JobID: int64(rec.ID), Token: rec.Token, Sweep: spec.Sweep, Name: rec.Name, User: rec.Owner.User, UID: rec.Owner.UID, Partition: rec.Partition,
		Account: cmp.Or(jr.Job.Account, rec.Account.Name), QOS: jr.Job.QOS,
		State: stateOf(jr), Ended: jr.Ended,
		Min: spec.Min, Max: spec.Max, Step: spec.Step, Sizes: spec.Sizes, Uneven: spec.AllowUneven, Types: spec.Types,
		Pinned: rec.Tag.Directive.Pin, OnHold: rec.Tag.Directive.Hold, Model: spec.Model, Comment: rec.Tag.Comment,
		Place: placement(jr.Job.Place), Target: placement(jr.Target),
		Done: finite(rec.Done), Total: finite(spec.Total), Unit: string(cmp.Or(spec.Unit, elastic.Epochs)), ETA: jr.ETA,
		Deadline: spec.Deadline, Soft: spec.Soft, Promised: jr.Promised && !jr.Ended, Ends: jr.Ends, Due: string(jr.Due),
		Reason: say.Reason(jr.Why, r.At), Why: reason.Value{Reason: jr.Why}, SlurmReason: jr.Job.Reason, Priority: jr.Job.Priority, Move: viewMove(jr.Intent, r.At),
		Last: say.Reason(jr.Last, r.At), LastWhy: reason.Value{Reason: jr.Last}, Problems: jr.Problems,
		Speaks: rec.Speaks, Deaf: rec.Deaf, Incarnation: rec.Tag.Incarnation, Restarts: rec.Restarts,
		Price: viewPrice(cmp.Or(jr.Job.Price, rec.Price)), Submitted: rec.Submitted, FirstRun: rec.FirstRun,
		Started: jr.Job.Started, Moved: rec.Moved, EndedAt: rec.Ended, TimeLeft: jr.Job.TimeLeft.Seconds(),
		Heartbeat: jr.Job.Heartbeat, Quiet: jr.Job.Quiet, RetryAt: jr.Job.RetryAt, Checkpoint: jr.Job.Saved.Checkpoint, Resumed: jr.Job.Resumed,
		SavesEvery: jr.Job.SavesEvery.Seconds(), SaveCost: jr.Job.SaveCost.Seconds(),
		Stretch: finite(jr.Job.Stretch.Factor), StretchJobs: jr.Job.Stretch.Jobs, Overruns: jr.Job.Overruns(),
	}
	if rec.SlurmUID != rec.Owner.UID {
		out.SlurmUID = rec.SlurmUID
	}
	if a := spec.Array; a.Is() {
		out.Array = &wire.Array{JobID: int64(a.Of(rec.ID)), Index: a.Index, Count: a.Count, Limit: a.Limit}
	}
	if t := jr.Trial; t.Number > 0 {
		trial := viewTrial(t)
		out.Trial = &trial
	}
	if a := jr.Kept; a != nil {
		out.Saved = &wire.Saved{Request: a.Request, Checkpoint: a.Checkpoint, Step: a.Step, Epoch: finite(a.Epoch), At: a.Verified}
	}
	if jr.Gauged {
		busy := finite(jr.Utilisation)
		out.Busy = &busy
	}
	out.MIG = jr.Job.MIG
	if jr.Ended {
		out.Reason, out.SlurmReason = jr.Ending.String(), ""
		out.Ending = viewEnding(jr.Ending)
	}
	if w := jr.LastWords; jr.Ended && w != nil {
		out.LastWords = &wire.LastWords{Why: w.Why, Lines: w.Lines}
	}
	if jr.Ended { // its last place
		out.Place = placement(rec.Place)
	}
	out.GPUs = out.Place.GPUs()
	// A job without a bound, or with a higher one, can have at most all GPUs of its partitions.
	limit := capacity(r.Nodes, rec.Partition)
	if limit > 0 && (out.Max == 0 || out.Max > limit) {
		out.Max = max(limit, spec.Min)
	}
	out.ST = code(out, jr)
	if !jr.Ended && out.GPUs > 0 {
		out.Seconds, out.Source = pace(curveOf(jr), speed.Shape{GPUs: out.GPUs, Nodes: len(out.Place)})
	}
	return out
}

// code returns the compact state. It is RS, Slurm's own code for resizing, while sluice moves
// or stops a running job.
func code(j wire.Job, jr publish.JobReport) string {
	if !j.Ended && jr.Intent != nil && jr.Intent.Kind != elastic.Start {
		return "RS"
	}
	if jr.Job.Phase == elastic.Completing {
		return "CG"
	}
	word, _, _ := strings.Cut(j.State, " ") // "CANCELLED by 1000"
	if c, ok := compact[word]; ok {
		return c
	}
	return "?"
}

// curveOf returns the job's throughput curve on the GPU type that it runs on; while it has no
// GPUs, on the type it is expected to get.
func curveOf(jr publish.JobReport) *speed.Curve {
	if len(jr.Job.Place) == 0 {
		return jr.Job.Curve
	}
	return jr.Job.Curve.On(jr.Kind)
}

// pace returns a time only if it rests on samples: the relative prior is not in seconds.
func pace(c *speed.Curve, s speed.Shape) (float64, string) {
	if c.Samples() == 0 {
		return 0, ""
	}
	seconds, source := c.Seconds(s)
	return seconds, string(source)
}

func viewMove(in *elastic.Intent, now time.Time) *wire.Move {
	if in == nil {
		return nil
	}
	return &wire.Move{Kind: string(in.Kind), Step: int(in.Step), Doing: doing[in.Step], From: placement(in.From),
		Target: placement(in.Target), Cause: say.Reason(in.Cause, now), Why: reason.Value{Reason: in.Cause}, Opened: in.Opened, Since: in.Moved}
}

// viewEnding returns how a job ended; nil if that is not known.
func viewEnding(e journal.Ending) *wire.Ending {
	if e.How == "" {
		return nil
	}
	return &wire.Ending{How: string(e.How), Code: e.Code, Signal: e.Signal, Ran: e.Ran, Output: e.Output}
}

func viewPrice(p elastic.Price) wire.Price {
	return wire.Price{Save: p.Save.Seconds(), Drain: p.Drain.Seconds(), Start: p.Start.Seconds(), Load: p.Load.Seconds(),
		Total: p.Total().Seconds(), Measured: p.Measured}
}

// placement returns an empty list for no place, which JSON writes as [] and not null.
func placement(p nodes.Placement) nodes.Placement {
	if p == nil {
		return nodes.Placement{}
	}
	return p
}

// overdueAfter is how late a cycle must be to be reported; a cycle may take seconds.
const overdueAfter = 30 * time.Second

// fillStatus adds what the last report says. While Slurm cannot be seen no cycle is overdue:
// status shows Blind instead.
func fillStatus(out *wire.Status, r *publish.Report, now time.Time) {
	out.Promises = promises(r.Policy)
	out.Policy, out.Cycled, out.Took, out.Next = r.Policy, r.At, r.Took.Seconds(), r.Next
	out.Blind, out.BlindFor = r.Blind, r.BlindFor.Seconds()
	if r.Shares.Count && r.Shares.Why != "" {
		out.NoShares, out.SharesRead = r.Shares.Why, r.Shares.Read
	}
	if late := now.Sub(r.Next); !r.Next.IsZero() && r.Blind == "" && late > overdueAfter {
		out.Overdue = late.Seconds()
	}
	for _, jr := range r.Jobs {
		if !jr.Ended {
			out.Jobs++
		}
		if since := jr.Job.Unread; !since.IsZero() {
			out.Unread++
			if out.UnreadSince.IsZero() || since.Before(out.UnreadSince) {
				out.UnreadSince = since
			}
		}
		if jr.Intent != nil {
			out.Moves++
		}
	}
	for _, n := range r.Nodes {
		out.GPUs += n.GPUs
		out.GPUsFree += n.Free()
	}
}

// finite replaces NaN and infinities, so that one job's bad number does not make the whole
// report unencodable.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
