package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// The functions below cause in a lab what happens to a cluster. Each returns when the
// effect on the lab's own processes is complete; what slurmctld concludes from it comes
// later (WaitNode). They need the account that started the lab.

// StopController ends slurmctld with SIGTERM; jobs run on.
func (l *Lab) StopController(ctx context.Context) error {
	return l.fault(ctx, "stop slurmctld", func(ctx context.Context) error { return l.halt(ctx, ofKind(slurmctld), stopGrace) })
}

// KillController ends slurmctld with SIGKILL; it loses what it had not saved.
func (l *Lab) KillController(ctx context.Context) error {
	return l.fault(ctx, "kill slurmctld", func(ctx context.Context) error { return l.halt(ctx, ofKind(slurmctld), 0) })
}

// FreezeController stops slurmctld with SIGSTOP: connections are accepted by the kernel
// and never answered. ThawController continues it.
func (l *Lab) FreezeController(ctx context.Context) error {
	return l.fault(ctx, "freeze slurmctld", func(context.Context) error { return l.signalAll(ofKind(slurmctld), syscall.SIGSTOP) })
}

// ThawController continues a frozen slurmctld.
func (l *Lab) ThawController(ctx context.Context) error {
	return l.fault(ctx, "thaw slurmctld", func(context.Context) error { return l.signalAll(ofKind(slurmctld), syscall.SIGCONT) })
}

// StartController starts slurmctld with its saved state and waits until it
// answers, and until a backup that was in control stands by again. Starting a running one
// does nothing.
func (l *Lab) StartController(ctx context.Context) error {
	return l.fault(ctx, "start slurmctld", func(ctx context.Context) error {
		running, err := l.pick(ofKind(slurmctld))
		if err != nil || len(running) > 0 {
			return err
		}
		started, err := l.startController(ctx, false)
		if err != nil {
			return err
		}
		err = l.until(ctx, started, func() bool {
			_, err := l.ask(ctx, "scontrol", "ping")
			return err == nil
		})
		if err != nil {
			return err
		}
		return l.standsBy(ctx, started)
	})
}

// RestartController is StopController, then StartController.
func (l *Lab) RestartController(ctx context.Context) error {
	if err := l.StopController(ctx); err != nil {
		return err
	}
	return l.StartController(ctx)
}

// KillMunge ends munged with SIGKILL: no process can authenticate then, Slurm's daemons
// included. A new munged does not know which credentials were decoded before.
func (l *Lab) KillMunge(ctx context.Context) error {
	return l.fault(ctx, "kill munged", func(ctx context.Context) error { return l.halt(ctx, ofKind(munged), 0) })
}

// StartMunge starts munged and waits until it answers. Starting a running one does nothing.
func (l *Lab) StartMunge(ctx context.Context) error {
	return l.fault(ctx, "start munged", func(ctx context.Context) error {
		running, err := l.pick(ofKind(munged))
		if err != nil || len(running) > 0 {
			return err
		}
		// A killed munged leaves its socket, which must not be taken for the new one's.
		if err := os.Remove(l.layout().mungeSocket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_, err = l.startMunged(ctx)
		return err
	})
}

// KillSlurmdbd ends slurmdbd with SIGKILL; StartSlurmdbd starts it again. slurmctld goes
// on with the associations it has, and sends its records later.
func (l *Lab) KillSlurmdbd(ctx context.Context) error {
	return l.fault(ctx, "kill slurmdbd", func(ctx context.Context) error { return l.halt(ctx, ofKind(slurmdbd), 0) })
}

// StartSlurmdbd starts slurmdbd and waits until it listens. Starting a running one does
// nothing.
func (l *Lab) StartSlurmdbd(ctx context.Context) error {
	return l.fault(ctx, "start slurmdbd", func(ctx context.Context) error {
		running, err := l.pick(ofKind(slurmdbd))
		if err != nil || len(running) > 0 {
			return err
		}
		_, err = l.startSlurmdbd(ctx)
		return err
	})
}

// KillSlurmd ends one node's slurmd with SIGKILL. Its jobs run on, as when a slurmd
// crashes; after SlurmdTimeout the node is DOWN and they are lost.
func (l *Lab) KillSlurmd(ctx context.Context, node string) error {
	return l.nodeFault(ctx, "kill slurmd", node, func(ctx context.Context) error { return l.halt(ctx, onNode(node, slurmd), 0) })
}

// CrashNode ends slurmd and all processes of jobs on one node with SIGKILL, as when a
// machine loses power.
func (l *Lab) CrashNode(ctx context.Context, node string) error {
	return l.nodeFault(ctx, "crash node", node, func(ctx context.Context) error { return l.halt(ctx, onNode(node, slurmd, stepd, task), 0) })
}

// StartSlurmd starts one node's slurmd and waits until it listens. Starting a
// running one does nothing. The node then returns to service by itself.
func (l *Lab) StartSlurmd(ctx context.Context, node string) error {
	return l.nodeFault(ctx, "start slurmd", node, func(ctx context.Context) error {
		running, err := l.pick(onNode(node, slurmd))
		if err != nil || len(running) > 0 {
			return err
		}
		started, err := l.startSlurmd(ctx, node)
		if err != nil {
			return err
		}
		port := l.rec.Ports[slices.Index(l.NodeNames(), node)]
		return l.until(ctx, started, func() bool { return listening(primaryAddr, port) })
	})
}

// Drain keeps new jobs off a node.
func (l *Lab) Drain(ctx context.Context, node, reason string) error {
	return l.setNode(ctx, "drain", node, "State=DRAIN", "Reason="+reason)
}

// SetDown declares a node DOWN, which ends its jobs, without waiting for SlurmdTimeout.
func (l *Lab) SetDown(ctx context.Context, node, reason string) error {
	return l.setNode(ctx, "set down", node, "State=DOWN", "Reason="+reason)
}

// Resume returns a drained or down node to service.
func (l *Lab) Resume(ctx context.Context, node string) error {
	return l.setNode(ctx, "resume", node, "State=RESUME")
}

func (l *Lab) setNode(ctx context.Context, op, node string, fields ...string) error {
	return l.nodeFault(ctx, op, node, func(ctx context.Context) error {
		_, err := l.ask(ctx, "scontrol", append([]string{"update", "NodeName=" + node}, fields...)...)
		return err
	})
}

func (l *Lab) nodeFault(ctx context.Context, op, node string, do func(context.Context) error) error {
	if !slices.Contains(l.NodeNames(), node) {
		return &Error{Op: "lab " + op, Dir: l.Dir(), Err: fmt.Errorf("no node %q, there are %v", node, l.NodeNames())}
	}
	return l.fault(ctx, op+" "+node, do)
}

// settle bounds a call whose context has no earlier deadline: much longer than any needs,
// also on a slow machine.
const settle = 2 * time.Minute

func (l *Lab) fault(ctx context.Context, op string, do func(context.Context) error) error {
	if err := l.mayChange("lab " + op); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	if err := do(ctx); err != nil {
		return wrap("lab "+op, l.Dir(), err, "")
	}
	return nil
}

// signalAll sends one signal to the selected processes; there must be some.
func (l *Lab) signalAll(w which, sig syscall.Signal) error {
	list, err := l.pick(w)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%w: there is no such process", ErrUnhealthy)
	}
	for _, m := range list {
		if err := m.signal(sig); err != nil {
			return err
		}
	}
	return nil
}

// Procs counts the lab's processes of every kind: 0 after Down, which tests assert.
func (l *Lab) Procs() (int, error) {
	list, err := l.members()
	return len(list), err
}
