package publish

import (
	"hash/fnv"
	"io"
	"strconv"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// ChangeKind is what changed about a job between two reports.
type ChangeKind string

// The kinds of Change.
const (
	Submitted ChangeKind = "submitted" // it is in the report for the first time
	Started   ChangeKind = "started"   // a run of it began
	Decision  ChangeKind = "decision"  // the decision has another reason or another target
)

// Change is one change of a job between two reports.
type Change struct {
	Kind ChangeKind
	Job  journal.Identity
	// Token identifies the job for as long as the store has it.
	Token  string
	Has    int             // GPUs that it has
	Target nodes.Placement // as in Decided, or of Started the place
	Why    reason.Reason   // of a Decision
	Run    int             // Slurm's count of restarts
}

// Changes compares each report with the one before. Its zero value has seen none. It keeps some 100
// bytes a job. It is for one goroutine, and MUST be given every report once, in order. Reports are
// not kept.
type Changes struct {
	jobs  map[string]seenJob
	turn  uint64
	began bool
	words words // workspace
}

// seenJob is what is compared of a job. turn is that of the last report that had the job: others
// are forgotten.
type seenJob struct {
	turn     uint64
	code     reason.Code
	cause    reason.Code
	target   nodes.Placement
	runs     bool
	restarts int
	ended    bool
}

// Note returns what changed since the last report, and a fingerprint of what the report shows of jobs and
// nodes, times and progress apart. The first report has no changes: there is none before it. A
// reason whose arguments alone changed is no change: many have a time or a number of seconds in them,
// which change with every cycle.
//
// Two reports with the same fingerprint look the same to a reader of states, who need not be sent
// the second one. It is no sum for storage: it may differ from one release to the next. A job that
// ended, or is gone from the report, is no change here: that is an event of the engine. It costs
// O(jobs and nodes).
func (c *Changes) Note(r *Report) (list []Change, print uint64) {
	sum := fnv.New64a()
	c.words = c.words[:0].text(r.Policy, r.Blind)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		c.words = c.words.text(n.Name, n.Why.State).numbers(n.Used, n.GPUs)
	}
	sum.Write(c.words)
	if c.jobs == nil {
		c.jobs = map[string]seenJob{}
	}
	c.turn++
	for i := range r.Jobs {
		jr := &r.Jobs[i]
		list = append(list, c.noteJob(sum, jr)...)
	}
	for token, was := range c.jobs {
		if was.turn != c.turn {
			delete(c.jobs, token)
		}
	}
	c.began = true
	return list, sum.Sum64()
}

// noteJob compares one job.
//
//	not in the report before                      Submitted
//	runs, and did not or under another restart    Started
//	another reason, cause or target               Decision; a reason that is gone is none
//
// A job may have all three, in this order.
func (c *Changes) noteJob(sum io.Writer, jr *JobReport) (list []Change) {
	now := seenJob{turn: c.turn, code: reason.CodeOf(jr.Why), target: jr.Target, ended: jr.Ended,
		runs: jr.Job.Phase == elastic.Running && len(jr.Job.Place) > 0, restarts: jr.Job.Restarts}
	now.cause = reason.CodeOf(reason.Cause(jr.Why))
	d := jr.Record.Tag.Directive
	c.words = c.words[:0].text(jr.Record.Token, string(now.code), string(now.cause), jr.Job.State, jr.Job.Reason, string(jr.Due)).place(now.target).place(jr.Job.Place).
		numbers(d.Pin, now.restarts, int(jr.Record.Tag.Spec.Deadline.Unix()), flags(jr.Ended, d.Hold, jr.Promised, jr.Record.Tag.Spec.Soft))
	if in := jr.Intent; in != nil {
		c.words = c.words.text(string(in.Kind)).place(in.Target).numbers(int(in.Step))
	}
	sum.Write(c.words)
	was, known := c.jobs[jr.Record.Token]
	c.jobs[jr.Record.Token] = now
	if !c.began || jr.Ended {
		return nil
	}
	change := Change{Job: jr.Record.Identity, Token: jr.Record.Token, Has: jr.Job.GPUs(), Run: now.restarts}
	if !known {
		change.Kind = Submitted
		list = append(list, change)
	}
	if now.runs && (!was.runs || was.restarts != now.restarts) {
		change.Kind, change.Target = Started, jr.Job.Place
		list = append(list, change)
	}
	if now.code != "" && (now.code != was.code || now.cause != was.cause || !now.target.Equal(was.target)) {
		change.Kind, change.Target, change.Why = Decision, jr.Target, jr.Why
		list = append(list, change)
	}
	return list
}

// words collects values for a fingerprint, each with its end marked. Texts are UTF-8, in which 0xff
// and 0xfe do not occur, so that "ab", "c" and "a", "bc" differ.
type words []byte

// text appends texts, numbers appends numbers in base 36; each value ends with 0xff.
func (w words) text(values ...string) words {
	for _, v := range values {
		w = append(append(w, v...), 0xff)
	}
	return w
}

func (w words) numbers(values ...int) words {
	for _, v := range values {
		w = append(strconv.AppendInt(w, int64(v), 36), 0xff)
	}
	return w
}

// place writes a placement. It ends with 0xfe, so that the number of nodes counts too.
func (w words) place(p nodes.Placement) words {
	for _, s := range p {
		w = w.text(s.Node).numbers(s.GPUs)
	}
	return append(w, 0xfe)
}

// flags packs booleans into bits, the first into the lowest.
func flags(all ...bool) (n int) {
	for i, set := range all {
		if set {
			n |= 1 << i
		}
	}
	return n
}
