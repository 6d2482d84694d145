package track

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// endings maps the Slurm states that alone determine how a job ended.
var endings = map[slurm.State]journal.How{
	slurm.Completed: journal.Completed, slurm.Cancelled: journal.Cancelled, slurm.Timeout: journal.OutOfTime, slurm.OutOfMemory: journal.OutOfMemory,
	slurm.NodeFail: journal.NodeFailed, slurm.BootFail: journal.NodeFailed, slurm.Preempted: journal.Preempted, slurm.Deadline: journal.PastDeadline,
}

// Ending returns how the job ended, from its state, Slurm's last information and its runner's
// last status. The ending is stored when the job ends, since Slurm purges the job and its folder
// may be deleted. Before the end it is the zero value. For the state FAILED what the runner reported
// counts before what Slurm says; without a report, Slurm's reason tells a run that never began
// (NoOutput, NotLaunched, Silent) from one that failed.
func (js *Job) Ending() journal.Ending {
	if js.Rec.Ended.IsZero() {
		return journal.Ending{}
	}
	if js.Rec.Ending.How != "" {
		return js.Rec.Ending
	}
	sj := js.Shown.Slurm
	if sj.State != slurm.State(js.Rec.State) { // Slurm has forgotten it, or says no more
		sj = slurm.Job{State: slurm.State(js.Rec.State)}
	}
	e := journal.Ending{Ran: !js.Rec.FirstRun.IsZero(), Nodes: js.Rec.Place.Nodes(), Limit: sj.TimeLimit, Reason: sj.Reason, Words: js.Over.Words, Code: sj.ExitCode}
	if sj.ExitSignal != 0 {
		e.Code, e.Signal = 0, fmt.Sprint(sj.ExitSignal)
	}
	if js.Over.exit != nil {
		e.Code, e.Signal, e.Ran = js.Over.exit.Code, js.Over.exit.Signal, true
	}
	e.How = endings[sj.State]
	switch {
	case e.How != "":
	case sj.State != slurm.Failed:
		e.How = journal.Forgotten
	case js.Over.exit == nil && sj.ExitSignal == slurm.LaunchIO:
		e.How, e.Output, e.Ran, e.Signal = journal.NoOutput, sj.StdOut, false, ""
	case js.Over.exit == nil && sj.Reason == "JobLaunchFailure" && js.saidNothing(sj): // Slurm 22.05 gives it of any script that a signal ends
		e.How, e.Ran = journal.NotLaunched, false
	case js.Mail.silent.IsZero() && js.saidNothing(sj) && e.Code == 1 && e.Signal == "":
		e.How, e.Output = journal.Silent, sj.StdOut
	case e.Signal != "":
		e.How = journal.Killed
	default:
		e.How = journal.Failed
	}
	return e
}

// saidNothing reports that the runner of the last run wrote nothing. Slurm 20.11 ends a job whose
// output file cannot be opened with exit code 1, which a script may also return.
func (js *Job) saidNothing(sj slurm.Job) bool {
	return js.Over.exit == nil && js.Over.Words == nil && !(js.Mail.runner.ok && js.Mail.runner.word.Restarts == sj.Restarts)
}

// hadRun adds the history row of a run that began and ended between two observations. Without it a
// job that ran for less than a period would end with no run and no GPU-seconds. It MUST be called
// BEFORE the end of the last run is set.
func (open Moves) hadRun(js *Job, now time.Time) {
	sj := js.Shown.Slurm
	if !sj.State.Ended() || sj.Start.IsZero() || len(sj.Nodes) == 0 || js.Runs.Seg != nil && js.Runs.Seg.Restarts >= sj.Restarts {
		return
	}
	js.Rec.Place, js.Rec.Restarts = open.placeOfEnded(js), sj.Restarts
	if js.Rec.FirstRun.IsZero() {
		js.Rec.FirstRun = sj.Start
	}
	js.Runs.end(js.Runs.changed(js.Shown.Slurm.Start, now))
	js.Runs.archive()
	js.Runs.Seg = &journal.Segment{
		Token: js.Rec.Token, Restarts: sj.Restarts, Incarnation: js.Rec.Tag.Incarnation, Place: js.Rec.Place,
		Started: sj.Start, DoneFrom: js.Rec.Done, DoneTo: js.Rec.Done, Cause: open.causeOf(js),
	}
	js.Runs.segNew, js.Dirty = true, true
}

// placeOfEnded returns the placement of the last run: the target of its open move, or else an
// even split over its nodes.
func (open Moves) placeOfEnded(js *Job) nodes.Placement {
	sj := js.Shown.Slurm
	for _, in := range open {
		if in.Job == js.Rec.ID && in.Step >= elastic.Written && sameNodes(in.Target, sj) {
			return in.Target
		}
	}
	var place nodes.Placement
	for i, node := range sj.Nodes {
		n := sj.GPUs / len(sj.Nodes)
		if i < sj.GPUs%len(sj.Nodes) {
			n++
		}
		place = append(place, nodes.Share{Node: node, GPUs: n})
	}
	return place
}

// sameNodes reports whether the placement has exactly the nodes that Slurm shows.
func sameNodes(place nodes.Placement, sj slurm.Job) bool {
	for _, node := range sj.Nodes {
		if place.On(node) == 0 {
			return false
		}
	}
	return len(place.Nodes()) == len(sj.Nodes)
}

// endedAt returns the job's end time from Slurm; now if Slurm gives none.
func (js *Job) endedAt(now time.Time) time.Time {
	if end := js.Shown.Slurm.End; js.Shown.Slurm.State.Ended() && !end.IsZero() && end.After(js.Rec.Submitted) && end.Before(now) {
		return end
	}
	return now
}

// endOfRun returns the run's end time from Slurm; now if Slurm gives none.
func (js *Job) endOfRun(now time.Time) time.Time {
	if end := js.Shown.Slurm.End; js.Shown.Slurm.State.Ended() && js.Runs.Seg != nil && !end.Before(js.Runs.Seg.Started) && end.Before(now) {
		return end
	}
	return now
}
