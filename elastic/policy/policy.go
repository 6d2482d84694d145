package policy

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/greedy"
	"github.com/sluice-hpc/sluice/elastic/policy/lookahead"
)

// Policy is a named way to divide GPUs.
type Policy struct {
	Name string
	Doc  string // one sentence for people who choose
	// Allocate gives every job of the snapshot a Decision. It is pure.
	Allocate func(elastic.Snapshot) elastic.Allocation
	// OnEvents says that its answer stays the same, but for the words, until a job
	// comes, ends or changes in Slurm, or a node does.
	OnEvents bool
	// Rigid says that it never resizes a job, so that none is measured either: it
	// would stay at the last size tried.
	Rigid bool
	// Stops says that it was published for clusters on which started jobs may be stopped
	// (Limits.Preempt) and placed at will (Limits.Placement): without these it is another policy.
	Stops bool
	// Dates says that it promises jobs their deadlines, and keeps that.
	Dates bool
	// Queue ranks jobs that simulators as published place rank by rank, each in the
	// order they came; nil = they place small ones first.
	Queue func(elastic.Job) int

	parts *byPartition // policies of their own for some partitions; nil = this one for all
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

// BySpeeds is annealing with the score it was published with: the sum of speeds, however
// much is left of each job. It is not among the policies to choose from, but shown beside them.
var BySpeeds = Policy{
	Name: "annealing, sum of speeds", Doc: "annealing with the score it was published with",
	Allocate: datesByPools(lookahead.AnnealBySpeeds),
}

// Decide is Allocate for the jobs that Slurm would start (see startable), within the
// site's limits, with the measuring of jobs whose users asked for it, and with jobs leaving
// unfit GPUs, drained nodes and the nodes of others: see capped, profile, leave, depart and
// vacate.
func (p Policy) Decide(s elastic.Snapshot) elastic.Allocation {
	return startable(s, func(s elastic.Snapshot) elastic.Allocation { return capped(s, p.decide) })
}

func (p Policy) decide(s elastic.Snapshot) elastic.Allocation {
	switch {
	case p.parts != nil: // each of them does all this itself
		return p.Allocate(s)
	case p.Rigid:
		return depart(s, vacate(s, p.start(s)), true)
	}
	return leave(s, depart(s, vacate(s, profile(s, p.start(s))), false))
}

// start is Allocate with jobs started in front of others that they do not delay. Policies
// of clusters on which jobs may be stopped stay as published.
func (p Policy) start(s elastic.Snapshot) elastic.Allocation {
	if p.Stops {
		return p.Allocate(s)
	}
	return backfill(s, p.Allocate(s))
}

// Of is the policy that decides about the jobs of a list of partitions.
func (p Policy) Of(partitions string) Policy {
	if p.parts == nil {
		return p
	}
	return p.parts.policyOf(partitions)
}

// Measures reports whether some job of the snapshot is being measured, so that it
// is worth looking again soon.
func (p Policy) Measures(s elastic.Snapshot) bool {
	if p.parts != nil {
		return p.parts.measures(s)
	}
	return !p.Rigid && profiling(s)
}

// ByName returns the policy; the error names those there are.
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
