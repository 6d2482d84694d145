package sbatch

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// Request is what the user wants, all sources taken together.
type Request struct {
	// Spec is what to ask of sluice. Its Token is still empty.
	Spec elastic.Spec
	// Adopt says how the job's checkpoints and progress are found where its
	// program knows nothing of sluice.
	Adopt Adopt
	// Retries is how often a script that failed is started again in a row without a
	// newer checkpoint: auto, or 0 to 1000. "" = as the site says, and so it is of Every,
	// how often it is asked for a checkpoint (auto, off or a duration), and of OnTimeout
	// (requeue or end).
	Retries, Every, OnTimeout string
	// Own: the user's own sluiced is to look after it, not the cluster's.
	Own bool
	// Hold: the user wants the job held until he releases it.
	Hold bool
	// Wait: do not return before the job has ended.
	Wait bool
	// Quiet: do not print sbatch's line.
	Quiet bool
	// TestOnly: ask sbatch whether and when the job could run, submit nothing.
	TestOnly bool
	// Partitions are the partitions asked for; empty when none was.
	Partitions []string
	// Array is the job array to be submitted, a job for each task; nil = one job.
	Array *Array
	// Dependency is what --dependency says, as typed; see Depend.
	Dependency string
	// Parsable: print what scripts can use.
	Parsable bool
	// Warnings are for the user's eyes; the request stands.
	Warnings []string

	due     when
	limit   Limit
	least   string // see LeastFrom
	script  Script
	args    []string
	wrapped bool
	comment string // the user's own
	name    bool   // the user named the job
	// sizeless: nothing says how many GPUs the job can use.
	sizeless bool
	options  []string // of the command line, for sbatch, as typed
	files    []string // of an array: options that name files by %A and %a
	depends  string   // in the place of Dependency; "" = it stands as it is
}

// Adopt is what the runner takes over from a program that cannot be changed.
type Adopt struct {
	// Glob matches the files or folders that the program saves, relative to the
	// job's working directory; "" = it saves through sluice.
	Glob string
	// Marker is a file in such a folder that is there once the folder is
	// complete; "" = stillness tells.
	Marker string
	// Still is how long nothing in a checkpoint may have changed; 0 = as usual.
	Still time.Duration
	// Progress is a regular expression with groups named epoch, step, total,
	// seconds or speed, applied to every line of the job's output; "" = none.
	Progress string
}

// Merge takes the three sources together: what the command line says wins over
// the environment, which wins over the script. Mistakes are joined.
func Merge(c CommandLine, environ []string, s Script) (Request, error) {
	m := merger{request: Request{script: s, args: c.Args, wrapped: c.Wrap != nil}, chosen: map[string]setting{}}
	m.request.Warnings = slices.Clone(s.Warnings)
	env := readEnvironment(environ)
	sources := [][]setting{s.settings, env.settings(), c.settings}
	for _, source := range sources {
		m.take(source)
	}
	m.fix()
	for _, source := range sources {
		m.check(source)
	}
	if hosts, ok := env["SLURM_HOSTFILE"]; ok {
		m.fail(&Error{At: Place{Source: "SLURM_HOSTFILE"}, What: "SLURM_HOSTFILE=" + hosts,
			Why: "it fixes the job's nodes, which sluice chooses", Do: "unset SLURM_HOSTFILE"})
	}
	if _, ignored := m.chosen["ignore-pbs"]; !ignored {
		m.errs = append(m.errs, asErrors(s.foreign)...)
	}
	m.request.sizeless = m.fixed.gpus == 0 && !m.elastic()
	m.fixedWords()
	m.keep(c.settings)
	m.spec()
	m.limits()
	m.rest(env)
	return m.request, join(m.errs)
}

// merger gathers one Request.
type merger struct {
	request Request
	chosen  map[string]setting // by option: the one that counts
	fixed   count              // the job's fixed size; zero = it has none
	errs    []error
}

func (m *merger) fail(err *Error) { m.errs = append(m.errs, err) }

// check applies the rules to each setting of one source, also to those that
// another source overrides: nobody writes --gpus=4 without meaning it.
func (m *merger) check(source []setting) {
	for _, s := range source {
		why, do := refusal(s.name, s.value)
		switch {
		case why == "" || m.fixes(s):
		case s.at.Line > 0 || s.at.Source == "":
			m.fail(s.fail(why, do))
		case overruled(s.at.Source):
			m.warn(s.typed() + " has no effect: " + why)
		default:
			m.fail(s.fail(why, unset(s.at.Source, do)))
		}
	}
}

