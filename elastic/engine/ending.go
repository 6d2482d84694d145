package engine

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// endings are the states that say by themselves how a job ended.
var endings = map[slurm.State]journal.How{
	slurm.Completed: journal.Completed, slurm.Cancelled: journal.Cancelled, slurm.Timeout: journal.OutOfTime, slurm.OutOfMemory: journal.OutOfMemory,
	slurm.NodeFail: journal.NodeFailed, slurm.BootFail: journal.NodeFailed, slurm.Preempted: journal.Preempted, slurm.Deadline: journal.PastDeadline,
}

// ending is how the job ended, from its state, what Slurm last showed of it and what its
// runner said last. What was known when it ended is kept: Slurm forgets it, and its folder
// may go.
func (js *jobState) ending() journal.Ending {
	if js.rec.Ended.IsZero() {
		return journal.Ending{}
	}
	if js.rec.Ending.How != "" {
		return js.rec.Ending
	}
	sj := js.shown.slurm
	if sj.State != slurm.State(js.rec.State) { // Slurm has forgotten it, or says no more
		sj = slurm.Job{State: slurm.State(js.rec.State)}
	}
	e := journal.Ending{Ran: !js.rec.FirstRun.IsZero(), Nodes: js.rec.Place.Nodes(), Limit: sj.TimeLimit, Reason: sj.Reason, Words: js.over.words, Code: sj.ExitCode}
	if sj.ExitSignal != 0 {
		e.Code, e.Signal = 0, fmt.Sprint(sj.ExitSignal)
	}
	if js.over.exit != nil {
		e.Code, e.Signal, e.Ran = js.over.exit.Code, js.over.exit.Signal, true
	}
	e.How = endings[sj.State]
	switch {
	case e.How != "":
	case sj.State != slurm.Failed:
		e.How = journal.Forgotten
	case js.over.exit == nil && sj.ExitSignal == slurm.LaunchIO:
		e.How, e.Output, e.Ran, e.Signal = journal.NoOutput, sj.StdOut, false, ""
	case js.over.exit == nil && sj.Reason == "JobLaunchFailure" && js.saidNothing(sj): // Slurm 22.05 gives it of any script that a signal ends
		e.How, e.Ran = journal.NotLaunched, false
	case js.mail.silent.IsZero() && js.saidNothing(sj) && e.Code == 1 && e.Signal == "":
		e.How, e.Output = journal.Silent, sj.StdOut
	case e.Signal != "":
		e.How = journal.Killed
	default:
		e.How = journal.Failed
	}
	return e
}

// saidNothing reports that the runner of the last run wrote nothing. Slurm 20.11 ends a job
// whose output file cannot be opened with exit code 1, as a script might end itself.
func (js *jobState) saidNothing(sj slurm.Job) bool {
	return js.over.exit == nil && js.over.words == nil && !(js.mail.runner.ok && js.mail.runner.word.Restarts == sj.Restarts)
}

// hadRun makes up the history row of a run that began and ended between two looks.
func (st *State) hadRun(js *jobState, now time.Time) {
	sj := js.shown.slurm
	if !sj.State.Ended() || sj.Start.IsZero() || len(sj.Nodes) == 0 || js.runs.seg != nil && js.runs.seg.Restarts >= sj.Restarts {
		return
	}
	js.rec.Place, js.rec.Restarts = st.open.placeOfEnded(js), sj.Restarts
	if js.rec.FirstRun.IsZero() {
		js.rec.FirstRun = sj.Start
	}
	js.runs.end(js.runs.changed(js.shown.slurm.Start, now))
	js.runs.putBy()
	js.runs.seg = &journal.Segment{
		Token: js.rec.Token, Restarts: sj.Restarts, Incarnation: js.rec.Tag.Incarnation, Place: js.rec.Place,
		Started: sj.Start, DoneFrom: js.rec.Done, DoneTo: js.rec.Done, Cause: st.open.causeOf(js),
	}
	js.runs.segNew, js.dirty = true, true
}

// placeOfEnded is where the last run was: where its move put it, or as many GPUs on each
// node.
func (open openMoves) placeOfEnded(js *jobState) nodes.Placement {
	sj := js.shown.slurm
	for _, in := range open {
		if in.Job == js.rec.ID && in.Step >= elastic.Written && sameNodes(in.Target, sj) {
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

func sameNodes(place nodes.Placement, sj slurm.Job) bool {
	for _, node := range sj.Nodes {
		if place.On(node) == 0 {
			return false
		}
	}
	return len(place.Nodes()) == len(sj.Nodes)
}

// endedAt is when Slurm says that the job ended; now where it does not.
func (js *jobState) endedAt(now time.Time) time.Time {
	if end := js.shown.slurm.End; js.shown.slurm.State.Ended() && !end.IsZero() && end.After(js.rec.Submitted) && end.Before(now) {
		return end
	}
	return now
}

// endOfRun is when Slurm says that the run ended; now where it does not.
func (js *jobState) endOfRun(now time.Time) time.Time {
	if end := js.shown.slurm.End; js.shown.slurm.State.Ended() && js.runs.seg != nil && !end.Before(js.runs.seg.Started) && end.Before(now) {
		return end
	}
	return now
}
