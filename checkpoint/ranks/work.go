package ranks

import (
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// From the start of this node's processes to the end of the last one: process ends, here
// and on other nodes, and signals.

// work waits until all members have ended.
func (t *team) work() int {
	// Failures of other nodes are checked for less often: each check is a request to the
	// shared file system.
	elsewhere := time.NewTicker(10 * t.Poll)
	defer elsewhere.Stop()
	var kill, missed <-chan time.Time
	gone := -1
	for t.left > 0 || t.mute() {
		select {
		case m := <-t.ended:
			t.left--
			t.awaitOwnSignal(m)
			if parting := t.part(); t.failed(m) || parting {
				kill = time.After(t.patience())
			}
		case s := <-t.signals:
			t.signalled(s.(syscall.Signal))
		case <-elsewhere.C:
			switch {
			case t.part():
				kill = time.After(t.patience())
			case t.code == 0 && !t.gang.parting && t.listen():
				kill = time.After(t.Grace)
			}
		case id := <-t.party.gone:
			if gone < 0 { // the process that ends all nodes ends this one next
				gone, missed = id, time.After(t.Grace)
			}
		case <-missed:
			if t.code == 0 && !t.terminated && !t.gang.parting && !t.listen() {
				t.miss(t.world.Peers[gone])
			}
			if t.code != 0 && kill == nil {
				kill = time.After(t.Grace)
			}
		case <-t.orphaned:
			t.abandoned()
			kill = time.After(t.Grace)
		case <-kill:
			kill = nil
			if left := t.family.KillAll(t.Grace); len(left) > 0 {
				t.left = 0 // they hang in the kernel; Slurm is told that the step is over
			}
		}
	}
	t.clear()
	return t.code
}

// listen reads what others reported and returns whether the members must end because of
// it.
func (t *team) listen() bool {
	got := t.node.readNews()
	f := got.failure
	switch {
	case got.past:
		fmt.Fprintf(t.Stderr, "sluice ranks: node %s: the script was started again: ending what is left of this step\n", t.node.Name)
		t.code = orphanCode
	case got.failed:
		fmt.Fprintf(t.Stderr, "sluice ranks: node %s: %s failed on node %s (%s): ending the rest\n", t.node.Name, f.who(), f.Node, f.how())
		t.code = f.Code
	default:
		return false
	}
	t.end(syscall.SIGTERM)
	return true
}

// miss ends the members: those of another node were killed without a report.
func (t *team) miss(p Peer) {
	fmt.Fprintf(t.Stderr, "sluice ranks: node %s: what ran on node %s was killed: ending the rest\n", t.node.Name, p.Name)
	f := t.node.failed(p.First, 128+int(syscall.SIGKILL))
	f.Node, f.Signal = p.Name, "KILL"
	t.code = f.Code
	t.reportFailure(f)
	t.end(syscall.SIGTERM)
}

// abandoned: slurmstepd of this step or the runner has ended. Nothing would stop these
// processes any more, and the job may run again elsewhere.
func (t *team) abandoned() {
	fmt.Fprintf(t.Stderr, "sluice ranks: node %s: the runner or slurmstepd of this step has ended: ending the training\n", t.node.Name)
	if t.code == 0 {
		t.reportFailure(t.node.failed(t.world.First, orphanCode))
	}
	t.orphaned, t.lost, t.code = nil, true, max(t.code, orphanCode)
	t.end(syscall.SIGTERM)
}

// orphanCode is the exit code of a training whose end no process reads.
const orphanCode = 143

// clear ends what members left running and waits, at most for a grace period each, until
// this node's GPUs are no longer held.
func (t *team) clear() {
	for _, p := range t.family.KillAll(t.Grace) {
		fmt.Fprintf(t.Stderr, "sluice ranks: node %s: process %s cannot be ended\n", t.node.Name, p)
	}
	job := "SLURM_JOB_ID=" + t.vars["SLURM_JOB_ID"]
	for _, h := range process.Released(GPUFiles(t.vars), t.Grace, func(pid int) bool { return process.StartedWith(pid, job) }) {
		fmt.Fprintf(t.Stderr, "sluice ranks: node %s: GPU %s is still held by process %s\n", t.node.Name, h.File, h.Process)
	}
}

// keeper returns a channel that closes when no process is left to end this step: the
// runner, by its PID in the environment, or the daemon of the step.
func keeper(vars map[string]string) <-chan struct{} {
	runner, err := strconv.Atoi(vars["SLUICE_RUNNER"])
	return supervise.Abandoned(func(pid int) bool { return err == nil && pid == runner && !underSrun(vars) })
}

// toldPatience is how long members may outlive the first when an outside signal ends
// them: one of them may be saving, and Slurm waits 30 s.
const toldPatience = 20 * time.Second

func (t *team) patience() time.Duration {
	switch {
	case t.gang.parting:
		return partings * t.Grace
	case t.terminated:
		return max(t.Grace, toldPatience)
	}
	return t.Grace
}

// stopWindow is how long, after a member was ended by a signal, this process waits for
// its own. Slurm signals all processes of a step, one after the other.
const stopWindow = time.Second

// awaitOwnSignal waits up to stopWindow for the signal that ended the member, if it may have
// been sent to the whole step: then the member's end is no failure, and the others get their
// time to save.
func (t *team) awaitOwnSignal(m *member) {
	if t.code != 0 || t.gang.parting || !ending(syscall.Signal(m.Exit().Code-128)) {
		return
	}
	over := time.After(stopWindow)
	for !t.terminated {
		select {
		case s := <-t.signals:
			t.signalled(s.(syscall.Signal))
		case <-over:
			return
		}
	}
}

// failed records a member's end and reports whether it is the first failure, after which
// the rest must end.
func (t *team) failed(m *member) bool {
	exit := m.Exit()
	if exit.Code == 0 || t.code != 0 || t.mayFail(m) {
		return false
	}
	t.code = exit.Code
	if t.terminated {
		return true
	}
	f := t.failure(m, exit.Code)
	f.Signal = exit.Signal
	if kills, known := process.OOMKills(process.Cgroups); known && exit.Signal == "KILL" {
		f.Memory = kills > t.kills
	}
	fmt.Fprintf(t.Stderr, "sluice ranks: node %s: %s failed (%s)\n", f.Node, t.named(m), f.how())
	t.reportFailure(f)
	t.end(syscall.SIGTERM)
	return true
}

// failure is the failure of one member.
func (t *team) failure(m *member, code int) Failure {
	if m.kind == "" {
		return t.node.failed(m.id, code)
	}
	f := t.node.failed(t.world.First, code)
	f.Task, f.ID = m.kind, m.id
	return f
}

// named is a member's name in messages; torchrun itself reports which rank failed.
func (t *team) named(m *member) string {
	switch {
	case t.Torchrun:
		return "torchrun"
	case m.kind != "":
		return fmt.Sprintf("%s %d of %d", m.kind, m.id, t.world.tasks(m.kind))
	}
	return fmt.Sprintf("rank %d of %d", m.id, t.world.Size)
}

func (t *team) reportFailure(f Failure) {
	if err := t.node.writeFailure(f); err != nil {
		fmt.Fprintln(t.Stderr, "sluice ranks: telling the other nodes:", err)
	}
}

// end passes a signal to every member's process group.
func (t *team) end(s syscall.Signal) {
	for _, m := range t.members {
		m.Signal(s)
	}
}

// signalled passes signals on: signals that end the job to all, others to the processes
// that handle them.
func (t *team) signalled(s syscall.Signal) {
	switch {
	case s == syscall.SIGPIPE:
	case ending(s):
		t.terminated = true
		t.end(s)
	default:
		t.family.Tell(s)
	}
}
