package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// source is one --workload: a generator, or a file that was read once.
type source struct {
	generator string             // without gen: and seed; "" = a file
	seed      *uint64            // given on the command line
	recorded  *workload.Workload // of a file
	sweeps    *workload.Sweeps
	opts      workload.Options
	load      float64
	accounts  []string // drawn for jobs without one
}

// workload returns the jobs to run with the seed.
func (s source) workload(seed uint64) (workload.Workload, error) {
	var w workload.Workload
	if s.sweeps != nil {
		var err error
		if w, err = s.sweeps.Workload(seed, s.opts); err != nil {
			return w, err
		}
	} else if s.recorded != nil {
		w = *s.recorded
	} else {
		var err error
		if w, err = workload.Generate(s.generator, seed, s.opts); err != nil {
			return w, err
		}
	}
	w = workload.UnderAccounts(w, s.accounts, seed)
	if s.load == 1 {
		return w, nil
	}
	name := w.Name
	w, err := workload.Scale(w, s.load)
	w.Name = fmt.Sprintf("%s x%g", name, s.load)
	return w, err
}

// first is the first seed for runs of the source.
func (s source) first(otherwise uint64) uint64 {
	if s.seed != nil {
		return *s.seed
	}
	return otherwise
}

// sources reads every --workload at every --load. Names are made unique, because a report
// identifies workloads by them.
func (o *simulateOptions) sources(opts workload.Options) ([]source, error) {
	var out []source
	seen := map[string]bool{}
	for _, text := range o.workloads {
		s, err := o.source(strings.TrimSpace(text), opts)
		if err != nil {
			return nil, err
		}
		key := s.generator
		if s.sweeps != nil {
			key = s.sweeps.Name
		}
		if s.recorded != nil {
			if seen[s.recorded.Name] {
				s.recorded.Name = text
			}
			key = s.recorded.Name
		}
		if seen[key] {
			return nil, fmt.Errorf("--workload %s is given twice; use --seeds for several seeds of one generator", text)
		}
		seen[key] = true
		for _, load := range o.loads {
			s.load = load
			out = append(out, s)
		}
	}
	return out, nil
}

func (o *simulateOptions) source(text string, opts workload.Options) (source, error) {
	if strings.HasPrefix(text, workload.SweepsPrefix) {
		return o.sweeps(text, opts)
	}
	name, generated := strings.CutPrefix(text, "gen:")
	if generated {
		s := source{generator: name, opts: opts}
		if at := strings.LastIndexByte(name, ':'); at >= 0 {
			if seed, err := strconv.ParseUint(name[at+1:], 10, 64); err == nil {
				s.generator, s.seed = name[:at], &seed
			}
		}
		_, err := s.check()
		return s, err
	}
	w, err := o.read(text)
	return source{recorded: &w}, err
}

// sweeps reads a workload of sweeps, and draws it once.
func (o *simulateOptions) sweeps(text string, opts workload.Options) (source, error) {
	s, err := workload.ReadSweeps(text)
	if err == nil {
		_, err = s.Workload(1, opts)
	}
	if err != nil {
		return source{}, fmt.Errorf("--workload %s: %w; the form is %s", text, err, workload.SweepsSyntax)
	}
	if o.engine || o.bound {
		return source{}, fmt.Errorf("--workload %s: sweeps are simulated in rounds: leave out --engine and --bound", text)
	}
	return source{sweeps: &s, seed: s.Seed, opts: opts}, nil
}

// check generates once, so that a wrong name is reported before anything runs.
func (s source) check() (workload.Workload, error) {
	w, err := workload.Generate(s.generator, 1, s.opts)
	if err != nil {
		return w, fmt.Errorf("--workload gen:%s: %w", s.generator, err)
	}
	return w, nil
}

func formatNames() string {
	names, _ := workload.Formats()
	return strings.Join(names, "|")
}

func generatorNames() string {
	var names []string
	for _, g := range workload.Generators() {
		names = append(names, g.Name)
	}
	return strings.Join(names, ", ")
}

// read reads a file in the format of --format.
func (o *simulateOptions) read(path string) (workload.Workload, error) {
	if o.format == "" {
		return workload.Workload{}, fmt.Errorf("--workload %s: say what the file is with --format %s; generators are written gen:NAME", path, formatNames())
	}
	return workload.Read(o.format, path, o.profiles)
}
