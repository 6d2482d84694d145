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

// capBook collects the limits that apply to sluice's jobs. It lives for one snapshot. Every job of
// sluice's MUST be passed to concern BEFORE the first running job is passed to count, which adds only
// to caps that exist.
type capBook struct {
	*index
	caps    map[string]*elastic.Cap // by rule.key; limits of groups and of single jobs
	found   []string                // their keys, in the order they were met
	unknown map[elastic.JobID]bool  // jobs whose association was not in the answer
}

func newCapBook(x *index) *capBook {
	return &capBook{index: x, caps: map[string]*elastic.Cap{}, unknown: map[elastic.JobID]bool{}}
}

// rule is one limit that holds for a job. Rules with the same key are one cap: their jobs, and the
// usage of ordinary jobs, are counted together. So a key names the group (a QOS, a QOS and a user, an
// account) and the resource, and name is what users are shown.
type rule struct {
	key, name         string
	amount            slurm.Amount
	each, node, least bool
	minutes           bool // elastic.Cap.Minutes
	partition         string
	maxTime           time.Duration // elastic.Cap.MaxTime, of partition
	exempt            bool          // what goes before it is set: the job counts, and is not bound
}

// rules returns the limits that apply to a job: of its partitions' QOS, its own QOS, its
// association and the parent accounts. A limit of a QOS overrides the same limit of an
// association. The result is cached by kind of job until limits are read again. Jobs that agree in
// limitedKind have the same rules, so that a site with 100,000 jobs computes those of a few kinds.
// The returned slice is the cache's own and MUST NOT be changed.
func (b *capBook) rules(sj slurm.Job) []rule {
	kind := limitedKind{sj.User, sj.Account, sj.QOS, sj.Partition, sj.TimeLimit}
	list, known := b.ruled[kind]
	if !known {
		list = b.list(sj)
		b.ruled[kind] = list
	}
	return list
}

// list returns the rules of one kind of job, without the cache. The order is that of Slurm's
// precedence: first the QOS (orders), then the association, then its accounts from the nearest to the
// root. up follows each QOS only. The association and its accounts are one level, because group
// limits of all accounts above a job hold together. The partition's own limits override nothing and
// are overridden by nothing.
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
	// The depth is bounded: an answer in which accounts are above each other in a circle must not
	// hang the daemon.
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

// ladder collects rules by precedence: a limit overrides limits of the same kind on the same
// resource that are added after the next call of up. A rule that is overridden is kept as exempt: the
// job's usage counts in the group, but the limit does not bind the job. For example, with
// GrpTRES=gres/gpu=8 on the job's QOS and GrpTRES=gres/gpu=4 on its account, the job may use up to 8
// GPUs, and they count among the 4 that bind jobs of the account with another QOS.
type ladder struct {
	out  []rule
	set  map[string]bool // kind and resource
	rung []string        // kind and resource set on the present level
}

// Each amount becomes one rule of the given form. kind is a key of tresWords or, for a limit on jobs
// alone, the limit's name.
func (l *ladder) add(kind, of, key string, amounts []slurm.Amount, form rule) {
	for _, a := range amounts {
		if form.node && a.Of == slurm.OfBilling {
			continue // billing is not counted per node
		}
		form.amount, form.name = a, limitName(kind, a)+" of "+of
		l.put(kind, key, a.Of, form)
	}
}

// put adds a rule of that kind on the resource of. A rule that is put as exempt sets its kind for
// lower levels too: a budget that is not used up hides that of an account.
func (l *ladder) put(kind, key, of string, r rule) {
	r.key, r.exempt = kind+" "+key+" "+of, r.exempt || l.set[kind+" "+of]
	l.out = append(l.out, r)
	l.rung = append(l.rung, kind+" "+of)
}

// up ends the present level of precedence.
func (l *ladder) up() {
	for _, set := range l.rung {
		l.set[set] = true
	}
	l.rung = nil
}

// orders returns the QOS whose limits apply to the job, by descending precedence. That is the
// partition's QOS, then the job's own, or the reverse if its own has the flag OverPartQOS. A job of
// several partitions has the QOS of all of them, since Slurm may start it in any.
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

// association returns the user's association in the job's account: of this partition if there is one,
// else the one for any partition; nil = the answer has none, and with enforced limits Slurm starts
// nothing for it.
func (b *capBook) association(sj slurm.Job) *slurm.Association {
	if a := b.users[[3]string{sj.Account, sj.User, sj.Partition}]; a != nil {
		return a
	}
	return b.users[[3]string{sj.Account, sj.User, ""}]
}

// partitionRules returns the limits that partitions themselves set. A partition that would not
// start this job is represented by a limit of 0 jobs. A limit of 0 jobs that holds for each job stops
// no running job (decision 20); it only keeps a job from starting again.
func (b *capBook) partitionRules(sj slurm.Job) []rule {
	var out []rule
	for _, name := range strings.Split(sj.Partition, ",") {
		p := b.partitions[name]
		if p == nil {
			continue
		}
		of := "partition " + name
		if p.MaxNodes > 0 && !b.edge[name] { // in an edge pool a job has one node anyway
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
			if why == timeOf(*p) && !strings.Contains(sj.Partition, ",") { // a shorter time limit would open it
				r.partition, r.maxTime = name, p.MaxTime
			}
			out = append(out, r)
		}
	}
	return out
}

// closed returns why the partition would not start the job again; "" = it would. anyTime: the
// job's QOS overrides MaxTime. The reasons are tried in that order, and the first counts. AllowGroups
// is not among them: sluice cannot read it, and finds out by being refused (see Within).
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
		return timeOf(p)
	}
	return ""
}

// timeOf is what closed returns where nothing but the job's time limit closes the partition.
func timeOf(p slurm.Partition) string {
	return fmt.Sprintf("its MaxTime is %s", p.MaxTime.Round(time.Minute))
}

// tooLong reports whether the job's time limit exceeds the partition's MaxTime. No time limit counts
// as longer than any.
func tooLong(p slurm.Partition, sj slurm.Job) bool {
	return p.MaxTime > 0 && (sj.TimeLimit == 0 || sj.TimeLimit > p.MaxTime)
}

// concern adds one of sluice's jobs to the limits that apply to it. sj MUST be the job in the
// partitions that it may use (OpenTo), not in the one that Slurm shows. A job without an association
// while limits are enforced is noted as unknown, and is capped at what it has (see site).
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

// count adds the usage of a running job to the limits that it shares with sluice's jobs, except to
// limits that apply to the job itself. sj MUST hold nodes and MUST NOT be completing, as Slurm no
// longer counts such a job. A minute limit counts what is left of the job's time limit, not what it
// used.
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

// amountOf returns a running job's usage of the cap's resource. It is in the cap's unit: GPUs, CPUs,
// nodes, MB or billing, and 1 for a limit on jobs.
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

// all returns the caps in the order in which their first job was met, so that equal input gives an
// equal snapshot (I9).
func (b *capBook) all() []elastic.Cap {
	out := make([]elastic.Cap, 0, len(b.found))
	for _, key := range b.found {
		out = append(out, *b.caps[key])
	}
	return out
}
