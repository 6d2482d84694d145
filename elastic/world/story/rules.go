package story

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// rule is one setting of an administrator.
type rule struct {
	name string
	// Each is nil if the rule does not concern it.
	state     string
	partition func(p *slurm.Partition, way uint64)
	limits    func(l *slurm.Limits, way uint64)

	way uint64
}

// Acts of an administrator.
const (
	ruleIsSet = "rule is set"
	reserved  = "node is reserved"
)

// timed is the rule with which Slurm ends jobs that requested no time limit.
const timed = "partition has a MaxTime"

func gpus(n uint64) []slurm.Amount { return []slurm.Amount{{Of: slurm.OfGPUs, N: int(n)}} }

var rules = []rule{
	{name: "partition is down", state: fake.PartitionDown},
	{name: "partition is drained", state: fake.PartitionDrain},
	{name: "partition is inactive", state: fake.PartitionInactive},
	{name: "partition is inactive", state: fake.PartitionInactive},
	{name: "partition has MaxNodes", partition: func(p *slurm.Partition, way uint64) { p.MaxNodes = 1 + int(way%2) }},
	{name: "partition has MinNodes", partition: func(p *slurm.Partition, _ uint64) { p.MinNodes = 2 }},
	{name: "partition has MaxCPUsPerNode", partition: func(p *slurm.Partition, way uint64) { p.CPUsPerNode = 1 + int(way%3) }},
	{name: timed, partition: func(p *slurm.Partition, way uint64) { p.MaxTime = time.Duration(3+way%40) * time.Minute }},
	{name: "alice has GrpTRES", limits: func(l *slurm.Limits, way uint64) { l.Associations[1].Group = gpus(way % 9) }},
	{name: "bob has MaxTRES", limits: func(l *slurm.Limits, way uint64) { l.Associations[2].Job = gpus(1 + way%5) }},
	{name: "bob has MaxJobs", limits: func(l *slurm.Limits, way uint64) {
		l.Associations[2].Own = []slurm.Amount{{Of: slurm.OfJobs, N: int(way % 3)}}
	}},
	{name: "account has GrpTRES", limits: func(l *slurm.Limits, way uint64) { l.Associations[0].Group = gpus(1 + way%8) }},
}

// Rules is the number of values of Act.Way for "rule is set".
var Rules = len(rules)

// sets puts a rule in force for a time.
func (p *play) sets(a Act) {
	r := rules[a.Way%uint64(len(rules))]
	r.way = a.Way >> 8
	p.inForce(&r, a.For)
	p.did(r.name)
}

// inForce is a rule that holds from now on, for a time.
func (p *play) inForce(set *rule, d time.Duration) {
	p.rules = append(p.rules, set)
	p.enforce()
	p.w.At(p.now()+d, func() {
		p.rules = slices.DeleteFunc(p.rules, func(r *rule) bool { return r == set })
		p.enforce()
		p.note("no more: %s", set.name)
	})
}

// reserves makes a reservation of a node, for other users, that begins later.
func (p *play) reserves(a Act) {
	set := &rule{name: "reservation", way: a.Way}
	later := time.Duration(a.Way%600) * time.Second
	start := p.w.Now().Truncate(time.Second).Add(later)
	set.limits = func(l *slurm.Limits, _ uint64) {
		l.Reservations = append(l.Reservations, slurm.Reservation{Name: "theirs", Start: start, End: start.Add(a.For), Nodes: []string{a.Node}})
	}
	p.inForce(set, later+a.For)
}

// enforce sets the rules in force in Slurm.
func (p *play) enforce() {
	part, state := slurm.Partition{Name: "gpu", Up: true}, fake.PartitionUp
	l := slurm.Limits{Enforced: true, Associations: []slurm.Association{{Account: "phys"}}}
	for _, user := range p.users() {
		l.Associations = append(l.Associations, slurm.Association{Account: "phys", User: user})
	}
	for _, r := range p.rules {
		if r.state != "" {
			state = r.state
		}
		if r.partition != nil {
			r.partition(&part, r.way)
		}
		if r.limits != nil {
			r.limits(&l, r.way)
		}
	}
	l.Partitions = []slurm.Partition{part}
	p.w.Slurm.SetLimits(l)
	p.w.Slurm.SetPartitionState("gpu", state)
	p.shut = state == fake.PartitionDrain || state == fake.PartitionInactive
}

// users returns the users that submit jobs; alice and bob first.
func (p *play) users() []string {
	all := []string{"alice", "bob", "carol"}
	for _, j := range p.s.Jobs {
		if !slices.Contains(all, j.User) {
			all = append(all, j.User)
		}
	}
	return all
}

// timed reports whether a job may have got a time limit although it requested none.
func (p *play) timed() bool { return p.out.Happened[timed] > 0 }
