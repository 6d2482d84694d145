package policy

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/greedy"
	"github.com/sluice-hpc/sluice/elastic/policy/lookahead"
)

// Policy is a named way to allocate GPUs to jobs.
type Policy struct {
	Name string
	Doc  string // one sentence for users who choose a policy
	// Allocate returns a Decision for every job of the snapshot. It is pure. Callers use
	// Decide, which applies the stages of this package to its answer.
	Allocate func(elastic.Snapshot) elastic.Allocation
	// OnEvents says that its answer, except for the reasons' wording, stays the same until a
	// job arrives, ends or changes in Slurm, or a node changes.
	OnEvents bool
	// Rigid says that it never resizes a job. So none is measured either: it would stay at the
	// last size tried.
	Rigid bool
	// Stops says that it was published for clusters where started jobs may be stopped
	// (Limits.Preempt) and placed anywhere (Limits.Placement): without these it is another
	// policy.
	Stops bool
	// Dates says that it admits jobs with deadlines, and keeps the admissions.
	Dates bool
	// Queue returns the rank of a job. Simulators as published place jobs rank by rank, each
	// rank in order of arrival; nil = small jobs first.
	Queue func(elastic.Job) int

	parts *byPartition // other policies for some partitions; nil = this one for all
}

// All lists the policies; the first is the default.
var All = []Policy{
	{Name: "lookahead", Doc: "sizes and places together, by what finishing each job saves all of them; the minimum at once, and kept", Allocate: datesByPools(lookahead.Allocate), Dates: true},
	{Name: "knapsack", Doc: "start everybody on the minimum at once, then give idle GPUs where they save most time", Allocate: greedy.Knapsack},
	{Name: "annealing", Doc: "sizes and places together, by simulated annealing from what everybody has; the minimum at once, and kept", Allocate: datesByPools(lookahead.Anneal), Dates: true},
	{Name: "deadline", Doc: "who has a deadline gets the smallest share that meets it; what is left goes where it saves most", Allocate: byPools(greedy.Deadline), Dates: true},
	{Name: "welfare", Doc: "what runs are worth to users less what they cost the provider, by type of GPU; types hardly tried are tried", Allocate: lookahead.Welfare},
	{Name: "fcfs", Doc: "the minimum each, first come, first served; never resized (a baseline)", Allocate: greedy.FCFS, OnEvents: true, Rigid: true},
	{Name: "ef", Doc: "all free GPUs to the job at the head of the queue; never resized (a baseline)", Allocate: greedy.EF, OnEvents: true, Rigid: true},
	{Name: "optimus", Doc: "the minimum each, then each GPU where it saves most time, whatever moves cost (a baseline)", Allocate: greedy.Optimus, Stops: true},
	{Name: "afs", Doc: "AFS-L: each GPU weighed between short and long jobs, whatever moves cost (a baseline)", Allocate: greedy.AFS, Stops: true},
	{Name: "tiresias", Doc: "two queues by GPU-hours had, on the sizes users asked for; never resized (a baseline)", Allocate: greedy.Tiresias, Queue: greedy.TiresiasQueue, Rigid: true, Stops: true},
	{Name: "srpt", Doc: "the shortest rest first on the size its user asked for, whatever moves cost (a baseline)", Allocate: greedy.SRPT, Stops: true},
	{Name: "edf", Doc: "the next deadline first, on all GPUs that make the job faster, whatever moves cost (a baseline)", Allocate: greedy.EDF, Stops: true},
	{Name: "elasticflow", Doc: "as deadline, but who cannot be promised his deadline as he comes gets what nobody else can use (a baseline)", Allocate: greedy.ElasticFlow, Dates: true, Stops: true},
	{Name: "maxspeedup", Doc: "the largest sum of speed-ups, as in FfDL, whatever moves cost (a baseline)", Allocate: greedy.MaxSpeedup},
}

// BySpeeds is annealing with its published score: the sum of speeds, whatever work is left.
// Users cannot choose it; it is compared with the policies of All.
var BySpeeds = Policy{
	Name: "annealing, sum of speeds", Doc: "annealing with the score it was published with",
	Allocate: datesByPools(lookahead.AnnealBySpeeds),
}

// Decide returns the policy's decision. Allocate is asked about the jobs that Slurm would start
// (startable), within the site's limits (capped); then jobs are measured whose users asked for
// it (profile), and jobs leave edge nodes that others need (vacate), drained nodes and
// maintenance (depart), and unfit GPUs (leave).
func (p Policy) Decide(s elastic.Snapshot) elastic.Allocation {
	return startable(s, func(s elastic.Snapshot) elastic.Allocation { return capped(s, p.decide) })
}

func (p Policy) decide(s elastic.Snapshot) elastic.Allocation {
	switch {
	case p.parts != nil: // each of them does all of this
		return p.Allocate(s)
	case p.Rigid:
		return depart(s, vacate(s, p.start(s)), true)
	}
	return leave(s, depart(s, vacate(s, profile(s, p.start(s))), false))
}

// start is Allocate with backfill. Policies for clusters on which jobs may be stopped stay as
// published.
func (p Policy) start(s elastic.Snapshot) elastic.Allocation {
	if p.Stops {
		return p.Allocate(s)
	}
	return backfill(s, p.Allocate(s))
}

// Of returns the policy that decides about the jobs of a list of partitions.
func (p Policy) Of(partitions string) Policy {
	if p.parts == nil {
		return p
	}
	return p.parts.policyOf(partitions)
}

// Measures reports whether some job of the snapshot is being measured, so that the next
// decision should come soon.
func (p Policy) Measures(s elastic.Snapshot) bool {
	if p.parts != nil {
		return p.parts.measures(s)
	}
	return !p.Rigid && profiling(s)
}

// ByName returns the policy of this name; the error lists the known names.
func ByName(name string) (Policy, error) {
	names := make([]string, len(All))
	for i, p := range All {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return Policy{}, fmt.Errorf("unknown policy %q: want %s", name, strings.Join(names, ", "))
}
