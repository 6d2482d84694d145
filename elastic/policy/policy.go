package policy

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/greedy"
	"github.com/sluice-hpc/sluice/elastic/policy/lookahead"
)

// Policy is a named way to allocate GPUs to jobs. The zero Policy MUST NOT be asked: callers take one
// from All, ByName, InPartitions or ByPartition.
type Policy struct {
	// Name is how sluice.toml and command lines name it. Of a ByPartition it lists all its policies,
	// and ByName does not find it.
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
	// Smaller ranks come first.
	Queue func(elastic.Job) int

	parts *byPartition // other policies for some partitions; nil = this one for all
}

// All lists the policies; the first is the default. It MUST NOT be changed.
var All = []Policy{
	{Name: "lookahead", Doc: "minimizes total completion time, sizes and nodes chosen together; each job gets its minimum as early as possible and keeps it", Allocate: datesByPools(lookahead.Allocate), Dates: true},
	{Name: "knapsack", Doc: "starts every job at its minimum as early as possible, then gives idle GPUs to where they save most time", Allocate: greedy.Knapsack},
	{Name: "annealing", Doc: "as lookahead, solved by simulated annealing from the present allocation", Allocate: datesByPools(lookahead.Anneal), Dates: true},
	{Name: "deadline", Doc: "an admitted job gets the smallest allocation that meets its deadline; other GPUs go to where they save most time", Allocate: byPools(greedy.Deadline), Dates: true},
	{Name: "welfare", Doc: "maximizes the value of runs to users less their cost to the provider, by GPU type; tries types with little data", Allocate: lookahead.Welfare},
	{Name: "fcfs", Doc: "first come, first served, each job at its minimum; never resizes (a baseline)", Allocate: greedy.FCFS, OnEvents: true, Rigid: true},
	{Name: "ef", Doc: "gives all free GPUs to the job at the head of the queue; never resizes (a baseline)", Allocate: greedy.EF, OnEvents: true, Rigid: true},
	{Name: "optimus", Doc: "gives each job its minimum, then each GPU to where it saves most time; ignores resize costs (a baseline)", Allocate: greedy.Optimus, Stops: true},
	{Name: "afs", Doc: "AFS-L: gives each GPU to the winner of pairwise comparisons of short and long jobs; ignores resize costs (a baseline)", Allocate: greedy.AFS, Stops: true},
	{Name: "tiresias", Doc: "two queues by attained GPU-hours, at the sizes that users request; never resizes (a baseline)", Allocate: greedy.Tiresias, Queue: greedy.TiresiasQueue, Rigid: true, Stops: true},
	{Name: "srpt", Doc: "shortest remaining time first, at the sizes that users request; ignores resize costs (a baseline)", Allocate: greedy.SRPT, Stops: true},
	{Name: "edf", Doc: "earliest deadline first, on all GPUs that make the job faster; ignores resize costs (a baseline)", Allocate: greedy.EDF, Stops: true},
	{Name: "elasticflow", Doc: "as deadline, but a job that is not admitted on arrival gets only GPUs that no other job can use (a baseline)", Allocate: greedy.ElasticFlow, Dates: true, Stops: true},
	{Name: "maxspeedup", Doc: "maximizes the sum of speed-ups, as in FfDL; ignores resize costs (a baseline)", Allocate: greedy.MaxSpeedup},
}

// BySpeeds is annealing with its published score: the sum of speeds, whatever work is left.
// Users cannot choose it, since ByName does not know it; figures compare it with the policies of All.
var BySpeeds = Policy{
	Name: "annealing, sum of speeds", Doc: "annealing with the score it was published with",
	Allocate: datesByPools(lookahead.AnnealBySpeeds),
}

// Decide returns the policy's decision: one for every job of the snapshot about which something is
// decided; a job without one keeps what it has. Allocate is asked about the jobs that Slurm would
// start (startable), within the site's limits and the shares of accounts (capped), with scavengers
// last where started jobs may be stopped (scavenge), and with further lanes of sweeps after other jobs
// (lanes); then jobs start before one with a reservation (backfill), jobs are
// measured whose users asked for it (profile), and jobs leave edge nodes that others need
// (vacate), drained nodes and maintenance (depart), and unfit GPUs (leave).
//
// It is pure. The sizes of the answer are not yet placed: callers MUST pass it to plan.Arrange with
// the same snapshot, which finds the nodes of decisions without a Place.
func (p Policy) Decide(s elastic.Snapshot) elastic.Allocation {
	return p.within(s, fewShares)
}

// within is Decide; of more than few shares that bind, each is divided before Allocate is asked.
// Tests call it with 0, or with as many as there are, to check both ways.
func (p Policy) within(s elastic.Snapshot, few int) elastic.Allocation {
	return startable(s, func(s elastic.Snapshot) elastic.Allocation {
		return capped(s, question{decide: p.decide, beside: p.beside, rigid: p.RigidIn, few: few})
	})
}

// decide answers one question of the stage for limits: the snapshot has no caps any more.
func (p Policy) decide(s elastic.Snapshot) elastic.Allocation {
	if p.parts != nil { // each of them does all of this
		return p.Allocate(s)
	}
	return p.moved(s, p.start(s))
}

// beside is decide for a snapshot that holds few of the jobs: without backfill, which depends on when all of
// them end.
func (p Policy) beside(s elastic.Snapshot) elastic.Allocation {
	if p.parts != nil {
		return p.Allocate(s)
	}
	return p.moved(s, scavenge(s, p.Allocate))
}

// moved applies the stages that move jobs. The jobs of a rigid policy still leave edge nodes, at the
// largest size up to their own that fits elsewhere, and drained nodes, at their size.
func (p Policy) moved(s elastic.Snapshot, a elastic.Allocation) elastic.Allocation {
	if p.Rigid {
		return depart(s, vacate(s, a), true)
	}
	return leave(s, depart(s, vacate(s, profile(s, a)), false))
}

// start is Allocate with further lanes of sweeps behind other jobs (lanes), scavengers last
// (scavenge), and with backfill. Policies that never resize treat lanes as other jobs. Policies for clusters on
// which jobs may be stopped stay as published.
func (p Policy) start(s elastic.Snapshot) elastic.Allocation {
	ask := func(s elastic.Snapshot) elastic.Allocation { return scavenge(s, p.Allocate) }
	if !p.Rigid {
		scavenging := ask
		ask = func(s elastic.Snapshot) elastic.Allocation { return lanes(s, scavenging) }
	}
	if p.Stops {
		return ask(s)
	}
	return backfill(s, ask(s))
}

// Of returns the policy that decides about the jobs of a list of partitions.
// The list is separated by commas, as Slurm's --partition; the first one counts. "" is decided about
// by the usual policy.
func (p Policy) Of(partitions string) Policy {
	if p.parts == nil {
		return p
	}
	return p.parts.policyOf(partitions)
}

// RigidIn reports whether the policy that decides about the jobs of a list of partitions never
// resizes one.
// claim.Of takes it as its parameter rigid: what such jobs have cannot be taken back.
func (p Policy) RigidIn(partitions string) bool { return p.Of(partitions).Rigid }

// Measures reports whether some job of the snapshot is being measured, so that the next
// decision should come soon.
// The engine then decides again within seconds rather than after its period.
func (p Policy) Measures(s elastic.Snapshot) bool {
	if p.parts != nil {
		return p.parts.measures(s)
	}
	return !p.Rigid && profiling(s)
}

// ByName returns the policy of this name; the error lists the known names.
// Case matters, and "" is no name.
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
