package sbatch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
)

// count is a number of GPUs as sbatch's own options give it.
type count struct {
	gpus    int
	perNode bool   // this many on each node
	kind    string // GPU type; "" = any
}

// counting lists the options that may give a job's number of GPUs. For a job that sluice
// may resize they are refused; for one without a size option of sluice they are its fixed
// size.
var counting = []string{"gpus", "gpus-per-node", "gpus-per-task", "gres", "tres-per-task"}

// sizing lists sluice's options about the sizes that a job accepts.
var sizing = []string{"min-gpus", "max-gpus", "gpu-step", "gpu-sizes"}

// counts reads the option as a number of GPUs of one type, or of any; ok is false if it
// means something else, or more.
func counts(option, value string) (c count, ok bool) {
	if !slices.Contains(counting, option) || sliced(value) || strings.Contains(value, ",") {
		return c, false
	}
	number := value
	if option == "gres" || option == "tres-per-task" || strings.HasPrefix(gresName(value), "gpu") {
		rest, named := strings.CutPrefix(gresName(value), "gpu")
		if !named {
			return c, false
		}
		if rest != "" && rest[0] != ':' && rest[0] != '=' {
			return c, false
		}
		if number = strings.TrimLeft(rest, ":="); rest == "" {
			number = "1"
		}
	}
	kind := ""
	if i := strings.LastIndexAny(number, ":="); i >= 0 {
		if kind, number = number[:i], number[i+1:]; !elastic.ValidType(kind) {
			return c, false
		}
	} else if elastic.ValidType(number) && strings.Trim(number, "0123456789") != "" {
		kind, number = number, "1" // gpu:a100
	}
	n, err := parseCount(number, 1)
	return count{n, option == "gres" || option == "gpus-per-node", kind}, err == nil
}

// oneNode reports whether the setting restricts the job to one node.
func oneNode(s setting) bool { return s.name == "nodes" && (s.value == "1" || s.value == "1-1") }

// fix determines whether sbatch's options give the job a fixed size: they do if none of
// sluice's options gives the accepted sizes.
func (m *merger) fix() {
	if slices.ContainsFunc(sizing, func(name string) bool { _, is := m.chosen[name]; return is }) {
		return
	}
	var first setting
	for _, name := range counting {
		s := m.chosen[name]
		c, ok := counts(s.name, s.value)
		switch {
		case !ok:
		case m.fixed == (count{}):
			m.fixed, first = c, s
		default:
			m.fail(s.fail("it counts the GPUs a second time, after "+first.where(), "leave one out"))
		}
	}
	if s, ok := m.chosen["gpu-types"]; ok && m.fixed.kind != "" {
		m.fail(s.fail("the GPU type is given twice: also "+first.where(), "leave one out"))
	}
	if m.fixed.gpus > 0 {
		m.request.least = first.where()
	}
	if s := m.chosen["nodes"]; m.fixed.gpus > 0 && oneNode(s) {
		m.fixed.perNode = true
		m.request.least += " with " + s.where()
	}
}

// LeastFrom is the option that gives the job's minimum of GPUs, as typed; "" if there is
// none: the minimum is 1.
func (r Request) LeastFrom() string { return r.least }

// fixes reports whether the setting is part of the job's fixed size, which sluice passes
// to sbatch in another form.
func (m *merger) fixes(s setting) bool { return m.fixed.gpus > 0 && consumed(s) }

// consumed reports whether a setting that was not refused is part of a fixed size.
func consumed(s setting) bool {
	_, ok := counts(s.name, s.value)
	return ok || oneNode(s)
}

// Sized refuses a request without a size, neither for sbatch nor for sluice: the job
// would otherwise be taken for one that runs on any number of GPUs.
func (r Request) Sized() error {
	if !r.sizeless {
		return nil
	}
	name := r.script.source
	if r.wrapped {
		name = "--wrap"
	}
	return &Error{What: name, Why: "nothing says how many GPUs the job can use",
		Do: "for a fixed size give --gpus=N; for a program that saves when asked and resumes give --min-gpus=1 --max-gpus=N, as options or on a #SLUICE line"}
}

// elastic reports whether any of sluice's own options is set.
func (m *merger) elastic() bool {
	for _, s := range m.chosen {
		if s.is == own && !slices.Contains([]string{"user", "config", "retries", "checkpoint-dir", "gpu-types", "code", "data"}, s.name) && !slices.Contains(onlyService, s.name) {
			return true
		}
	}
	return false
}

// fixedWords tells the user the job's size and why it is not resized.
func (m *merger) fixedWords() {
	if m.fixed.gpus > 0 && m.elastic() {
		m.warn(fmt.Sprintf("the job has a fixed size of %d GPUs, from sbatch's options; for one that is resized leave them out and give --min-gpus and --max-gpus", m.fixed.gpus))
	}
}
