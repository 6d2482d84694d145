package conform

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// elsewhere is the reason of a pending job that names a node of a reservation it is not
// in.
const elsewhere = "ReqNodeNotAvail, May be reserved"

// reservations are the promises about nodes that are reserved for some jobs for a time.
// sluice writes the nodes of each job by name, and MUST leave out those that are reserved
// for others (elastic/engine).
var reservations = []promise{
	{"the end of a reservation ends its jobs and no others", 1, reservationEnds},
	{"a reserved node takes no job that does not name its reservation", 1, func(c *check) {
		r := c.reserve(c.nodes, 0, time.Hour)
		id := c.submit(long, "--gres=gpu:1")
		c.kept(id, elsewhere)
		if n := c.shows(c.nodes[0], "RESERVED"); !n.Is("RESERVED") {
			c.Errorf("the node does not say so: %+v", n)
		}
		c.must(c.Unreserve(c.ctx, r))
		c.runs(id)
	}},
	{"a job in a reservation runs on its nodes alone", 2, func(c *check) {
		r := c.reserve(c.nodes[1:], 0, time.Hour)
		id := c.running(long, 2, "--reservation="+r)
		if d := c.job(id); fmt.Sprint(d.Nodes) != fmt.Sprint(c.nodes[1:]) {
			c.Errorf("runs on %v, reserved is %v", d.Nodes, c.nodes[1:])
		}
		c.must(c.Operator.RequeueHold(c.ctx, id))
		c.pends(id)
		c.write(id, slurm.Update{Nodes: c.nodes[:1], GPUsPerNode: 2, CPUs: 1})
		// The older releases hold it until a possible request is written.
		c.kept(id, "BadConstraints", "Reservation")
		c.must(c.Operator.Hold(c.ctx, id))
		c.write(id, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 3, CPUs: 1})
		c.splitIs(c.runs(id), 3)
	}},
	{"a later reservation keeps jobs away that would run into it", 1, func(c *check) {
		r := c.reserve(c.nodes, 10*time.Minute, time.Hour)
		for _, limit := range []string{"--time=20", "--time=UNLIMITED", "--job-name=without"} {
			id := c.submit(long, "--gres=gpu:1", limit)
			c.kept(id, elsewhere)
			c.gone(id)
		}
		c.running(long, 1, "--time=5")
		inside := c.submit(long, "--gres=gpu:1", "--reservation="+r)
		c.kept(inside, "Reservation")
	}},
	{"a reservation does not affect a running job until it is restarted", 2, func(c *check) {
		id := c.running(long, 1)
		c.reserve(c.nodes[:1], 0, time.Hour)
		c.stays(id, "running", isRunning)
		c.must(c.Operator.RequeueHold(c.ctx, id))
		c.pends(id)
		c.write(id, slurm.Update{Nodes: c.nodes[:1], GPUsPerNode: 1, CPUs: 1})
		c.kept(id, elsewhere)
		c.must(c.Operator.Hold(c.ctx, id))
		c.write(id, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 1, CPUs: 1})
		c.splitIs(c.runs(id), 1)
	}},
	{"Slurm chooses no reserved nodes", all, func(c *check) {
		last := c.nodes[len(c.nodes)-1:]
		c.reserve(c.nodes[:len(c.nodes)-1], 0, time.Hour)
		id := c.submit(long, "--nodes=1", "--gres=gpu:1")
		if d := c.runs(id); fmt.Sprint(d.Nodes) != fmt.Sprint(last) {
			c.Errorf("runs on %v, free is %v", d.Nodes, last)
		}
		c.kept(c.submit(long, "--nodes=1", "--gres=gpu:4"), "Resources")
		c.kept(c.submit(long, "--nodes=2", "--gres=gpu:1"), "Nodes required for job are", "ReqNodeNotAvail")
	}},
	{"reservations are read as they were made", 1, func(c *check) {
		before := c.Now()
		r := c.reserve(c.nodes, 10*time.Minute, time.Hour)
		id := c.submit(long, "--hold", "--gres=gpu:1", "--reservation="+r)
		l := c.limits()
		if l.Reserved[id] != r {
			c.Errorf("job %d is said to be in %q", id, l.Reserved[id])
		}
		at := slices.IndexFunc(l.Reservations, func(got slurm.Reservation) bool { return got.Name == r })
		if at < 0 {
			c.Fatalf("not listed: %+v", l.Reservations)
		}
		got := l.Reservations[at]
		if late := got.Start.Sub(before) - 10*time.Minute; late < -2*time.Second || late > time.Minute || got.End.Sub(got.Start) != time.Hour || fmt.Sprint(got.Nodes) != fmt.Sprint(c.nodes) {
			c.Errorf("%+v", got)
		}
	}},
	{"an unknown reservation is refused", 0, func(c *check) {
		_, _, err := c.Owner.Submit(c.ctx, slurm.Submission{Args: []string{"--reservation=nosuch", "--output=/dev/null"}, Dir: "/tmp", Stdin: []byte(long)})
		c.fails("submit", err, slurm.ErrRefused)
	}},
}

// reservationEnds: a job that runs in a reservation ends with it, though its own time
// limit is not reached.
func reservationEnds(c *check) {
	r := c.reserve(c.nodes[:1], 0, time.Minute)
	in := c.running(long, 1, "--reservation="+r, "--time=30")
	outside := c.submit(long, "--gres=gpu:1", "--time=30")
	c.kept(outside, elsewhere)
	for end := c.Now().Add(time.Minute); c.Now().Before(end); c.Step() {
	}
	c.ends(in, slurm.Timeout)
	c.runs(outside)
	c.made = nil // it is deleted
}

// reserve makes a reservation for the check, deleted at the check's end.
func (c *check) reserve(nodes []string, begins, lasts time.Duration) string {
	c.Helper()
	name := c.name("r")
	c.must(c.Reserve(c.ctx, name, nodes, begins, lasts))
	c.made = append(c.made, func(ctx context.Context) error {
		if !slices.ContainsFunc(c.limits().Reservations, func(r slurm.Reservation) bool { return r.Name == name }) {
			return nil
		}
		return c.Unreserve(ctx, name)
	})
	return name
}

// shows waits until a node has the state, and returns the node.
func (c *check) shows(name, state string) slurm.Node {
	c.Helper()
	end := c.Now().Add(c.Patience)
	for n := c.node(name); ; n = c.node(name) {
		if n.Is(state) || c.Now().After(end) {
			return n
		}
		c.Step()
	}
}
