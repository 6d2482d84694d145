package sbatch

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Request is what the user requests, from all sources.
type Request struct {
	// Spec is the request to sluice. Its Token is still empty.
	Spec elastic.Spec
	// Adopt says how to find the checkpoints and the progress of a program that does not
	// use sluice's library.
	Adopt Adopt
	// Retries is how often a script that failed is started again in a row without a newer
	// checkpoint: auto, or 0 to 1000. Every is how often the program is asked for a
	// checkpoint (auto, off or a duration). OnTimeout is requeue or end. "" means the
	// site's default for each of them.
	Retries, Every, OnTimeout string
	// Own: the user's own sluiced manages the job, not the cluster's.
	Own bool
	// Hold: the job stays held until the user releases it.
	Hold bool
	// Wait: do not return before the job has ended.
	Wait bool
	// Quiet: do not print sbatch's line.
	Quiet bool
	// TestOnly: ask sbatch whether and when the job could run, submit nothing.
	TestOnly bool
	// Partitions are the requested partitions; empty if there is none.
	Partitions []string
	// Account and QOS are as given, but for what only sbatch reads (SBATCH_ACCOUNT, SBATCH_QOS); "" = not.
	Account, QOS string
	// Sweep is the sweep to be submitted, without its token; nil = a job. Array has its lanes.
	Sweep *sweep.Sweep
	// Array is the job array to be submitted, one job per task; nil = a single job.
	Array *Array
	// Dependency is the value of --dependency as typed; see Depend.
	Dependency string
	// Parsable: print output for scripts.
	Parsable bool
	// Hook is the URL that messages about the job are posted to; "" = none.
	Hook string
	// Data are the data sets that a confined job trains on, and Code the files and folders of the current folder that
	// go along; empty = the script's folder.
	Data, Code []string
	// Service is set if sluice-vaultd submits the job for a user.
	Service *Service
	// Warnings are shown to the user; the request is valid.
	Warnings []string

	notices elastic.Notices
	mails   string // option for sbatch in the place of those taken out; "" = none
	due     when
	limit   Limit
	least   string // see LeastFrom
	script  Script
	args    []string
	wrapped bool
	comment string // the user's own
	name    bool   // the user named the job
	given   string // that name
	begins  bool   // the user gave the job a begin time
	// sizeless: no option gives the job's number of GPUs.
	sizeless bool
	options  []string // options of the command line for sbatch, as typed
	// forwarded: see Forwarded.
	forwarded  []string
	typedNodes int      // Spec.Nodes of a confined job as typed
	files      []string // for an array: options that name files by %A and %a
	depends    string   // replaces Dependency; "" = Dependency is unchanged
}

// Adopt is what the runner adopts of a program that is not changed for sluice.
type Adopt struct {
	// Glob matches the files or folders that the program saves, relative to the
	// job's working directory; "" = it saves through sluice.
	Glob string
	// Marker is a file in such a folder that exists once the folder is complete; "" = it
	// is complete once it no longer changes.
	Marker string
	// Still is how long nothing in a checkpoint may have changed; 0 = the default.
	Still time.Duration
	// Progress is a regular expression with groups named epoch, step, total,
	// seconds or speed, applied to every line of the job's output; "" = none.
	Progress string
}

// Merge combines the three sources: the command line takes precedence over the
// environment, and that over the script. All errors found are joined.
func Merge(c CommandLine, environ []string, s Script) (Request, error) {
	m := merger{request: Request{script: s, args: c.Args, wrapped: c.Wrap != nil}, chosen: map[string]setting{}}
	m.request.Warnings = slices.Clone(s.Warnings)
	env := readEnvironment(environ)
	sources := [][]setting{s.settings, env.settings(), c.settings}
	m.sources = sources
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
	m.confine()
	m.keep(c.settings)
	m.spec()
	m.limits()
	m.rest(env)
	m.lanes()
	m.confined(env)
	return m.request, join(m.errs)
}

// Notices are the messages that sluiced sends about the job.
func (r Request) Notices() elastic.Notices { return r.notices }

// merger builds one Request.
type merger struct {
	request Request
	sources [][]setting        // in ascending precedence
	chosen  map[string]setting // by option: the setting that counts
	fixed   count              // the job's fixed size; zero = none
	mails   []setting          // --mail-type as far as resends holds, of all sources
	points  int                // of a sweep's grid, with its tries and repeats; 0 = it has none
	errs    []error
}

func (m *merger) fail(err *Error) { m.errs = append(m.errs, err) }

// check applies the rules to each setting of one source, also to those that another
// source overrides: --gpus=4 is always an error, even if it is overridden.
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

// exclusives are pairs of options that give the same thing in two ways: setting one
// removes the other if it comes from an earlier source.
var exclusives = [][2]string{{"epochs", "steps"}, {"gpu-step", "gpu-sizes"}}

// take applies the settings of a source over the earlier ones.
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
	for _, s := range source {
		if resends(s) {
			m.mails = append(m.mails, s)
		}
	}
}

// taken reports whether an option of the command line is not passed to sbatch: sluice
// handles it, or passes it in another form.
func taken(option string) bool {
	switch option {
	case "hold", "wait", "quiet", "array", "comment", "wrap", "requeue", "open-mode", "test-only", "cpus-per-gpu", "mem-per-gpu":
		return true
	}
	return false
}

// keep collects the words for sbatch. Those of the script it reads there, unless the job is submitted for another user:
// then it is not left to sbatch to read lines that only sluice has checked.
func (m *merger) keep(line []setting) {
	served := m.request.Service != nil
	if served {
		line = slices.Concat(m.sources[0], line)
	}
	for _, s := range line {
		if served && (s.name == "parsable" || m.request.Service.charges(s.name)) { // sluice-vaultd reads sbatch's line
			continue
		}
		if s.is != own && !taken(s.name) && !consumed(s) && !resends(s) {
			m.request.options = append(m.request.options, s.words...)
		}
	}
	if served {
		m.request.options = append(m.request.options, m.request.Service.words()...)
	}
}

// rest adopts what is neither sluice's nor refused.
func (m *merger) rest(env environment) {
	r := &m.request
	_, r.Hold = m.chosen["hold"]
	_, r.begins = m.chosen["begin"]
	_, r.Wait = m.chosen["wait"]
	_, r.TestOnly = m.chosen["test-only"]
	_, r.name = m.chosen["job-name"]
	r.given = safe(m.chosen["job-name"].value)
	_, r.Parsable = m.chosen["parsable"]
	r.Dependency = m.chosen["dependency"].value
	r.Account, r.QOS = m.chosen["account"].value, m.chosen["qos"].value
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
		m.warn(s.typed() + ": the job gets none of your variables, only those that Slurm and sluice set")
	}
	m.notify()
	r.mails = m.mailsOfSlurm()
	m.clash("cpus-per-gpu", "cpus-per-task", "CPUs are counted either for each GPU or, as -c, for each node")
	m.clash("mem-per-gpu", "mem", "memory is counted either for each GPU or for each node")
	m.clash("mem-per-gpu", "mem-per-cpu", "memory is counted either for each GPU or for each CPU")
}

// clash refuses two options that sbatch would refuse together, and names both places.
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

// join orders the errors by their places, scripts first.
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
