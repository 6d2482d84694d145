package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/attempts"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
	"github.com/sluice-hpc/sluice/checkpoint/step"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
	"github.com/sluice-hpc/sluice/checkpoint/tunnel"
)

// The parts of a confined job on several nodes that sluice starts by itself: on another node, outside of its fence
// and inside; and the process that makes a network device.
const (
	nodeVerb   = "fence-node"
	deviceVerb = "fence-device"
	serveVerb  = "fence-serve"
	taskVerb   = "fence-task"
	keyedVerb  = "fence-task-keyed"
)

// Part runs such a part, or srun inside of a fence, and returns its exit code; is is false if the command line,
// which begins with the program's name, is neither.
func Part(argv []string, now func() time.Time) (code int, is bool) {
	args := argv[1:]
	var err error
	switch {
	case filepath.Base(argv[0]) == "srun":
		return step.Inside(args, now), true
	case len(args) > 0 && args[0] == confine.GuardVerb && os.Getenv(confine.Marker) != "": // before a fence's command
		fmt.Fprintln(os.Stderr, "sluice: error:", attempts.Guard(args[1:], os.Environ()))
		return 127, true
	case len(args) == 5 && args[0] == nodeVerb:
		err = onOtherNode(shown{fence: args[1], script: args[2], token: args[3], python: args[4]}, os.Stdin, now)
	case len(args) == 2 && args[0] == deviceVerb:
		var node int
		if node, err = strconv.Atoi(args[1]); err == nil {
			err = tunnel.MakeDevice(node, os.NewFile(5, "runner"))
		}
	case len(args) == 2 && args[0] == serveVerb:
		err = serveOwn(args[1])
	case len(args) == 3 && args[0] == serveVerb:
		err = serveSite(args[1], args[2])
	case len(args) == 1 && args[0] == taskVerb:
		return step.Task(os.NewFile(3, "step"), nil, os.Environ()), true
	case len(args) == 1 && args[0] == keyedVerb:
		return step.Task(os.NewFile(3, "step"), os.NewFile(4, "key"), os.Environ()), true
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sluice: error:", err)
		return 1, true
	}
	return 0, true
}

// shown is what decides about the fence on another node, from the command line: a path, but what the fence shows is in
// the file.
type shown struct{ fence, script, token, python string }

// part is what runs on another node than the first, outside of the fence there.
type part struct {
	orders
	shown
	builder
	*supervise.Session
	self int
	port int // on which the server of tasks listens on the network of the site; 0 = it does not
	mesh *tunnel.Mesh
}

// onOtherNode joins the network, builds this node's fence, and serves both until the first node's runner ends them.
func onOtherNode(what shown, from io.Reader, now func() time.Time) error {
	s, err := supervise.Begin(os.Environ())
	if err != nil {
		return err
	}
	defer s.Close()
	p := &part{Session: s, shown: what}
	data, err := io.ReadAll(io.LimitReader(from, maxOrders))
	if err == nil {
		err = json.Unmarshal(data, &p.orders)
	}
	if err != nil || len(p.Key) != len(tunnel.Key{}) {
		return fmt.Errorf("no orders came from the first node: %w", errors.Join(errConfined, err))
	}
	switch p.self = slices.Index(p.orders.Nodes, s.Vars["SLURMD_NODENAME"]); p.self {
	case 0:
		return nil // the runner itself is here
	case -1:
		return fmt.Errorf("%w: node %q is none of those that the first node names", errConfined, s.Vars["SLURMD_NODENAME"])
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinWithin)
	defer cancel()
	if p.mesh, err = tunnel.Join(ctx, p.First, tunnel.Key(p.Key), p.self, len(p.orders.Nodes)); err != nil {
		return err
	}
	defer p.mesh.Close()
	defer s.Family.KillAll(leave)
	e, device, err := p.build(now)
	if err != nil {
		return errors.Join(err, p.mesh.Unready(err.Error()))
	}
	defer p.tally.settle(leave) // AFTER all else: what ends until then is counted
	defer e.release.Close()     // AFTER the fence has ended
	defer s.Family.KillAll(leave)
	if device != nil {
		defer device.Close()
	}
	if err := p.mesh.Ready(p.port); err != nil {
		return err
	}
	if _, err := e.release.Write([]byte{1}); err != nil {
		return err
	}
	return p.serve(e, device)
}

// leave is how long processes that were killed may take to end.
const leave = 3 * time.Second

// build builds this node's fence, with the server of tasks as its command, which waits.
func (p *part) build(now func() time.Time) (*enclosure, *os.File, error) {
	f, err := confine.Read(p.shown.fence)
	if err != nil {
		return nil, nil, err
	}
	p.Fence = f
	if err := errors.Join(p.mayHave(len(p.orders.Nodes)), p.prepare(p.Vars["SLURMD_NODENAME"], now)); err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	delete(p.Vars, "SLUICE_GPU_FILES")
	start := confine.Start{Fence: f, Token: p.token, Script: p.script, Sluice: self, Python: p.python, Env: confine.Environment(f, os.Environ()),
		GPUs: ranks.GPUFiles(p.Vars), Nodes: p.orders.Nodes, Node: p.self}
	if f.Network == confine.OfSite {
		e, err := p.onSite(start)
		return e, nil, err
	}
	// Nothing that the program prints here is printed outside.
	e, err := p.enclose(p.Family, start, []string{confine.Sluice, serveVerb, confine.ServerOf(p.self)}, nil)
	if err != nil {
		return nil, nil, err
	}
	device, err := makeDevice(p.Family, e, p.self)
	if err != nil {
		if impossible := confine.Possible(context.Background()); impossible != nil {
			err = impossible
		}
		return nil, nil, err
	}
	return e, device, nil
}

// serve carries packets until the network or the fence ends. Signals of Slurm's are for the first node to pass on.
func (p *part) serve(e *enclosure, device *os.File) error {
	ended := make(chan error, 1)
	go func() { ended <- carry(p.mesh, device) }() // ends with the mesh
	lost := supervise.Abandoned(nil)
	for {
		select {
		case err := <-ended:
			var gone *tunnel.Lost
			if errors.As(err, &gone) { // the first node's runner ended it, or knows
				return nil
			}
			return err
		case <-e.child.Done():
			return fmt.Errorf("node %s: the fence has ended", p.orders.Nodes[p.self])
		case <-lost:
			return nil
		case <-p.Signals:
		}
	}
}
