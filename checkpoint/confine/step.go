package confine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrStep: srun was called inside of a fence in a way that has no meaning there.
var ErrStep = errors.New("srun in a confined job starts one task on each node")

// Options of srun by how the stand-in takes them.
var (
	// ignored change nothing with one task on a node.
	ignored = map[string]bool{
		"--label": false, "-l": false, "--unbuffered": false, "-u": false, "--exclusive": false, "--overlap": false, "--exact": false,
		"--verbose": false, "-v": false, "--quiet": false, "-Q": false, "--kill-on-bad-exit": true, "-K": true, "--cpu-bind": true,
		"--gpu-bind": true, "--gpus": true, "-G": true, "--gpus-per-node": true, "--gpus-per-task": true, "--gres": true, "--cpus-per-task": true,
		"-c": true, "--mem": true, "--mem-per-cpu": true, "--mem-bind": true, "--hint": true, "--distribution": true, "-m": true,
		"--job-name": true, "-J": true, "--export": true, "--mpi": true, "--wait": true, "-W": true, "--threads-per-core": true,
	}
	// counts are numbers of tasks and nodes, perNode those on one node.
	counts  = map[string]bool{"--ntasks": true, "-n": true, "--nodes": true, "-N": true, "--ntasks-per-node": true, "--tasks-per-node": true}
	perNode = map[string]bool{"--ntasks-per-node": true, "--tasks-per-node": true}
	// flags of ignored that need no value but may have one after =.
	maybe = map[string]bool{"--kill-on-bad-exit": true, "-K": true, "--exclusive": true}
)

// Step is what a call of srun asks for.
type Step struct {
	Argv  []string
	Nodes int  // how many of the job's nodes, from the first on, start it: 1 or all
	Kill  bool // the first task that fails ends the others
}

// ParseStep reads the arguments of srun in a job with so many nodes. Errors say which option cannot be used,
// or which number; test with ErrStep.
func ParseStep(args []string, nodes int) (Step, error) {
	s := Step{Nodes: nodes}
	counted := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return s.command(args[i+1:])
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			return s.command(args[i:])
		}
		name, value, glued := split(arg)
		takes, known := ignored[name]
		switch {
		case counts[name]:
			if !glued {
				i++
				if i == len(args) {
					return Step{}, fmt.Errorf("%w: %s needs a number", ErrStep, name)
				}
				value = args[i]
			}
			n, err := s.count(name, value, nodes)
			if err == nil && counted && n != s.Nodes && !perNode[name] {
				err = fmt.Errorf("%w: %s=%s contradicts an option before it", ErrStep, name, value)
			}
			if err != nil {
				return Step{}, err
			}
			if !perNode[name] {
				s.Nodes, counted = n, true
			}
		case !known:
			return Step{}, fmt.Errorf("%w: it has no option %s; leave it out", ErrStep, name)
		case takes && !glued && !maybe[name]:
			if i++; i == len(args) {
				return Step{}, fmt.Errorf("%w: %s needs a value", ErrStep, name)
			}
		case name == "-K" || name == "--kill-on-bad-exit":
			s.Kill = value != "0"
		}
	}
	return s.command(nil)
}

// count reads a number of tasks or nodes: one, or one on each node of the job.
func (s Step) count(name, value string, nodes int) (int, error) {
	low, high, is := strings.Cut(value, "-")
	n, err := strconv.Atoi(low)
	if err != nil || is && high != low || n != 1 && (n != nodes || perNode[name]) {
		return 0, fmt.Errorf(`%w: %s=%s is not possible; write: srun "$SLUICE" ranks -- COMMAND, which starts one process for each GPU`, ErrStep, name, value)
	}
	return n, nil
}

func (s Step) command(argv []string) (Step, error) {
	if len(argv) == 0 {
		return Step{}, fmt.Errorf("%w: it needs a command", ErrStep)
	}
	s.Argv = argv
	return s, nil
}

// split takes an option apart: --name=value, or -nVALUE for a short one.
func split(arg string) (name, value string, glued bool) {
	if strings.HasPrefix(arg, "--") {
		return strings.Cut(arg, "=")
	}
	if len(arg) > 2 {
		return arg[:2], strings.TrimPrefix(arg[2:], "="), true
	}
	return arg, "", false
}

// StepEnvironment returns the variables of the one task of a step.
func StepEnvironment(env []string) []string {
	own := []string{"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=1", "SLURM_NPROCS=1", "SLURM_NODEID=0"}
	out := slices.Clone(own)
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") }) {
			out = append(out, entry)
		}
	}
	return out
}
