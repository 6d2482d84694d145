package eligible

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// capOf returns the cap of a rule, without jobs and usage yet. A resource that has no case is a GPU,
// of the type after the colon: "gres/gpu:a100".
func capOf(r rule) *elastic.Cap {
	c := &elastic.Cap{Name: r.name, Most: r.amount.N, Each: r.each, Node: r.node, Least: r.least, Minutes: r.minutes, Partition: r.partition, MaxTime: r.maxTime, Jobs: map[elastic.JobID]bool{}}
	switch {
	case r.amount.Of == slurm.OfCPUs:
		c.Of = elastic.CPUs
	case r.amount.Of == slurm.OfNodes:
		c.Of = elastic.Nodes
	case r.amount.Of == slurm.OfMemory:
		c.Of = elastic.MemoryMB
	case r.amount.Of == slurm.OfBilling:
		c.Of = elastic.Billing
	case r.amount.Of == slurm.OfJobs:
		c.Of = elastic.Jobs
	default:
		c.Of = elastic.GPUs
		_, c.Type, _ = strings.Cut(r.amount.Of, ":")
	}
	return c
}

// limitName returns a limit in sacctmgr's syntax: "GrpTRES=gres/gpu=2". Amounts are counts, or MB of
// memory, or minutes of a count in a limit on minutes. A kind without a word of its own in tresWords
// is a limit on jobs, as "MaxJobs=4".
func limitName(kind string, a slurm.Amount) string {
	switch a.Of {
	case slurm.OfWall:
		return fmt.Sprintf("GrpWall=%s", time.Duration(a.N)*time.Minute)
	case slurm.OfJobs:
		word := map[string]string{"Grp": "GrpJobs", "MaxPerUser": "MaxJobsPerUser", "MaxPerAccount": "MaxJobsPerAccount"}[kind]
		return fmt.Sprintf("%s=%d", cmp.Or(word, kind), a.N)
	}
	unit := ""
	if a.Of == slurm.OfMemory && !strings.Contains(tresWords[kind], "Mins") {
		unit = "M"
	}
	return fmt.Sprintf("%s=%s=%d%s", tresWords[kind], a.Of, a.N, unit)
}

// tresWords has sacctmgr's names of limits on resources, by kind.
var tresWords = map[string]string{
	"Grp": "GrpTRES", "MaxPerUser": "MaxTRESPerUser", "MaxPerAccount": "MaxTRESPerAccount", "Max": "MaxTRES", "MaxPerNode": "MaxTRESPerNode", "Min": "MinTRES",
	"GrpMins": "GrpTRESMins", "GrpRun": "GrpTRESRunMins", "MaxMins": "MaxTRESMins", "RunPerUser": "MaxTRESRunMinsPerUser", "RunPerAccount": "MaxTRESRunMinsPerAccount",
}

// minutes adds the limits on resource-minutes. A resized job is started again with its whole time
// limit, so that it needs as many minutes as a new job of that size. MaxWall does not depend on the
// size: a time limit beyond it lets Slurm start the job at no size.
func (b *capBook) minutes(l *ladder, sj slurm.Job, of, key string, m slurm.Minutes) {
	l.add("GrpRun", of, key, m.Group, rule{minutes: true})
	l.add("MaxMins", of, key, m.Job, rule{each: true, minutes: true})
	for i, a := range m.Budget {
		used := 0
		if i < len(m.Used) {
			used = m.Used[i].N
		}
		b.budget(l, of, key, a, used)
	}
	if m.Wall > 0 {
		// A job that is started again without a time limit gets the longest one.
		l.put("MaxWall", key, slurm.OfWall, rule{name: fmt.Sprintf("MaxWall=%s of %s, which is less than its time limit", m.Wall.Round(time.Minute), of),
			amount: slurm.Amount{Of: slurm.OfJobs}, each: true, exempt: sj.TimeLimit <= m.Wall})
	}
}

// budget adds the remaining resource-minutes of a budget (GrpTRESMins). While any are left, Slurm
// starts a job of any size; with "safe" only a job whose time limit fits in the rest.
//
//	left of it   flag "safe"   what follows
//	nothing      -             0 jobs: no job starts
//	some         no            nothing, also if a job will use more
//	some         yes           minutes of jobs together at most what is left; not for GrpWall
func (b *capBook) budget(l *ladder, of, key string, a slurm.Amount, used int) {
	name, left := limitName("GrpMins", a)+" of "+of, max(0, a.N-used)
	switch {
	case left == 0:
		l.put("GrpMins", key, a.Of, rule{name: name + ", which is used up", amount: slurm.Amount{Of: slurm.OfJobs}, each: true})
	case b.limits.Safe && a.Of != slurm.OfWall:
		l.put("GrpMins", key, a.Of, rule{name: fmt.Sprintf("%s, of which %d are left", name, left), amount: slurm.Amount{Of: a.Of, N: left}, minutes: true})
	default:
		l.put("GrpMins", key, a.Of, rule{exempt: true})
	}
}
