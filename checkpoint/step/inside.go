package step

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// Inside is srun inside of a fence. In a job on one node it becomes the command, as the one task of the step, and
// does not return.
func Inside(args []string, now func() time.Time) int {
	nodes, err := strconv.Atoi(os.Getenv("SLUICE_NODES"))
	if err != nil || nodes < 1 || nodes > confine.MaxNodes {
		nodes = 1
	}
	s, err := confine.ParseStep(args, nodes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "srun: error:", err)
		return 1
	}
	if s.Nodes > 1 {
		c := Config{Argv: s.Argv, Env: os.Environ(), Kill: s.Kill, Now: now(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
		if c.Nodes, c.Key, err = openBook(os.Getenv("SLUICE_JOB_DIR"), s.Nodes); err != nil {
			fmt.Fprintln(os.Stderr, "srun: error:", err)
			return startCode
		}
		return Run(c)
	}
	program, err := exec.LookPath(s.Argv[0])
	if err == nil {
		err = syscall.Exec(program, s.Argv, confine.StepEnvironment(os.Environ()))
	}
	fmt.Fprintln(os.Stderr, "srun: error:", err)
	return startCode
}
