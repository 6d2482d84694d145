package sbatch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// maxComment is how many bytes Slurm keeps of a job's comment.
const maxComment = elastic.MaxComment

// growth is by how much a job's comment may grow during its life: a larger generation
// number, a pin, a hold, a begin time. It may get a deadline only if it declares its work.
const (
	growth    = len("1000000000 pin=1000000 hold=1 begin=7258118400")
	growthDue = len(" due=7258118400 soft=1")
)

// maxName is how many bytes Slurm keeps of a job's name.
const maxName = 1024

// Job is what is created for a request when it becomes a job.
type Job struct {
	Token  string   // 32 lower-case hex digits
	Sluice string   // path of the sluice program on the nodes, absolute
	Run    []string // options for 'sluice run'
	Script string   // the stored copy of the user's script, absolute
	Batch  string   // the file that Batch is written to, absolute; "" = standard input
	// Index and Of are the job's index in an array and the array's id: 0 for its first
	// job, whose own id is the array's.
	Index int
	Of    elastic.JobID
	Whole bool // all tasks of the array are submitted
	// Sweep is the token of the sweep whose lane the job is; "" = it is no lane.
	Sweep string
	// Nodes is how many nodes the smallest size needs; 0 = 1. Slurm refuses a job whose size no
	// node has, unless it is spread over several.
	Nodes int
	// Abandon is how long the job waits for sluice before Slurm starts it by itself: whole
	// seconds, above 0.
	Abandon time.Duration
}

