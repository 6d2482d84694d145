package ranks

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// torchrun turns a command such as "python3 -u train.py --epochs 3", or the script alone,
// into the torchrun command that starts it once for each GPU of this node. The rendezvous
// is static, so that ranks are numbered in the order of the nodes, whose GPU counts may
// differ. A failed run is not retried here: that is for Slurm or the user. The spellings
// with _ are known to every release.
func (n Node) torchrun(argv []string, w World, id string) ([]string, error) {
	interpreter, flags, program, err := pythonCommand(argv)
	if err != nil {
		return nil, err
	}
	out := append([]string{interpreter}, flags...)
	out = append(out, "-m", "torch.distributed.run",
		fmt.Sprintf("--nnodes=%d", n.Nodes), fmt.Sprintf("--node_rank=%d", n.ID), fmt.Sprintf("--nproc_per_node=%d", n.Local),
		"--rdzv_backend=static", fmt.Sprintf("--rdzv_endpoint=%s:%d", w.Master, w.Port), "--rdzv_id="+id, "--max_restarts=0")
	if n.Local < 10 {
		// The arguments redirect nothing, as torchrun's default does, which torch 1.13
		// cannot parse with Python 3.11: they name a process that does not exist.
		out = append(out, "--redirects=9:3", "--tee=9:3")
	}
	return append(out, program...), nil
}

// pythonCommand splits a command into the interpreter, its own options and what torchrun
// runs: a script or --module NAME, with arguments.
func pythonCommand(argv []string) (interpreter string, flags, program []string, err error) {
	if !strings.HasPrefix(filepath.Base(argv[0]), "python") {
		return "python3", nil, argv, nil
	}
	interpreter, rest := argv[0], argv[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		switch flag := rest[0]; {
		case flag == "-m":
			return interpreter, flags, append([]string{"--module"}, rest[1:]...), missingProgram(rest[1:])
		case strings.HasPrefix(flag, "-c"):
			return "", nil, nil, errors.New("torchrun starts a script or a module, not python -c")
		case (flag == "-W" || flag == "-X") && len(rest) > 1:
			flags, rest = append(flags, rest[:2]...), rest[2:]
		default:
			flags, rest = append(flags, flag), rest[1:]
		}
	}
	return interpreter, flags, rest, missingProgram(rest)
}

func missingProgram(rest []string) error {
	if len(rest) == 0 {
		return errors.New("no script for torchrun: sluice ranks --torchrun -- train.py ARGS")
	}
	return nil
}

// rendezvous is the id of the rendezvous of this run's torchruns: different for each run
// and step, the same on all nodes.
func rendezvous(vars map[string]string) string {
	return "sluice-" + vars["SLURM_JOB_ID"] + "." + restarts(vars) + "." + vars["SLURM_STEP_ID"]
}

// startTorchrun starts the node's torchrun. Slurm sends a signal to every process of a
// step, and torchrun and its workers would end on signals that it does not handle: it
// inherits them as ignored. Programs that handle a signal still get it.
func (t *team) startTorchrun() error {
	argv, err := t.node.torchrun(t.Argv, t.world, rendezvous(t.vars))
	if err != nil {
		return err
	}
	signal.Ignore(notTorchruns...)
	defer signal.Notify(t.signals, notTorchruns...)
	return t.start(member{id: t.world.First}, process.Command{Argv: argv, Env: overlay(t.Env, t.node.shared(t.world, t.vars)), Stdin: t.Stdin})
}

var notTorchruns = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM}