// unset turns advice about an option into advice about a variable.
func unset(name, do string) string {
	if rest, ok := strings.CutPrefix(do, "leave it out"); ok {
		return "unset " + name + rest
	}
	return "unset " + name + " and " + do
}

func (m *merger) warn(text string) { m.request.Warnings = append(m.request.Warnings, safe(text)) }

// exclusives are pairs of options that say the same thing in two ways: a later
// source that sets one takes the other back.
var exclusives = [][2]string{{"epochs", "steps"}, {"gpu-step", "gpu-sizes"}}

// take lets a source override the ones before it.
func (m *merger) take(source []setting) {
	set := map[string]setting{}
	for _, s := range source {
		if s.name != "" {
			set[s.name] = s
		}
	}
	for _, pair := range exclusives {
		a, hasA := set[pair[0]]
		b, hasB := set[pair[1]]
		if hasA && hasB {
			m.fail(b.fail("--"+pair[0]+" and --"+pair[1]+" exclude each other, and there is "+a.where(), "leave one out"))
		}
		if hasA || hasB {
			delete(m.chosen, pair[0])
			delete(m.chosen, pair[1])
		}
	}
	for name, s := range set {
		m.chosen[name] = s
	}
}

// taken reports whether an option of the command line does not go on to sbatch:
// sluice acts on it itself, or says it in its own words.
func taken(option string) bool {
	switch option {
	case "hold", "wait", "quiet", "array", "comment", "wrap", "requeue", "open-mode", "test-only", "cpus-per-gpu", "mem-per-gpu":
		return true
	}
	return false
}

// keep collects the words for sbatch.
func (m *merger) keep(line []setting) {
	for _, s := range line {
		if s.is != own && !taken(s.name) && !consumed(s) {
			m.request.options = append(m.request.options, s.words...)
		}
	}
}

// rest takes over what is neither sluice's nor refused.
func (m *merger) rest(env environment) {
	r := &m.request
	_, r.Hold = m.chosen["hold"]
	_, r.Wait = m.chosen["wait"]
	_, r.TestOnly = m.chosen["test-only"]
	_, r.name = m.chosen["job-name"]
	_, r.Parsable = m.chosen["parsable"]
	r.Dependency = m.chosen["dependency"].value
	m.array(env)
	// sbatch itself does not read --quiet in a script.
	if s, ok := m.chosen["quiet"]; ok {
		r.Quiet = s.at.Line == 0
	}
	if s, ok := m.chosen["partition"]; ok {
		r.Partitions = strings.Split(s.value, ",")
	}
	if s, ok := m.chosen["comment"]; ok {
		r.comment = s.value
		if safe(s.value) != s.value {
			m.fail(s.fail("a comment is one line of text without control characters", "leave them out"))
		}
	}
	if s, ok := m.chosen["export"]; ok && strings.EqualFold(s.value, "none") {
		m.warn(s.typed() + ": the job gets none of your variables, but still those that Slurm and sluice set")
	}
	if s, ok := m.chosen["mail-type"]; ok && m.fixed.gpus == 0 && mailsStarts(s.value) {
		m.warn(s.typed() + ": Slurm also sends these mails at each resize; END and FAIL come once")
	}
	m.clash("cpus-per-gpu", "cpus-per-task", "CPUs are counted either for each GPU or, as -c, for each node")
	m.clash("mem-per-gpu", "mem", "memory is counted either for each GPU or for each node")
	m.clash("mem-per-gpu", "mem-per-cpu", "memory is counted either for each GPU or for each CPU")
}

// mailsStarts reports whether --mail-type asks for mails that a resize causes.
func mailsStarts(types string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToUpper(types), ","), func(t string) bool {
		return t == "ALL" || t == "BEGIN" || t == "REQUEUE"
	})
}

// clash refuses two options that sbatch would refuse together, naming both
// places.
func (m *merger) clash(one, other, why string) {
	a, hasA := m.chosen[one]
	b, hasB := m.chosen[other]
	if hasA && hasB {
		m.fail(a.fail(why+", and there is "+b.where(), "leave one out"))
	}
}

func asErrors(from []*Error) (out []error) {
	for _, e := range from {
		out = append(out, e)
	}
	return out
}

// join puts mistakes in the order of their places, scripts first.
func join(errs []error) error {
	slices.SortStableFunc(errs, func(a, b error) int {
		var x, y *Error
		if !errors.As(a, &x) || !errors.As(b, &y) {
			return 0
		}
		if (x.At.Line > 0) != (y.At.Line > 0) {
			return y.At.Line - x.At.Line
		}
		if x.At.Line != y.At.Line {
			return x.At.Line - y.At.Line
		}
		return x.At.Column - y.At.Column
	})
	return errors.Join(errs...)
}
