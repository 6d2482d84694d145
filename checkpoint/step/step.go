package step

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
	"github.com/sluice-hpc/sluice/checkpoint/tunnel"
)

// Config is one step.
type Config struct {
	Argv  []string
	Env   []string
	Nodes []string    // where the servers of the step's nodes listen; the first is this node, which needs none
	Key   *tunnel.Key // of the servers; nil = they ask for none
	Now   time.Time   // numbers the step
	Kill  bool        // the first task that fails ends the others
	// Stdin is the first task's.
	Stdin, Stdout, Stderr *os.File
}

// Run runs a step, and returns the largest exit code of its tasks. The calling process MUST have no other children.
// When a node cannot be reached, or its connection ends, the other tasks are ended.
func Run(c Config) int {
	s, err := supervise.Begin(c.Env)
	if err != nil {
		fmt.Fprintln(c.Stderr, "srun: error:", err)
		return startCode
	}
	defer s.Close()
	t := &tasks{Config: c, Session: s, ended: make(chan end, len(c.Nodes))}
	defer t.close()
	if err := t.start(); err != nil {
		fmt.Fprintln(c.Stderr, "srun: error:", err)
		s.Family.KillAll(grace)
		return startCode
	}
	return t.wait()
}

// end is how a task ended; err says that this is not known.
type end struct {
	node int
	exit process.Exit
	err  error
}

// tasks are those of one step.
type tasks struct {
	Config
	*supervise.Session
	own   *process.Child
	away  []*remote
	ended chan end
}

// start starts all tasks, those of other nodes first: when one cannot be reached nothing has begun here.
func (t *tasks) start() (err error) {
	env := shared(t.Env, len(t.Nodes), stepID(t.Now))
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for node := 1; node < len(t.Nodes); node++ {
		r, err := ask(t.Nodes[node], t.Key, start{Argv: t.Argv, Env: env, Dir: dir, Node: node})
		if r != nil {
			t.away = append(t.away, r)
		}
		if err != nil {
			return fmt.Errorf("node %d cannot be reached: %w", node, err)
		}
		go func() { // ends with the task, or with the connection
			exit, err := r.follow(t.Stdout, t.Stderr)
			t.ended <- end{node, exit, err}
		}()
	}
	own := t.Env
	if gpus := t.Vars["SLURM_JOB_GPUS"]; gpus != "" {
		own = replace(own, []string{"SLURM_STEP_GPUS=" + gpus})
	}
	t.own, err = t.Family.Start(process.Command{Argv: t.Argv, Env: onNode(env, own, 0), Stdin: t.Stdin, Stdout: t.Stdout, Stderr: t.Stderr})
	if err != nil {
		return err
	}
	go func() { // ends with the task
		<-t.own.Done()
		t.ended <- end{exit: t.own.Exit()}
	}()
	return nil
}

// wait waits for all tasks.
func (t *tasks) wait() (code int) {
	for left := len(t.Nodes); left > 0; {
		select {
		case s := <-t.Signals:
			t.tell(s.(syscall.Signal))
		case e := <-t.ended:
			left--
			code = max(code, e.exit.Code)
			if e.err != nil {
				fmt.Fprintln(t.Stderr, "srun: error:", e.err)
			}
			if e.err != nil || t.Kill && e.exit.Code != 0 {
				t.tell(syscall.SIGKILL)
			}
		}
	}
	t.Family.KillAll(grace)
	return code
}

// tell passes a signal on to all tasks.
func (t *tasks) tell(s syscall.Signal) {
	if s == syscall.SIGPIPE {
		return
	}
	Tell(t.Family, t.own, s)
	for _, r := range t.away {
		_ = r.out.say(order{s}) // its task may have ended
	}
}

// close ends the connections, and with them what is left of the tasks.
func (t *tasks) close() {
	for _, r := range t.away {
		r.conn.Close()
	}
}
