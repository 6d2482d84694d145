package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/step"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
	"github.com/sluice-hpc/sluice/checkpoint/tunnel"
)

// joinWithin is how long the other nodes may take to build their fences.
const joinWithin = 2 * time.Minute

// orders are what the runner tells the other nodes of a start over srun's standard input, since others can read command
// lines and variables. Slurm does not protect that stream against changes, as it does the command line: what the fence
// shows MUST NOT depend on it.
type orders struct {
	Key   []byte   `json:"key"`
	First string   `json:"first"`           // address of the first node's relay
	Nodes []string `json:"nodes"`           // in Slurm's order
	Tasks []byte   `json:"tasks,omitempty"` // key of the servers of tasks, on the network of the site
}

// maxOrders bounds them, in bytes: names of confine.MaxNodes nodes.
const maxOrders = 1 << 20

// network is what the fences of one start on several nodes share. Each start has its own: fences, key, connections.
type network struct {
	nodes  []string
	inner  string     // the program's job folder
	run    *enclosure // the fence of this node
	srun   *process.Child
	family *process.Family
	cancel context.CancelFunc
	served chan struct{} // closed when no packet is carried any more
	tasks  *tunnel.Key   // of the servers of tasks on the network of the site; nil = the fences have a network of their own

	mu   sync.Mutex
	mesh *tunnel.Mesh
	up   bool  // the program was allowed to start
	over bool  // its end is wanted
	why  error // why it ended, if that was not wanted
}

// connect gives a fence its network, for which the fence waits, and then lets its program start. It returns at once.
// When there can be no network, or the network ends, the program is killed.
func (r *run) connect(e *enclosure, script string) *network {
	ctx, cancel := context.WithCancel(context.Background())
	n := &network{nodes: r.where.hosts, inner: r.fence.Inner, run: e, family: r.family, cancel: cancel, served: make(chan struct{})}
	if r.fence.Network == confine.OfSite {
		key := tunnel.NewKey()
		n.tasks = &key
	}
	listener, err := net.Listen("tcp", ":0")
	key := tunnel.NewKey()
	var said *lines
	if err == nil {
		n.srun, said, err = r.startOthers(key, n.tasks, net.JoinHostPort(r.from.master, strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)), script)
	}
	if err != nil && listener != nil {
		listener.Close()
	}
	go func() { // ends with the program
		defer e.release.Close() // AFTER the fence has ended: it would start the program
		if err == nil {
			err = n.serve(ctx, listener, key, said)
		}
		n.mu.Lock()
		if n.over {
			err = nil
		}
		up, mesh := n.up, n.mesh
		n.why = err
		n.mu.Unlock()
		if mesh != nil {
			if out, in := mesh.Dropped(); out+in > 0 { // how many is the program's choice, and not said
				r.say("packets that were not from one of the job's nodes to another one were dropped")
			}
		}
		if err != nil && up {
			r.say("%v: the program is ended on all nodes", own(n.name(err)))
		}
		close(n.served)
		if err != nil {
			_ = e.child.Signal(syscall.SIGKILL) // it may have ended
		}
		<-e.child.Done()
	}()
	return n
}

// serve makes the network and carries its packets until it ends.
func (n *network) serve(ctx context.Context, l net.Listener, key tunnel.Key, said *lines) error {
	short, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	go func() { // ends with srun, which ends with the other nodes
		<-n.srun.Done()
		cancel()
	}()
	mesh, err := tunnel.Lead(short, l, key, len(n.nodes))
	if err != nil {
		return n.unstarted(err, said)
	}
	defer mesh.Close()
	n.mu.Lock()
	n.mesh = mesh
	n.mu.Unlock()
	var device *os.File
	if n.tasks == nil {
		if device, err = makeDevice(n.family, n.run, 0); err != nil {
			return err
		}
		defer device.Close()
	}
	servers, err := mesh.Await(short)
	if err != nil {
		return n.unstarted(err, said)
	}
	if err := n.writeBook(servers); err != nil {
		return err
	}
	n.mu.Lock()
	n.up = !n.over
	n.mu.Unlock()
	if !n.up {
		return nil
	}
	if _, err := n.run.release.Write([]byte{1}); err != nil {
		return err
	}
	return carry(mesh, device)
}

// carry carries the packets of a fence's network until that ends; without a device there are none, and it is waited for.
func carry(mesh *tunnel.Mesh, device *os.File) error {
	if device == nil {
		return mesh.Hold()
	}
	return mesh.Carry(device)
}

// writeBook tells the program's srun where the servers of tasks listen on the network of the site.
func (n *network) writeBook(servers []string) error {
	if n.tasks == nil {
		return nil
	}
	data, err := step.Book{Servers: servers, Key: *n.tasks}.Data()
	if err != nil {
		return err
	}
	if err := checkpoint.WriteIn(n.inner, step.BookFile, data, 0o600); err != nil {
		return fmt.Errorf("the program's folder cannot be written: %w", err)
	}
	return nil
}

