package confine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrStep: srun was called inside of a fence in a way that has no meaning there.
var ErrStep = errors.New("srun in a confined job starts one task on this node")

// Options of srun by how the stand-in takes them.
var (
	// ignored change nothing on one node with one task.
	ignored = map[string]bool{
		"--label": false, "-l": false, "--unbuffered": false, "-u": false, "--exclusive": false, "--overlap": false, "--exact": false,
		"--verbose": false, "-v": false, "--quiet": false, "-Q": false, "--kill-on-bad-exit": true, "-K": true, "--cpu-bind": true,
		"--gpu-bind": true, "--gpus": true, "-G": true, "--gpus-per-node": true, "--gpus-per-task": true, "--gres": true, "--cpus-per-task": true,
		"-c": true, "--mem": true, "--mem-per-cpu": true, "--mem-bind": true, "--hint": true, "--distribution": true, "-m": true,
		"--job-name": true, "-J": true, "--export": true, "--mpi": true, "--wait": true, "-W": true, "--threads-per-core": true,
	}
	// single must have the value 1.
	single = map[string]bool{"--ntasks": true, "-n": true, "--nodes": true, "-N": true, "--ntasks-per-node": true, "--tasks-per-node": true}
	// flags of ignored that need no value but may have one after =.
	maybe = map[string]bool{"--kill-on-bad-exit": true, "-K": true, "--exclusive": true}
)

// Step returns the command that `srun args...` starts. Errors say which option cannot be used,
// or which number; test with ErrStep.
func Step(args []string) ([]string, error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			args = args[i+1:]
			return command(args)
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			return command(args[i:])
		}
		name, value, glued := split(arg)
		takes, known := ignored[name]
		switch {
		case single[name]:
			if !glued {
				i++
				if i == len(args) {
					return nil, fmt.Errorf("%w: %s needs a number", ErrStep, name)
				}
				value = args[i]
			}
			if value != "1" && value != "1-1" {
				return nil, fmt.Errorf(`%w: %s=%s is not possible; write: srun "$SLUICE" ranks -- COMMAND, which starts one process for each GPU`, ErrStep, name, value)
			}
		case !known:
			return nil, fmt.Errorf("%w: it has no option %s; leave it out", ErrStep, name)
		case takes && !glued && !maybe[name]:
			if i++; i == len(args) {
				return nil, fmt.Errorf("%w: %s needs a value", ErrStep, name)
			}
		}
	}
	return command(nil)
}

func command(argv []string) ([]string, error) {
	if len(argv) == 0 {
		return nil, fmt.Errorf("%w: it needs a command", ErrStep)
	}
	return argv, nil
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
