package ranks

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// gang is a node's state of the end of a gang. The tasks beside the workers serve them:
// they are ended when the workers of all nodes have ended.
type gang struct {
	ports   *held  // held until the tasks start
	file    string // named by SLUICE_GANG; "" = none
	said    bool   // the other nodes can see that the workers here have ended
	tries   int    // failed attempts to report it
	ended   int    // nodes, counted from 0, whose workers have ended
	parting bool   // those of all nodes have ended
}

const (
	// partings is the number of grace periods in which the tasks beside the workers must
	// end.
	partings = 3
	// maxTries bounds the attempts to report to the others, one per poll.
	maxTries = 120
)

// enlist determines this node's part of a gang.
func (t *team) enlist() {
	if len(t.And) > 0 {
		seed := t.node.JobDir + t.node.Meeting + t.node.Name + strconv.Itoa(os.Getpid())
		t.node.Gang, t.gang.ports = t.node.enlist(t.Argv, t.And, seed)
	}
}

// startBeside starts this node's tasks of all kinds but the workers.
func (t *team) startBeside() (err error) {
	if len(t.world.Gang) == 0 {
		return nil
	}
	if t.gang.file, err = t.node.writeGang(t.world.Gang); err != nil {
		return fmt.Errorf("writing down who is who: %w", err)
	}
	for i, k := range t.And {
		g := t.world.Gang[i+1]
		for local := range g.Local {
			env := t.node.beside(t.world, g, local, t.gang.file, t.Env)
			if err := t.start(member{kind: g.Kind, id: g.First + local}, process.Command{Argv: k.Argv, Env: env}); err != nil {
				return err
			}
		}
	}
	return nil
}

// asTask is the variables that describe a worker of a gang to itself.
func (t *team) asTask(local int) []string {
	if len(t.world.Gang) == 0 {
		return nil
	}
	return t.world.Gang[0].task(local, t.gang.file)
}

// tasks is the number of tasks of a kind.
func (w World) tasks(kind string) int {
	for _, g := range w.Gang {
		if g.Kind == kind {
			return len(g.Tasks)
		}
	}
	return 0
}

// mayFail reports whether a member's end is no failure whatever its exit code: a task
// beside the workers that was told to end.
func (t *team) mayFail(m *member) bool {
	return m.kind != "" && (t.terminated || t.gang.parting)
}

// workersEnded reports whether this node's workers have ended, by exiting 0 or because an
// outside signal ended them.
func (t *team) workersEnded() bool {
	if len(t.world.Gang) == 0 || t.code != 0 && !t.terminated {
		return false
	}
	for _, m := range t.members {
		if m.kind != "" {
			continue
		}
		select {
		case <-m.Done():
			if m.Exit().Code != 0 && !t.terminated {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// part ends the tasks beside the workers once the workers of all nodes have ended, and
// reports whether it has just begun to.
func (t *team) part() bool {
	if t.gang.parting || !t.workersEnded() {
		return false
	}
	if !t.sayEnded() {
		return t.giveUp()
	}
	if t.gang.ended = t.node.endedFrom(t.gang.ended); t.gang.ended < t.node.Nodes {
		return false
	}
	t.gang.parting = true
	for _, m := range t.members {
		if m.kind != "" {
			m.Signal(syscall.SIGTERM)
		}
	}
	return t.left > 0
}

// mute reports whether the other nodes do not know yet that this node's workers have
// ended: their tasks would wait indefinitely.
func (t *team) mute() bool {
	return t.workersEnded() && !t.gang.said && t.gang.tries < maxTries
}

// sayEnded reports to the other nodes that this one's workers have ended.
func (t *team) sayEnded() bool {
	if t.gang.said || t.gang.tries >= maxTries {
		return t.gang.said
	}
	err := t.node.reportEnded()
	t.gang.said = err == nil
	if t.gang.tries++; t.gang.tries == 1 && err != nil {
		fmt.Fprintln(t.Stderr, "sluice ranks: telling the other nodes that the workers here have ended:", err)
	}
	return t.gang.said
}

// giveUp fails the node if it could not report to the others for too long, and reports
// whether it has just done so. A full disk may get space again before that.
func (t *team) giveUp() bool {
	if t.gang.tries != maxTries {
		return false
	}
	t.gang.tries++
	t.code = max(t.code, startCode)
	t.reportFailure(t.node.failed(t.world.First, t.code))
	t.end(syscall.SIGTERM)
	return true
}

// endedFile is the note of a node whose workers have ended.
func endedFile(id int) string { return strconv.Itoa(id) + ".ended" }

func (n Node) reportEnded() error {
	if n.Meeting == "" {
		return nil
	}
	return n.leave(endedFile(n.ID), struct{}{})
}

// endedFrom returns the first node, from a number on, whose workers have not ended; the
// number of nodes if all have.
func (n Node) endedFrom(id int) int {
	if n.Meeting == "" {
		return n.Nodes
	}
	dir, err := n.meeting()
	if err != nil {
		return id
	}
	defer dir.Close()
	for id < n.Nodes && isThere(dir, endedFile(id)) {
		id++
	}
	return id
}

func isThere(dir *checkpoint.Dir, name string) bool {
	_, err := dir.Lstat(name)
	return err == nil
}

// forgetGang removes the file that SLUICE_GANG names.
func (t *team) forgetGang() {
	if t.gang.file != "" {
		os.Remove(t.gang.file) // it is removed with the job's folder
	}
}
