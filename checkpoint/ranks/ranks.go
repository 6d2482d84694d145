package ranks

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// Config is one call of sluice ranks on one node.
type Config struct {
	Argv    []string // the training program and its arguments
	Env     []string
	PerNode int // processes on this node; 0 = one for each GPU
	// Torchrun starts one torchrun on this node, which starts the processes.
	Torchrun bool
	Host     string // this machine's name
	Gauge    string // path of the program that looks at the node's GPUs; "" = none

	Stdin, Stdout, Stderr *os.File // rank 0 of the node reads Stdin; output is passed on untouched

	// Wait bounds the wait for the other nodes; Poll is how often to look for
	// them, and for their failures; Grace is how long the other processes may
	// take to end when one has failed.
	Wait, Poll, Grace time.Duration
}

// withDefaults fills in the times that are not set.
func (c Config) withDefaults() Config {
	set := func(d *time.Duration, usual time.Duration) {
		if *d <= 0 {
			*d = usual
		}
	}
	set(&c.Wait, 2*time.Minute)
	set(&c.Poll, 100*time.Millisecond)
	set(&c.Grace, 2*time.Second)
	return c
}

// Run starts the processes of this node and waits for all of them. It returns 0
// when all exit 0, else the exit code of the first that failed, here or on
// another node, after ending the rest; 2 when they could not be started. The
// calling process must have no other children.
func Run(c Config) int {
	c = c.withDefaults()
	family, err := process.Found()
	if err != nil {
		fmt.Fprintln(c.Stderr, "sluice ranks: error:", err)
		return 2
	}
	defer family.Close()
	t := &team{Config: c, family: family, ended: make(chan end), party: newParty(1)}
	defer func() { t.party.part() }()
	if err := t.gather(); err != nil {
		fmt.Fprintln(c.Stderr, "sluice ranks: error:", err)
		if !t.told {
			t.tell(t.node.failed(t.world.First, startCode))
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

// over tells the runner that this node has ended.
func (t *team) over() {
	if err := t.node.tellOver(); err != nil {
		fmt.Fprintln(t.Stderr, "sluice ranks: telling that this node has ended:", err)
	}
}

// team is the processes of one node.
type team struct {
	Config
	family  *process.Family
	node    Node
	world   World
	members []*process.Child
	ended   chan end
	left    int  // members still running
	told    bool // somebody outside ends them: their ends are no failures
	lost    bool // nobody will tell Slurm of this node's end
	code    int
	signals chan os.Signal
	kills   int // for memory, before this step
	party   *party

	orphaned <-chan struct{} // closes when nobody is left to end this step
}

// end is one process's end.
type end struct {
	local int
	exit  process.Exit
}

// gather meets the other nodes and starts this one's processes.
func (t *team) gather() error {
	vars := table(t.Env)
	var err error
	if t.node, err = Look(vars, t.Host, t.PerNode); err != nil {
		return err
	}
	t.orphaned = keeper(vars)
	t.kills, _ = process.OOMKills(process.Cgroups) // unknown: none is noticed later
	t.signals = make(chan os.Signal, 16)
	signal.Notify(t.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGALRM)
	if err := t.meet(); err != nil {
		return err
	}
	if t.node.ID > 0 && t.world.Line > 0 {
		go t.party.join(t.node, t.world) // ends when either does
	}
	if err := t.startAll(vars); err != nil {
		return err
	}
	t.gauge()
	return nil
}

func (t *team) startAll(vars map[string]string) error {
	if t.Torchrun {
		return t.startTorchrun(vars)
	}
	for local := range t.node.Local {
		env := overlay(t.Env, t.node.variables(t.world, local, vars))
		if err := t.start(local, t.Argv, env); err != nil {
			return err
		}
	}
	return nil
}

// start starts one member; when it cannot, none is left.
func (t *team) start(local int, argv, env []string) error {
	command := process.Command{Argv: argv, Env: env, Stdout: t.Stdout, Stderr: t.Stderr}
	if local == 0 {
		command.Stdin = t.Stdin
	}
	member, err := t.family.Start(command)
	if err != nil {
		t.family.KillAll(t.Grace)
		t.tell(t.node.failed(t.world.First+local, startCode))
		return err
	}
	t.members = append(t.members, member)
	t.left++
	go func() { // ends with the member
		<-member.Done()
		t.ended <- end{local, member.Exit()}
	}()
	return nil
}

// meet waits for the other nodes; a signal to end ends the wait.
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
				t.told = true
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

// work waits until all members have ended.
func (t *team) work() int {
	// Other nodes' failures are looked for at leisure: each look is a question
	// to the shared file system.
	elsewhere := time.NewTicker(10 * t.Poll)
	defer elsewhere.Stop()
	var kill, missed <-chan time.Time
	gone := -1
	for t.left > 0 {
		select {
		case e := <-t.ended:
			t.left--
			t.overhear(e)
			if t.failed(e) {
				kill = time.After(t.patience())
			}
		case s := <-t.signals:
			t.signalled(s.(syscall.Signal))
		case <-elsewhere.C:
			if t.code == 0 && t.listen() {
				kill = time.After(t.Grace)
			}
		case id := <-t.party.gone:
			if gone < 0 { // whoever ends all nodes ends this one next
				gone, missed = id, time.After(t.Grace)
			}
		case <-missed:
			if t.code == 0 && !t.told && !t.listen() {
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

// listen hears what others told and reports whether the members are to end for it.
func (t *team) listen() bool {
	heard := t.node.hear()
	f := heard.failure
	switch {
	case heard.past:
		fmt.Fprintf(t.Stderr, "sluice ranks: node %s: the script was started again: ending what is left of this step\n", t.node.Name)
		t.code = orphanCode
	case heard.told:
		fmt.Fprintf(t.Stderr, "sluice ranks: node %s: rank %d failed on node %s (%s): ending the rest\n", t.node.Name, f.Rank, f.Node, f.how())
		t.code = f.Code
	default:
		return false
	}
	t.end(syscall.SIGTERM)
	return true
}

// miss ends the members: those of another node are gone, without a word.
func (t *team) miss(p Peer) {
	fmt.Fprintf(t.Stderr, "sluice ranks: node %s: what ran on node %s was killed: ending the rest\n", t.node.Name, p.Name)
	f := t.node.failed(p.First, 128+int(syscall.SIGKILL))
	f.Node, f.Signal = p.Name, "KILL"
	t.code = f.Code
	t.tell(f)
	t.end(syscall.SIGTERM)
}

// abandoned: whoever ends the job has lost this step, or the runner is gone. Nobody
// would stop these processes, and the job may be running again elsewhere.
func (t *team) abandoned() {
	fmt.Fprintf(t.Stderr, "sluice ranks: node %s: what started this step is gone: ending the training\n", t.node.Name)
	if t.code == 0 {
		t.tell(t.node.failed(t.world.First, orphanCode))
	}
	t.orphaned, t.lost, t.code = nil, true, max(t.code, orphanCode)
	t.end(syscall.SIGTERM)
}

// orphanCode is the exit code of a training that nobody is there to hear of.
const orphanCode = 143

// clear ends what members left behind and waits, at most for a grace period
// each, until this node's GPUs are let go.
func (t *team) clear() {
	for _, p := range t.family.KillAll(t.Grace) {
		fmt.Fprintf(t.Stderr, "sluice ranks: node %s: process %s cannot be ended\n", t.node.Name, p)
	}
	vars := table(t.Env)
	job := "SLURM_JOB_ID=" + vars["SLURM_JOB_ID"]
	for _, h := range process.Released(GPUFiles(vars), t.Grace, func(pid int) bool { return process.StartedWith(pid, job) }) {
		fmt.Fprintf(t.Stderr, "sluice ranks: node %s: GPU %s is still held by process %s\n", t.node.Name, h.File, h.Process)
	}
}

// keeper returns a channel that closes when nobody is left to end this step: the
// runner, by its number in the environment, or the daemon of the step.
func keeper(vars map[string]string) <-chan struct{} {
	runner, err := strconv.Atoi(vars["SLUICE_RUNNER"])
	return process.Orphaned(func(pid int, name string) bool {
		return err == nil && pid == runner && !underSrun(vars) || name == "slurmstepd"
	})
}

// toldPatience is how long members may outlive the first when somebody outside
// ends them: one of them may be saving, and Slurm's own patience is 30 s.
const toldPatience = 20 * time.Second

func (t *team) patience() time.Duration {
	if t.told {
		return max(t.Grace, toldPatience)
	}
	return t.Grace
}

// stopWindow is how long after a member's end by a signal this process's own is waited
// for. Slurm signals all processes of a step, one after the other.
const stopWindow = time.Second

// overhear takes in the signal that ended a member, when somebody outside sent it to all:
// then its end is no failure, and the others have their time to save.
func (t *team) overhear(e end) {
	if t.code != 0 || !ending(syscall.Signal(e.exit.Code-128)) {
		return
	}
	over := time.After(stopWindow)
	for !t.told {
		select {
		case s := <-t.signals:
			t.signalled(s.(syscall.Signal))
		case <-over:
			return
		}
	}
}

// failed notes a member's end and reports whether it is the first failure, upon
// which the rest is told to end.
func (t *team) failed(e end) bool {
	if e.exit.Code == 0 || t.code != 0 {
		return false
	}
	t.code = e.exit.Code
	if t.told {
		return true
	}
	f := t.node.failed(t.world.First+e.local, e.exit.Code)
	f.Signal = e.exit.Signal
	if kills, known := process.OOMKills(process.Cgroups); known && e.exit.Signal == "KILL" {
		f.Memory = kills > t.kills
	}
	fmt.Fprintf(t.Stderr, "sluice ranks: node %s: %s failed (%s)\n", f.Node, t.named(f.Rank), f.how())
	t.tell(f)
	t.end(syscall.SIGTERM)
	return true
}

// named is what a member is called in messages; torchrun says itself which rank
// failed.
func (t *team) named(rank int) string {
	if t.Torchrun {
		return "torchrun"
	}
	return fmt.Sprintf("rank %d of %d", rank, t.world.Size)
}

func (t *team) tell(f Failure) {
	if err := t.node.tellFailure(f); err != nil {
		fmt.Fprintln(t.Stderr, "sluice ranks: telling the other nodes:", err)
	}
}

// end passes a signal to every member's group.
func (t *team) end(s syscall.Signal) {
	for _, m := range t.members {
		m.Signal(s)
	}
}

// signalled passes signals on: those that end to all, the others to those that
// listen for them.
func (t *team) signalled(s syscall.Signal) {
	switch {
	case s == syscall.SIGPIPE:
	case ending(s):
		t.told = true
		t.end(s)
	default:
		t.family.Tell(s)
	}
}
