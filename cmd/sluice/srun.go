package main

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// standIn is srun inside of a fence, where there is no Slurm: it becomes the command, as the
// one task of a step on this node. It returns only if it cannot.
func standIn(args []string, errs io.Writer) int {
	argv, err := confine.Step(args)
	if err != nil {
		terminal.Complain(errs, err)
		return 1
	}
	program, err := exec.LookPath(argv[0])
	if err == nil {
		err = syscall.Exec(program, argv, confine.StepEnvironment(os.Environ()))
	}
	terminal.Complain(errs, err)
	return 127
}