// Batch renders the script that Slurm really starts: the header of the user's script,
// which sbatch reads as usual, and one command, which starts the script under the runner
// and becomes the job's exit code.
func (r Request) Batch(j Job) []byte {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	if r.Service == nil {
		for _, line := range r.script.rendered() {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("exec " + shellQuote(j.Sluice) + " run ")
	for _, option := range slices.Concat(r.task(j), r.size(j), r.fence(), j.Run) {
		b.WriteString(shellQuote(option) + " ")
	}
	b.WriteString("-- " + shellQuote(j.Script))
	if r.argsInside() {
		for _, arg := range r.args {
			b.WriteString(" " + shellQuote(arg))
		}
		b.WriteString("\n")
		return []byte(b.String())
	}
	b.WriteString(` "$@"` + "\n")
	return []byte(b.String())
}

// size is what tells the runner its GPUs if Slurm starts the job by itself on several nodes: it sees those
// of its own node only.
func (r Request) size(j Job) []string {
	if j.Nodes < 2 {
		return nil
	}
	return []string{"--gpus=" + strconv.Itoa(r.Spec.Min)}
}

// fence is where the runner finds what the programs of a confined job may see.
func (r Request) fence() []string {
	if r.Service == nil {
		return nil
	}
	return []string{"--fence=" + r.Service.Fence}
}

// ScriptName is the path of the user's script as typed, --wrap, or "" for standard input.
func (r Request) ScriptName() string { return r.script.Name }

// Script is the user's script, unchanged.
func (r Request) Script() []byte { return r.script.Body }

// argsInside reports whether the script's arguments have to be written into the batch
// script: sbatch drops every ":" from its command line, even after the script.
func (r Request) argsInside() bool { return slices.Contains(r.args, ":") }

// rendered is the header without its first line: unchanged or, if a line has an option
// that sluice handles in sbatch's place, with the directives rewritten.
func (s Script) rendered() []string {
	rewrite := slices.ContainsFunc(s.settings, dropped)
	var out []string
	for _, line := range s.header {
		if !rewrite || !line.directive {
			// A carriage return can only be the script's last byte here; followed by a
			// newline sbatch would refuse it.
			out = append(out, strings.TrimRight(line.text, "\r"))
			continue
		}
		words := []string{"#SBATCH"}
		for _, set := range s.settings {
			if set.line != 'B' || set.at.Line != line.number || dropped(set) {
				continue
			}
			for _, w := range set.words {
				words = append(words, quoteWord(w))
			}
		}
		if len(words) > 1 {
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

// dropped reports whether a script's setting must not reach sbatch: sbatch would wait by
// itself, beyond the deadline of the call, create its own array, count the GPUs of a
// fixed size in addition to sluice, or send a mail at each resize.
func dropped(s setting) bool {
	return s.name == "wait" || s.name == "array" || consumed(s) || resends(s)
}

// Args renders the arguments for sbatch: sluice's own, the user's options of the command
// line as typed, the batch script and the script's arguments. The user's options are
// last, so that an unknown option cannot take one of sluice's as its value. The error is
// a comment that is too long.
func (r Request) Args(j Job) ([]string, error) {
	comment, err := r.tag(j)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--requeue", "--open-mode=append"}, r.smallest(max(1, j.Nodes))...)
	args = append(args, "--comment="+comment)
	if r.TestOnly {
		args = append([]string{"--test-only"}, args...)
	} else {
		args = append(r.waits(j), args...)
	}
	// Both scale with the GPUs of every later size, on each node; --cpus-per-task and
	// --mem would not.
	if r.Spec.CPUsPerGPU > 0 {
		args = append(args, "--cpus-per-gpu="+strconv.Itoa(r.Spec.CPUsPerGPU))
	}
	if r.Spec.MemPerGPUMB > 0 {
		args = append(args, "--mem-per-gpu="+strconv.FormatInt(r.Spec.MemPerGPUMB, 10)+"M")
	}
	if !r.name {
		args = append(args, "--job-name="+r.jobName())
	}
	if r.mails != "" {
		args = append(args, r.mails)
	}
	args = append(append(args, r.options...), r.filesOf(j)...)
	if r.depends != "" {
		args = append(args, "--dependency="+r.depends)
	}
	if j.Batch == "" {
		return args, nil
	}
	args = append(args, j.Batch)
	if !r.argsInside() {
		args = append(args, r.args...)
	}
	return args, nil
}

// smallest are the options for the job's smallest size on that many nodes, in equal parts if it can
// be divided so. It is the size at which Slurm starts the job if sluice is gone.
func (r Request) smallest(nodes int) []string {
	kind := "" // with several no partition is named, only nodes of one
	if len(r.Spec.Types) == 1 {
		kind = r.Spec.Types[0] + ":"
	}
	n := strconv.Itoa(nodes)
	args := []string{"--nodes=" + n, "--ntasks=" + n}
	if r.Spec.Min%nodes == 0 {
		return append(args, "--gres=gpu:"+kind+strconv.Itoa(r.Spec.Min/nodes))
	}
	return append(args, "--gpus="+kind+strconv.Itoa(r.Spec.Min))
}

// waits are the options by which the job waits for sluice. A begin time that its user gave is kept,
// and sluice reads it from Slurm.
func (r Request) waits(j Job) (args []string) {
	if r.Hold {
		args = append(args, "--hold")
	}
	if !r.begins {
		args = append(args, fmt.Sprintf("--begin=now+%d", int64(j.Abandon.Seconds())))
	}
	return args
}

// Comment is the job's comment once all tasks of its array are submitted.
func (r Request) Comment(j Job) (string, error) {
	j.Whole = true
	return r.tag(j)
}

// tag renders the comment that marks the job as sluice's.
func (r Request) tag(j Job) (string, error) {
	spec := r.Spec
	spec.Token, spec.Script, spec.Array, spec.Sweep = j.Token, r.digest(), r.part(j), j.Sweep
	t := elastic.Tag{Spec: spec, Directive: elastic.Directive{Hold: r.Hold}, Deferred: true, SbatchBegin: r.begins, Own: r.Own, For: r.owner(), Notices: r.notices, Comment: r.comment}
	comment, growth := t.String(), growth
	if spec.Total > 0 && spec.Deadline.IsZero() {
		growth += growthDue
	}
	if len(comment)+growth <= maxComment {
		return comment, nil
	}
	t.Comment = ""
	room := maxComment - growth - len(t.String()) - len(" ; ")
	if room < 0 {
		return "", &Error{Why: fmt.Sprintf("Slurm keeps %d bytes of a job's comment, which sluice needs for --gpu-sizes", maxComment),
			Do: "list fewer sizes, or use --gpu-step"}
	}
	return "", &Error{What: "--comment", Why: fmt.Sprintf("%d bytes; Slurm keeps %d, and sluice needs all but %d of them",
		len(r.comment), maxComment, room), Do: "shorten it"}
}

// owner is the user that a confined job belongs to; "" = the one who submits it.
func (r Request) owner() string {
	if r.Service == nil {
		return ""
	}
	return r.Service.For
}

// digest identifies the script, and how its program saves, among the scripts of its user.
func (r Request) digest() string {
	sum := sha256.New()
	for _, part := range []string{r.Spec.Signal, r.Adopt.Glob, r.Adopt.Marker, ""} {
		fmt.Fprintf(sum, "%q\n", part)
	}
	sum.Write(r.script.Body)
	return hex.EncodeToString(sum.Sum(nil))[:elastic.ScriptDigits]
}

// jobName is the name that sbatch would give to the job for the user's script.
func (r Request) jobName() string {
	switch {
	case r.wrapped:
		return "wrap"
	case r.script.Name == "":
		return "sbatch"
	}
	name := safe(path.Base(r.script.Name))
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "")
}
