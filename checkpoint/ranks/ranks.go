package ranks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// Config is one call of sluice ranks on one node.
type Config struct {
	Argv    []string // the training program and its arguments
	And     []Kind   // kinds of tasks beside it; not with Torchrun
	Env     []string
	PerNode int // processes on this node; 0 = one for each GPU
	// Torchrun starts one torchrun on this node, which starts the processes.
	Torchrun bool
	Host     string // this machine's name
	Gauge    string // path of the program that reads the node's GPUs; "" = none

	Stdin, Stdout, Stderr *os.File // rank 0 of the node reads Stdin; output is passed on unchanged

	// Wait bounds the wait for the other nodes. Poll is how often to check for them and
	// for their failures. Grace is how long the other processes may take to end after one
	// has failed.
	Wait, Poll, Grace time.Duration
}

// withDefaults fills in the times that are not set.
func (c Config) withDefaults() Config {
	supervise.Default(&c.Wait, 2*time.Minute)
	supervise.Default(&c.Poll, 100*time.Millisecond)
	supervise.Default(&c.Grace, 2*time.Second)
	return c
}

// Run starts the processes of this node and waits for all of them. It returns 0 if all
// exit 0, else the exit code of the first that failed, here or on another node, after it
// ended the rest; 2 if they could not be started. Tasks beside the workers are ended once
// the workers of all nodes have exited 0. The calling process MUST have no other
// children.
func Run(c Config) int {
	c = c.withDefaults()
	s, err := supervise.Begin(c.Env)
	if err != nil {
		fmt.Fprintln(c.Stderr, "sluice ranks: error:", err)
		return 2
	}
	defer s.Close()
	t := &team{Config: c, family: s.Family, vars: s.Vars, signals: s.Signals, ended: make(chan *member), party: newParty(1)}
	defer func() { t.party.part() }()
	defer func() { t.forgetGang() }()
	if err := t.gather(); err != nil {
		fmt.Fprintln(c.Stderr, "sluice ranks: error:", err)
		if !t.terminated {
			t.reportFailure(t.unstarted(err))
		}
		t.over()
		return startCode
	}
	code := t.work()
	if code != 0 && !t.lost {
		t.over()
	}
	return code
}

// startCode is the exit code of processes that could not be started.
const startCode = 2

// over reports to the runner that this node has ended.
func (t *team) over() {
	if err := t.node.reportOver(); err != nil {
		fmt.Fprintln(t.Stderr, "sluice ranks: telling that this node has ended:", err)
	}
}

// team is the processes of one node.
type team struct {
	Config
	family     *process.Family
	vars       map[string]string // of Env
	node       Node
	world      World
	members    []*member
	ended      chan *member
	left       int  // members still running
	terminated bool // an outside signal ends them: their ends are no failures
	lost       bool // no process will report this node's end to Slurm
	code       int
	signals    chan os.Signal
	kills      int // killed for memory, before this step
	party      *party
	gang       gang // set for a job with several kinds of tasks

	orphaned <-chan struct{} // closes when no process is left to end this step
}

// member is one process that was started.
type member struct {
	*process.Child
	kind string // kind of a task that is no worker; "" for workers
	id   int    // its rank, or its number in its kind
}

// gather meets the other nodes and starts this one's processes.
func (t *team) gather() error {
	var err error
	if t.node, err = Look(t.vars, t.Host, t.PerNode); err != nil {
		return err
	}
	t.orphaned = keeper(t.vars)
	t.kills, _ = process.OOMKills(process.Cgroups) // unknown: no kill for memory will be noticed
	t.enlist()
	err = t.meet()
	t.gang.ports.release() // released for the tasks that use them
	if err != nil {
		return err
	}
	if t.node.ID > 0 && t.world.Line > 0 {
		go t.party.join(t.node, t.world) // ends when either does
	}
	if err := t.startAll(); err != nil {
		return err
	}
	t.gauge()
	return nil
}

func (t *team) startAll() error {
	if t.Torchrun {
		return t.startTorchrun()
	}
	if err := t.startBeside(); err != nil {
		return err
	}
	for local := range t.node.Local {
		over := append(t.node.variables(t.world, local, t.vars), t.asTask(local)...)
		command := process.Command{Argv: t.Argv, Env: overlay(t.Env, over)}
		if local == 0 {
			command.Stdin = t.Stdin
		}
		if err := t.start(member{id: t.world.First + local}, command); err != nil {
			return err
		}
	}
	return nil
}

// start starts one member; if that fails, none is left running.
func (t *team) start(m member, command process.Command) (err error) {
	command.Stdout, command.Stderr = t.Stdout, t.Stderr
	if m.Child, err = t.family.Start(command); err != nil {
		t.family.KillAll(t.Grace)
		f := t.failure(&m, startCode)
		if len(t.And) > 0 {
			f.Why = clip(err.Error())
		}
		t.reportFailure(f)
		return err
	}
	t.members = append(t.members, &m)
	t.left++
	go func() { // ends with the member
		<-m.Done()
		t.ended <- &m
	}()
	return nil
}

// unstarted is the failure of a node whose processes could not be started.
func (t *team) unstarted(err error) Failure {
	f := t.node.failed(t.world.First, startCode)
	if lacking := (*lackError)(nil); errors.As(err, &lacking) {
		return lacking.failure(f)
	}
	return f
}

// meet waits for the other nodes; a signal that ends the step ends the wait.
func (t *team) meet() error {
	ctx, cancel := context.WithTimeout(context.Background(), t.Wait)
	defer cancel()
	if t.node.Meeting != "" {
		t.party = newParty(t.node.Nodes)
		if t.node.ID == 0 {
			t.node.Line = t.party.host(t.node)
		}
	}
	met := make(chan error, 1)
	go func() { // bounded by ctx
		var err error
		t.world, err = t.node.Meet(ctx, t.Poll)
		met <- err
	}()
	for {
		select {
		case err := <-met:
			return err
		case s := <-t.signals:
			if ending(s.(syscall.Signal)) {
				t.terminated = true
				cancel()
				<-met
				return fmt.Errorf("ended by SIG%s while waiting for the other nodes", process.SignalName(s.(syscall.Signal)))
			}
		}
	}
}

func ending(s syscall.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGQUIT
}
