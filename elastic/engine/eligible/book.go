package eligible

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// capBook gathers the limits that concern sluice's jobs, by what sets them.
type capBook struct {
	*index
	caps    map[string]*elastic.Cap // those of a group, and of each alone
	found   []string                // their keys, in the order they were met
	unknown map[elastic.JobID]bool  // jobs whose association was not in the answer
}

func newCapBook(x *index) *capBook {
	return &capBook{index: x, caps: map[string]*elastic.Cap{}, unknown: map[elastic.JobID]bool{}}
}

// rule is one limit that holds for a job.
type rule struct {
	key, name         string
	amount            slurm.Amount
	each, node, least bool
	minutes           bool // elastic.Cap.Minutes
	partition         string
	maxTime           time.Duration // elastic.Cap.MaxTime, of partition
	exempt            bool          // what goes before it is set: the job counts, and is not bound
}

// rules lists the limits that hold for a job: of the QOS of its partitions, of its
// own QOS, of its association and of the accounts above. What a QOS sets goes before
// what an association sets for the same. They are the same for all jobs of a kind as
// long as the limits stand.
func (b *capBook) rules(sj slurm.Job) []rule {
	kind := limitedKind{sj.User, sj.Account, sj.QOS, sj.Partition, sj.TimeLimit}
	list, known := b.ruled[kind]
	if !known {
		list = b.list(sj)
		b.ruled[kind] = list
	}
	return list
}

func (b *capBook) list(sj slurm.Job) []rule {
	l := ladder{set: map[string]bool{}}
	for _, q := range b.orders(sj) {
		of := "QOS " + q.Name
		l.add("Grp", of, of, q.Group, rule{})
		l.add("MaxPerUser", of+" for user "+sj.User, of+" "+sj.User, q.User, rule{})
		l.add("MaxPerAccount", of+" for account "+sj.Account, of+" "+sj.Account, q.Account, rule{})
		l.add("Max", of, of, q.Job, rule{each: true})
		l.add("MaxPerNode", of, of, q.Node, rule{each: true, node: true})
		l.add("Min", of, of, q.Least, rule{least: true})
		b.minutes(&l, sj, of, of, q.Minutes)
		l.add("RunPerUser", of+" for user "+sj.User, of+" "+sj.User, q.UserMinutes, rule{minutes: true})
		l.add("RunPerAccount", of+" for account "+sj.Account, of+" "+sj.Account, q.AccountMinutes, rule{minutes: true})
		l.up()
	}
	if a := b.association(sj); a != nil {
		of := "user " + sj.User + " in account " + sj.Account
		key := of + " " + a.Partition
		l.add("Grp", of, key, a.Group, rule{})
		l.add("MaxJobs", of, key, a.Own, rule{})
		l.add("Max", of, key, a.Job, rule{each: true})
		l.add("MaxPerNode", of, key, a.Node, rule{each: true, node: true})
		b.minutes(&l, sj, of, key, a.Minutes)
	}
	for name, depth := sj.Account, 0; name != "" && depth < 64; depth++ {
		a := b.accounts[name]
		if a == nil {
			break
		}
		l.add("Grp", "account "+name, "account "+name, a.Group, rule{})
		// What bounds each job its users inherit.
		b.minutes(&l, sj, "account "+name, "account "+name, slurm.Minutes{Budget: a.Minutes.Budget, Used: a.Minutes.Used, Group: a.Minutes.Group})
		name = a.Parent
	}
	return append(l.out, b.partitionRules(sj)...)
}

// ladder gathers rules. What stands higher goes before what is lower: then a limit of
// the same kind on the same resource further down does not bind the job.
type ladder struct {
	out  []rule
	set  map[string]bool // kind and resource
	rung []string        // what the present rung sets
}

func (l *ladder) add(kind, of, key string, amounts []slurm.Amount, form rule) {
	for _, a := range amounts {
		if form.node && a.Of == slurm.OfBilling {
			continue // nodes are not billed one by one
		}
		form.amount, form.name = a, limitName(kind, a)+" of "+of
		l.put(kind, key, a.Of, form)
	}
}

// put adds a rule of that kind on the resource.
func (l *ladder) put(kind, key, of string, r rule) {
	r.key, r.exempt = kind+" "+key+" "+of, r.exempt || l.set[kind+" "+of]
	l.out = append(l.out, r)
	l.rung = append(l.rung, kind+" "+of)
}

// up ends a rung.
func (l *ladder) up() {
	for _, set := range l.rung {
		l.set[set] = true
	}
	l.rung = nil
}

// orders lists the QOS whose limits hold for the job, the one that goes first in front.
func (b *capBook) orders(sj slurm.Job) []*slurm.QOS {
	own := b.qos[sj.QOS]
	var out []*slurm.QOS
	if own != nil && own.OverPartition {
		out = append(out, own)
	}
	for _, name := range strings.Split(sj.Partition, ",") {
		if p := b.partitions[name]; p != nil && b.qos[p.QOS] != nil && !slices.Contains(out, b.qos[p.QOS]) {
			out = append(out, b.qos[p.QOS])
		}
	}
	if own != nil && !slices.Contains(out, own) {
		out = append(out, own)
	}
	return out
}

func (b *capBook) association(sj slurm.Job) *slurm.Association {
	if a := b.users[[3]string{sj.Account, sj.User, sj.Partition}]; a != nil {
		return a
	}
	return b.users[[3]string{sj.Account, sj.User, ""}]
}

