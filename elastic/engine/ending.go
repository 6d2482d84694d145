package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// How is the way a job ended, in one word.
type How string

// The ways a job can end.
const (
	Completed    How = "completed"
	Failed       How = "failed"         // with Code
	Killed       How = "killed"         // by Signal
	NoOutput     How = "no_output"      // Output could not be opened; the script was not started
	NotLaunched  How = "not_launched"   // Slurm could not start the script: Reason
	Silent       How = "silent"         // with Code, and its runner said nothing: perhaps Output could not be opened
	Cancelled    How = "cancelled"      //
	OutOfTime    How = "time_limit"     // Limit
	OutOfMemory  How = "out_of_memory"  //
	NodeFailed   How = "node_failed"    // one of Nodes
	Preempted    How = "preempted"      //
	PastDeadline How = "slurm_deadline" // Slurm's own --deadline
	Forgotten    How = "forgotten"      // Slurm no longer knows the job
)

// Ending is how a job ended. The zero value is that of a job that has not.
type Ending struct {
	How    How
	Code   int           // exit code of the script; 0 when a signal ended it
	Signal string        // number or name
	Ran    bool          // its script was started
	Output string        // the file that could not be opened
	Nodes  []string      // of its last run
	Limit  time.Duration // of its time; 0 = unknown
	Reason string        // Slurm's word
	Words  *checkpoint.LastWords
	// Declared is the GPU-seconds it had had at the end that it declared, Had in all; 0 =
	// it says nothing of its length.
	Declared float64 `json:",omitempty"`
	Had      float64 `json:",omitempty"`
}

// endings are the states that say by themselves how a job ended.
var endings = map[slurm.State]How{
	slurm.Completed: Completed, slurm.Cancelled: Cancelled, slurm.Timeout: OutOfTime, slurm.OutOfMemory: OutOfMemory,
	slurm.NodeFail: NodeFailed, slurm.BootFail: NodeFailed, slurm.Preempted: Preempted, slurm.Deadline: PastDeadline,
}

// ending is how the job ended, from its state, what Slurm last showed of it and what its
// runner said last. What was known when it ended is kept: Slurm forgets it, and its folder
// may go.
func (js *jobState) ending() Ending {
	if js.rec.Ended.IsZero() {
		return Ending{}
	}
	if js.rec.Ending.How != "" {
		return js.rec.Ending
	}
	sj := js.shown.slurm
	if sj.State != slurm.State(js.rec.State) { // Slurm has forgotten it, or says no more
		sj = slurm.Job{State: slurm.State(js.rec.State)}
	}
	e := Ending{Ran: !js.rec.FirstRun.IsZero(), Nodes: js.rec.Place.Nodes(), Limit: sj.TimeLimit, Reason: sj.Reason, Words: js.over.words, Code: sj.ExitCode}
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
		e.How = Forgotten
	case js.over.exit == nil && sj.ExitSignal == slurm.LaunchIO:
		e.How, e.Output, e.Ran, e.Signal = NoOutput, sj.StdOut, false, ""
	case js.over.exit == nil && sj.Reason == "JobLaunchFailure" && js.saidNothing(sj): // Slurm 22.05 gives it of any script that a signal ends
		e.How, e.Ran = NotLaunched, false
	case js.mail.silent.IsZero() && js.saidNothing(sj) && e.Code == 1 && e.Signal == "":
		e.How, e.Output = Silent, sj.StdOut
	case e.Signal != "":
		e.How = Killed
	default:
		e.How = Failed
	}
	return e
}

// saidNothing reports that the runner of the last run wrote nothing. Slurm 20.11 ends a job
// whose output file cannot be opened with exit code 1, as a script might end itself.
func (js *jobState) saidNothing(sj slurm.Job) bool {
	return js.over.exit == nil && js.over.words == nil && !(js.mail.runner.ok && js.mail.runner.word.Restarts == sj.Restarts)
}

// String is the one place that says an ending in English.
func (e Ending) String() string {
	switch e.How {
	case "":
		return ""
	case Completed:
		return "completed: exit code 0"
	case NoOutput:
		return "failed: Slurm could not open its output file " + orUnnamed(e.Output) + "; create its folder or submit with another --output"
	case NotLaunched:
		return "failed: Slurm could not start its script (JobLaunchFailure); slurmd's log on " + orUnnamed(strings.Join(e.Nodes, "+")) + " says why"
	case Silent:
		return fmt.Sprintf("failed: exit code %d before its script said anything; see whether its output file %s can be created", e.Code, orUnnamed(e.Output))
	case Cancelled:
		if !e.Ran {
			return "cancelled before it started"
		}
		return "cancelled"
	case OutOfTime:
		return "ended at its time limit" + within(e.Limit)
	case OutOfMemory:
		return "failed: out of memory"
	case NodeFailed:
		return "failed: node failure on " + orUnnamed(strings.Join(e.Nodes, "+"))
	case Preempted:
		return "ended by a preemption"
	case PastDeadline:
		return "ended by Slurm: its --deadline could not be met"
	case Forgotten:
		return "ended; Slurm no longer knows how" + e.said("; its runner said: ")
	}
	return "failed: " + e.failure() + e.last()
}

// failure is why a script failed, from who knows most.
func (e Ending) failure() string {
	switch {
	case e.Words != nil && e.Words.Why != "":
		return e.Words.Why
	case e.How == Killed:
		return "killed by signal " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// last is the last line that the script printed, unless the reason has it.
func (e Ending) last() string {
	if e.Words == nil || len(e.Words.Lines) == 0 {
		return ""
	}
	line := e.Words.Lines[len(e.Words.Lines)-1]
	if strings.Contains(e.Words.Why, line) {
		return ""
	}
	return "; last line: " + line
}

func (e Ending) said(head string) string {
	if e.Words == nil {
		return ""
	}
	return head + e.Words.Why
}

func within(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d%time.Hour == 0:
		return fmt.Sprintf(" of %d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf(" of %d min", d/time.Minute)
	}
	return fmt.Sprintf(" of %.0f s", d.Seconds())
}

func orUnnamed(s string) string {
	if s == "" {
		return "(unknown)"
	}
	return s
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
	js.runs.seg = &Segment{
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
