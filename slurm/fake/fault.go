package fake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Kind is what a fault does.
type Kind string

// Kinds that change the result of a call.
const (
	LostReply   Kind = "lost-reply"   // done, but the caller sees a timeout
	LostRequest Kind = "lost-request" // not done, and the caller sees a timeout
	Late        Kind = "late"         // done Fault.For later, and the caller sees a timeout; changes only
	Refused     Kind = "refused"      // not done: ErrRefused
	Denied      Kind = "denied"       // not done: ErrPermission
	Garbage     Kind = "garbage"      // not done: ErrGarbage
	Empty       Kind = "empty"        // Jobs and Nodes return an empty list, without an error
	Half        Kind = "half"         // Jobs and Nodes return the first half, without an error
	Stale       Kind = "stale"        // Jobs and Nodes return the answer of the call before
)

// Kinds that are events beside the call, just before it (or just after, see Fault.After).
// The user's actions concern Fault.Job, or the call's own job.
const (
	Down        Kind = "down"         // slurmctld does not answer for Fault.For
	Forget      Kind = "forget"       // slurmctld is killed and loses the state of the last Fault.For; "at" only
	NodeDown    Kind = "node-down"    // Fault.Node fails
	NodeDrain   Kind = "node-drain"   // Fault.Node is drained
	NodeReturn  Kind = "node-return"  // Fault.Node returns to service
	UserCancel  Kind = "user-cancel"  // the job's user cancels it
	UserHold    Kind = "user-hold"    // ... holds it
	UserRelease Kind = "user-release" // ... releases it
	UserRequeue Kind = "user-requeue" // ... requeues it
	UserSize    Kind = "user-size"    // ... asks for Fault.GPUs on one node
)

// Slow delays a job's "launch" (RUNNING to first line) or "drain" (COMPLETING) by
// Fault.For.
const Slow Kind = "slow"

// Fault is one planned fault: its trigger and its effect.
type Fault struct {
	// On names the call ("scontrol requeuehold", see Ops; "launch" or "drain" for Slow).
	// Empty means a fault at a time: At after the start.
	On  string
	Nth int // 1 = the first such call; 0 = every call
	At  time.Duration
	// After makes the event happen after the call has taken effect.
	After bool

	Kind Kind
	For  time.Duration
	Node string
	Job  slurm.JobID
	GPUs int
}

// String prints the fault as Parse reads it.
func (f Fault) String() string {
	var b strings.Builder
	switch {
	case f.On == "":
		fmt.Fprintf(&b, "at %s", f.At)
	default:
		if f.After {
			b.WriteString("after ")
		}
		b.WriteString(f.On)
		if f.Nth > 0 {
			fmt.Fprintf(&b, " #%d", f.Nth)
		}
	}
	fmt.Fprintf(&b, ": %s", f.Kind)
	if f.For > 0 {
		fmt.Fprintf(&b, " %s", f.For)
	}
	if f.Node != "" {
		fmt.Fprintf(&b, " %s", f.Node)
	}
	if f.Job != 0 {
		fmt.Fprintf(&b, " job=%d", f.Job)
	}
	if f.GPUs != 0 {
		fmt.Fprintf(&b, " gpus=%d", f.GPUs)
	}
	return b.String()
}

// Plan is a list of faults.
type Plan []Fault

// String prints the plan in one line, as Parse reads it.
func (p Plan) String() string {
	parts := make([]string, len(p))
	for i, f := range p {
		parts[i] = f.String()
	}
	return strings.Join(parts, "; ")
}

// Parse reads a plan: faults separated by ";" or new lines, each "TRIGGER: KIND
// [ARGUMENTS]", for example
//
//	scontrol requeuehold #3: lost-reply; at 90s: node-down gpu2
//	after scontrol release #1: user-cancel; launch #2: slow 45s
func Parse(text string) (Plan, error) {
	var p Plan
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		f, err := parseFault(part)
		if err != nil {
			return nil, fmt.Errorf("fault %q: %w", part, err)
		}
		p = append(p, f)
	}
	return p, nil
}

// MustParse is Parse for plans in tests; it panics on a mistake.
func MustParse(text string) Plan {
	p, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

func parseFault(text string) (f Fault, err error) {
	trigger, effect, found := strings.Cut(text, ":")
	if !found {
		return f, fmt.Errorf("want TRIGGER: KIND")
	}
	if err := f.trigger(strings.Fields(trigger)); err != nil {
		return f, err
	}
	words := strings.Fields(effect)
	if len(words) == 0 || !known(Kind(words[0])) {
		return f, fmt.Errorf("unknown kind %q", strings.TrimSpace(effect))
	}
	f.Kind = Kind(words[0])
	if f.Kind == Forget && f.On != "" {
		return f, fmt.Errorf("slurmctld forgets at a time, not at a call")
	}
	for _, w := range words[1:] {
		if err := f.argument(w); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *Fault) trigger(words []string) (err error) {
	if len(words) == 2 && words[0] == "at" {
		f.At, err = time.ParseDuration(words[1])
		if err == nil && f.At < 0 {
			err = fmt.Errorf("a time before the start")
		}
		return err
	}
	if len(words) > 0 && words[0] == "after" {
		f.After, words = true, words[1:]
	}
	if n := len(words); n > 0 && strings.HasPrefix(words[n-1], "#") {
		f.Nth, err = strconv.Atoi(words[n-1][1:])
		if err != nil || f.Nth < 1 {
			return fmt.Errorf("%s: want #1 or higher", words[n-1])
		}
		words = words[:n-1]
	}
	f.On = strings.Join(words, " ")
	for _, op := range slices.Concat(Ops(), DeferOps(), []string{"launch", "drain"}) {
		if f.On == op {
			return nil
		}
	}
	return fmt.Errorf("unknown call %q", f.On)
}

func (f *Fault) argument(word string) (err error) {
	if n, ok := strings.CutPrefix(word, "job="); ok {
		var id int
		id, err = strconv.Atoi(n)
		f.Job = slurm.JobID(id)
		return err
	}
	if n, ok := strings.CutPrefix(word, "gpus="); ok {
		f.GPUs, err = strconv.Atoi(n)
		return err
	}
	if d, err := time.ParseDuration(word); err == nil {
		f.For = d
		return nil
	}
	f.Node = word
	return nil
}

func known(k Kind) bool {
	switch k {
	case LostReply, LostRequest, Late, Refused, Denied, Garbage, Empty, Half, Stale, Down, Forget, NodeDown, NodeDrain, NodeReturn,
		UserCancel, UserHold, UserRelease, UserRequeue, UserSize, Slow:
		return true
	}
	return false
}

// due returns the faults of the n-th call of op.
func (p Plan) due(op string, n int) []Fault {
	var out []Fault
	for _, f := range p {
		if f.On == op && (f.Nth == 0 || f.Nth == n) {
			out = append(out, f)
		}
	}
	return out
}