// unstarted is why the other nodes did not come: what one of them says, or what srun said.
func (n *network) unstarted(err error, said *lines) error {
	var unready *tunnel.Unready
	if errors.As(err, &unready) {
		return err
	}
	select {
	case <-n.srun.Done():
		return fmt.Errorf("the job's other nodes could not be started: %s", said.words())
	default:
		return err
	}
}

// name is an error with the name of the node that it is about.
func (n *network) name(err error) string {
	var lost *tunnel.Lost
	var unready *tunnel.Unready
	switch {
	case errors.As(err, &lost):
		return fmt.Sprintf("node %s has left the job's network", n.nodes[lost.Node])
	case errors.As(err, &unready):
		return fmt.Sprintf("node %s: %s", n.nodes[unready.Node], unready.Why)
	}
	return err.Error()
}

// ends says that the end of the program is wanted, and so that of the network.
func (n *network) ends() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
}

// end ends the other nodes' part, and waits for it, at most for patience: only then are their GPUs free.
func (n *network) end(patience time.Duration) {
	if n == nil {
		return
	}
	n.ends()
	n.cancel()
	n.mu.Lock()
	if n.mesh != nil {
		n.mesh.Close()
	}
	n.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-n.served:
	case <-late.C:
		return
	}
	if n.srun != nil {
		select {
		case <-n.srun.Done():
		case <-late.C:
		}
	}
}

// failed returns why the program was not started, if the network was the reason.
func (n *network) failed() error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.why == nil || n.up {
		return nil
	}
	return fmt.Errorf("the job's nodes could not be connected, and its program was not started: %s", n.name(n.why))
}

// startOthers starts the parts on the other nodes, outside of their fences.
func (r *run) startOthers(key tunnel.Key, tasks *tunnel.Key, first, script string) (*process.Child, *lines, error) {
	fence, err := filepath.Abs(r.fence.File)
	if err != nil {
		return nil, nil, err
	}
	o := orders{Key: key[:], First: first, Nodes: r.where.hosts}
	if tasks != nil {
		o.Tasks = tasks[:]
	}
	data, err := json.Marshal(o)
	if err != nil {
		return nil, nil, err
	}
	stdin, err := confine.Memory("orders", data)
	if err != nil {
		return nil, nil, err
	}
	defer stdin.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer write.Close()
	said := &lines{read: make(chan struct{})}
	go said.collect(read) // ends with srun
	// On all nodes: without the first Slurm refuses a step of a job whose nodes differ in their GPUs. The task there
	// ends at once, which MUST NOT end the others (--wait).
	all := strconv.Itoa(len(r.where.hosts))
	child, err := r.family.Start(process.Command{Env: fresh(r.Env), Stdin: stdin, Stderr: write, Argv: []string{"srun", "--overlap", "--nodes=" + all, "--ntasks=" + all,
		"--ntasks-per-node=1", "--cpu-bind=none", "--kill-on-bad-exit=1", "--wait=0", "--mpi=none", "--quiet", r.Sluice, nodeVerb, fence, script, r.job.id.Token, r.Python}})
	return child, said, err
}

// fresh is the environment from Slurm without what is of the job's first size.
func fresh(env []string) []string {
	vars := supervise.Vars(env)
	var out []string
	for _, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); !outdated(name, vars) {
			out = append(out, entry)
		}
	}
	return out
}

// lines are the beginning of what a program says.
type lines struct {
	read chan struct{} // closed at its end
	said []byte
}

func (l *lines) collect(from *os.File) {
	defer close(l.read)
	defer from.Close()
	l.said, _ = io.ReadAll(io.LimitReader(from, 4096))
	_, _ = io.Copy(io.Discard, from)
}

// words are the lines as one. It waits a second for the program's end.
func (l *lines) words() string {
	select {
	case <-l.read:
	case <-time.After(time.Second):
		return "no reason was given within a second"
	}
	said := strings.Split(strings.TrimSpace(string(l.said)), "\n")
	if said[0] == "" {
		return "no reason was given"
	}
	return clipped(strings.Join(said, "; "), 1000)
}

// makeDevice makes the network device of a fence from outside.
func makeDevice(family *process.Family, e *enclosure, node int) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), joinWithin/4)
	defer cancel()
	pid, err := e.status.inside(ctx)
	if err != nil {
		return nil, err
	}
	entry, err := tunnel.Enter(pid)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, file := range entry.Files {
			file.Close()
		}
	}()
	own, other, err := tunnel.Couple()
	if err != nil {
		return nil, err
	}
	defer other.Close()
	self, err := os.Executable()
	if err != nil {
		own.Close()
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		own.Close()
		return nil, err
	}
	said := &lines{read: make(chan struct{})}
	go said.collect(read) // ends with the helper
	_, err = family.Start(process.Command{Argv: append(entry.Argv, self, deviceVerb, strconv.Itoa(node)), Env: []string{"PATH=/usr/bin:/bin"}, Stderr: write, More: append(entry.Files, other)})
	write.Close()
	other.Close()
	if err != nil {
		own.Close()
		return nil, err
	}
	late, _ := ctx.Deadline()
	device, err := tunnel.TakeDevice(own, late)
	if err != nil {
		return nil, fmt.Errorf("the fence's network device could not be made: %s", said.words())
	}
	return device, nil
}