// partitionRules are the limits of the job's partitions themselves. One that starts
// nothing, or not this job, lets it have no job more.
func (b *capBook) partitionRules(sj slurm.Job) []rule {
	var out []rule
	for _, name := range strings.Split(sj.Partition, ",") {
		p := b.partitions[name]
		if p == nil {
			continue
		}
		of := "partition " + name
		if p.MaxNodes > 0 && !b.edge[name] { // there it has one node whatever the limit
			out = append(out, rule{key: of + " max", name: fmt.Sprintf("MaxNodes=%d of %s", p.MaxNodes, of), amount: slurm.Amount{Of: slurm.OfNodes, N: p.MaxNodes}, each: true})
		}
		if p.MinNodes > 1 {
			out = append(out, rule{key: of + " min", name: fmt.Sprintf("MinNodes=%d of %s", p.MinNodes, of), amount: slurm.Amount{Of: slurm.OfNodes, N: p.MinNodes}, least: true})
		}
		if p.CPUsPerNode > 0 {
			out = append(out, rule{key: of + " cpus", name: fmt.Sprintf("MaxCPUsPerNode=%d of %s", p.CPUsPerNode, of), amount: slurm.Amount{Of: slurm.OfCPUs, N: p.CPUsPerNode}, each: true, node: true})
		}
		if p.MemoryPerNode > 0 {
			out = append(out, rule{key: of + " memory", name: fmt.Sprintf("MaxMemPerNode=%dM of %s", p.MemoryPerNode, of), amount: slurm.Amount{Of: slurm.OfMemory, N: p.MemoryPerNode}, each: true, node: true})
		}
		own := b.qos[sj.QOS] // the partition's own QOS lifts nothing
		if why := closed(*p, sj, own != nil && own.AnyTime); why != "" {
			r := rule{key: of + " closed " + why, name: fmt.Sprintf("%s: %s", of, why), amount: slurm.Amount{Of: slurm.OfJobs}, each: true}
			if tooLong(*p, sj) && (own == nil || !own.AnyTime) && !strings.Contains(sj.Partition, ",") {
				r.partition, r.maxTime = name, p.MaxTime
			}
			out = append(out, r)
		}
	}
	return out
}

// closed says why the partition would not start the job again; "" when it would. anyTime is
// for a job whose QOS lifts MaxTime.
func closed(p slurm.Partition, sj slurm.Job, anyTime bool) string {
	allows := func(name string, allowed, denied []string) bool {
		return (len(allowed) == 0 || slices.Contains(allowed, name)) && !slices.Contains(denied, name)
	}
	switch {
	case !p.Up:
		return "it starts no jobs now"
	case !allows(sj.Account, p.AllowAccounts, p.DenyAccounts):
		return "closed to account " + sj.Account
	case !allows(sj.QOS, p.AllowQOS, p.DenyQOS):
		return "closed to QOS " + sj.QOS
	case tooLong(p, sj) && !anyTime:
		return fmt.Sprintf("its MaxTime is %s", p.MaxTime.Round(time.Minute))
	}
	return ""
}

// tooLong reports whether the job asks for more time than the partition gives any job.
func tooLong(p slurm.Partition, sj slurm.Job) bool {
	return p.MaxTime > 0 && (sj.TimeLimit == 0 || sj.TimeLimit > p.MaxTime)
}

// concern notes the limits of one of sluice's jobs.
func (b *capBook) concern(sj slurm.Job) {
	id := elastic.JobID(sj.ID)
	if b.limits.Enforced && b.association(sj) == nil {
		b.unknown[id] = true
	}
	for _, r := range b.rules(sj) {
		if r.exempt {
			continue
		}
		c := b.caps[r.key]
		if c == nil {
			c = capOf(r)
			if c.Of == elastic.Billing {
				c.Bills = b.bills
			}
			b.caps[r.key] = c
			b.found = append(b.found, r.key)
		}
		c.Jobs[id] = true
	}
}

// count notes what a job that runs has of the limits it shares with jobs of sluice, if
// it is none of those that the limit binds.
func (b *capBook) count(sj slurm.Job) {
	for _, r := range b.rules(sj) {
		c := b.caps[r.key]
		if c == nil || c.Each || c.Least || c.Jobs[elastic.JobID(sj.ID)] {
			continue
		}
		n := c.Over(amountOf(sj, c), sj.TimeLeft, sj.TimeLimit)
		if c.Others += n; n > 0 {
			c.Users = append(c.Users, reason.Use{Job: int64(sj.ID), User: sj.User, Has: c.Count(n)})
		}
	}
}

// amountOf is how much of what the cap counts a job has that runs.
func amountOf(sj slurm.Job, c *elastic.Cap) int {
	switch c.Of {
	case elastic.GPUs:
		if c.Type != "" && c.Type != sj.GPUType {
			return 0
		}
		return sj.GPUs
	case elastic.CPUs:
		return sj.CPUs
	case elastic.Nodes:
		return len(sj.Nodes)
	case elastic.MemoryMB:
		return sj.MemoryMB
	case elastic.Billing:
		return sj.Billing
	}
	return 1
}

func (b *capBook) all() []elastic.Cap {
	out := make([]elastic.Cap, 0, len(b.found))
	for _, key := range b.found {
		out = append(out, *b.caps[key])
	}
	return out
}
