package story

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// crowds: one scenario in so many has a crowd of jobs, since it takes as long as hundreds of others.
const crowds = 4000

// late draws what was added later, from a random source of its own, so that older seeds keep their
// scenario and only get additions; but one in eight has another policy, see dates.
func (d *drawing) late() {
	d.Rand = rand.New(rand.NewPCG(d.Seed, 0x1a7e))
	d.store()
	d.words()
	d.slow()
	d.wear()
	if d.one(crowds) {
		d.crowd()
	}
	d.rules()
	d.dates()
	d.edge()
	d.choosy()
}

// edge draws an edge pool: nodes that some jobs may use too, and what takes them away again.
func (d *drawing) edge() {
	if !d.one(6) {
		return
	}
	d.Edge = 1 + d.IntN(2)
	for i := range d.Jobs {
		d.Jobs[i].Edge = !d.one(4)
	}
	for range d.IntN(5) {
		d.act(Act{At: d.within(horizon), What: atTheEdge, GPUs: 1 + d.IntN(d.GPUs), For: time.Minute + d.within(10*time.Minute)})
	}
	for range d.IntN(4) {
		a := Act{At: d.within(horizon), What: []string{"node is drained", "node is drained", "node fails"}[d.IntN(3)], Node: fmt.Sprintf("gpu%d", d.Nodes+1+d.IntN(d.Edge))}
		d.act(a)
		d.act(Act{Node: a.Node, What: "node returns", At: a.At + time.Second + d.within(10*time.Minute)})
	}
}

// dates draws deadlines, with the policy that considers them.
func (d *drawing) dates() {
	if !d.one(8) {
		return
	}
	d.Policy = "deadline"
	for i := range d.Jobs {
		if d.one(2) {
			d.Jobs[i].Due = time.Minute + d.within(time.Hour)
		}
	}
}

// rules draws temporary settings of administrators: states and limits of the partition, limits of
// accounts and users, reservations.
func (d *drawing) rules() {
	if !d.one(3) {
		return
	}
	for range 1 + d.IntN(3) {
		a := Act{What: ruleIsSet, For: time.Second + d.within([]time.Duration{20 * time.Second, 3 * time.Minute, 20 * time.Minute}[d.IntN(3)]), Way: d.Uint64() >> 1}
		if d.one(4) {
			a.What, a.Node = reserved, d.node()
		}
		if a.At = d.within(horizon); d.one(3) {
			a.At, a.Effect = 0, 1+d.IntN(120)
		}
		d.act(a)
	}
}

// store draws power losses of the daemon's machine, damage to its store, and another program that
// locks it.
func (d *drawing) store() {
	if d.one(8) {
		d.Windows = append(d.Windows, Window{At: d.within(horizon), For: time.Second + d.within(5*time.Minute), Where: "store", How: "EBUSY", Nth: 1 + d.IntN(2)*d.IntN(9)})
	}
	if !d.Disk {
		return
	}
	for range d.IntN(4) {
		d.Kills = append(d.Kills, Kill{Effect: 1 + d.IntN(150), Power: true})
	}
	for d.one(2) {
		a := Act{What: []string{"store is corrupted", "store is corrupted", "store is cut off", "store is half lost", "store is newer"}[d.IntN(5)],
			At: d.within(horizon), For: time.Second + d.within(3*time.Minute), Way: d.Uint64() >> 1}
		if d.one(3) && (a.What == "store is corrupted" || a.What == "store is cut off") && a.Way&1 == 1 {
			a.At, a.Effect = 0, 1+d.IntN(120)
		}
		d.act(a)
	}
}

// words draws malformed input from programs, runners, users and files.
func (d *drawing) words() {
	for i := range d.Jobs {
		for d.one(4) {
			a := Act{What: []string{"progress is scribbled on", "progress is scribbled on", "progress is replaced", "runner is garbled", "runner is garbled",
				"checkpoint is spoiled"}[d.IntN(6)], Job: i, Way: d.Uint64() >> 1}
			if a.At = d.Jobs[i].At + d.within(12*time.Minute); d.one(3) {
				a.At, a.Effect = 0, 1+d.IntN(120)
			}
			d.act(a)
		}
	}
	for d.one(6) {
		d.act(Act{At: d.within(horizon), What: "stranger", Way: d.Uint64() >> 1})
	}
	for d.one(5) {
		a := Act{What: "configuration is reloaded", Way: d.Uint64() >> 1}
		if a.At = d.within(horizon); d.one(2) {
			a.At, a.Effect = 0, 1+d.IntN(120)
		}
		d.act(a)
	}
}

// slow draws files, and a log, that block. An operation that blocks may succeed or fail.
func (d *drawing) slow() {
	for d.one(6) {
		d.Windows = append(d.Windows, Window{
			At: d.within(horizon), For: time.Second + d.within(4*time.Minute), Where: []string{"store", "outbox", "jobs", "log"}[d.IntN(4)],
			How: []string{"", "ETIMEDOUT", "EIO"}[d.IntN(3)], Nth: 1 + d.IntN(2)*d.IntN(20), Hold: time.Second + d.within(90*time.Second),
		})
	}
}

// wear draws nodes that lose power.
func (d *drawing) wear() {
	if d.one(4) {
		a := Act{Node: d.node(), What: "power fails", At: d.within(horizon), Way: d.Uint64() >> 1}
		d.act(a)
		d.act(Act{Node: a.Node, What: "node returns", At: a.At + time.Second + d.within(5*time.Minute)})
	}
}

// crowd makes it a scenario of hundreds to thousands of jobs on a larger cluster.
func (d *drawing) crowd() {
	if d.Nodes, d.GPUs = 16+d.IntN(33), 8; d.Policy == "turns" {
		d.Policy = "knapsack" // with a thousand moves in every cycle it would take hours to play
	}
	some := d.Jobs
	for range 200 * (1 + d.IntN(10)) {
		j := some[d.IntN(len(some))]
		j.At, j.Total, j.Manner = d.within(2*time.Hour), float64(1+d.IntN(4)), ""
		if j.Max = j.Min + d.IntN(16); d.one(20) {
			j.Manner = manners[d.IntN(len(manners))].name
		}
		d.Jobs = append(d.Jobs, j)
	}
}
