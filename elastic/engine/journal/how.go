package journal

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// How is the way a job ended, in one word. "" = it has not ended. The values are stored, and MUST
// NOT be changed.
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
	Reason string        // Slurm's reason
	Words  *checkpoint.LastWords
	// Declared is the GPU-seconds used when the declared total was reached, Had those used in
	// all; 0 = unknown.
	Declared float64 `json:",omitempty"`
	Had      float64 `json:",omitempty"`
}

// String returns the ending in English.
//
// It is "" for a job that has not ended. Where the runner said why a script failed, that comes
// before Slurm's exit code or signal.
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

// failure returns why a script failed: the runner's explanation, else Slurm's signal or exit code.
func (e Ending) failure() string {
	switch {
	case e.Words != nil && e.Words.Why != "":
		return e.Words.Why
	case e.How == Killed:
		return "killed by signal " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// last returns the last line that the script printed, unless the explanation contains it.
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

// said returns the runner's explanation after a head; "" if there is none.
func (e Ending) said(head string) string {
	if e.Words == nil || e.Words.Why == "" {
		return ""
	}
	return head + e.Words.Why
}

// within returns a time limit in its largest whole unit, " of 2 h"; "" if it is unknown.
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
