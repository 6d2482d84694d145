package main

import (
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/reason"
	planner "github.com/sluice-hpc/sluice/nodes"
)

// backfill is Slurm's usual scheduler reduced to EASY backfill (Mu'alem and Feitelson,
// IEEE TPDS 12(6), 2001). Jobs have the size they request and start in order of arrival;
// after the first one that must wait, others start if they do not delay it. The duration
// of jobs is known exactly here, which is better than the time limits that Slurm uses;
// the end of elastic jobs is unknown.
type backfill struct {
	took []float64 // seconds of each job, in order of the workload
}

// policy makes every job wait for the size it had: the baseline of the comparison.
func (b backfill) policy() policy.Policy {
	return policy.Policy{
		Name: "backfill", Doc: "the size asked for, first come, first served, with EASY backfill; never resized", Allocate: b.serve,
	}
}

// ordinary reports whether the job is not elastic: plain Slurm's.
func ordinary(j elastic.Job) bool { return len(j.Spec.Sizes) == 1 }

// left is the remaining run time of the job in seconds.
func (b backfill) left(j elastic.Job) float64 {
	if !ordinary(j) {
		return math.Inf(1)
	}
	return b.took[j.ID-1] * (1 - j.Done/j.Spec.Total)
}

// backfillDepth is how many waiting jobs are considered in a round: Slurm's
// bf_max_job_test.
const backfillDepth = 500

// easyRound is one round of backfill.
type easyRound struct {
	backfill
	nodes   []planner.Node // including what was started in this round
	free    int            // GPUs
	running []ending       // including what was started in this round
	// shadow is the inventory at the time at which the first waiting job can start, with
	// that job in it; nil while no job waits.
	shadow []planner.Node
	at     float64 // that time, in seconds from now
}

// ending is a job with GPUs and the seconds until it ends.
type ending struct {
	place planner.Placement
	in    float64
}

// serve starts the ordinary jobs that can start now.
func (b backfill) serve(s elastic.Snapshot) elastic.Allocation {
	e := &easyRound{backfill: b, nodes: slices.Clone(s.Nodes), free: planner.Free(s.Nodes, "")}
	for _, j := range s.Jobs {
		if len(j.Place) > 0 {
			e.running = append(e.running, ending{j.Place, b.left(j)})
		}
	}
	out := elastic.Allocation{}
	looked := 0
	for _, j := range s.Jobs {
		if e.free == 0 || looked == backfillDepth {
			break
		}
		if j.Phase != elastic.Waiting || !ordinary(j) {
			continue
		}
		looked++
		if place := e.start(j); place != nil {
			out[j.ID] = elastic.Decision{GPUs: place.GPUs(), Place: place, Why: reason.StartsAsAsked{GPUs: place.GPUs()}}
		}
	}
	return out
}

// start returns where the job starts now, nil if it waits.
func (e *easyRound) start(j elastic.Job) planner.Placement {
	ask := fixedRequest(int64(j.ID), j.Spec.Min)
	var place planner.Placement
	if ask.GPUs <= e.free {
		place = planner.Place(e.nodes, []planner.Request{ask})[0].Placement
	}
	switch {
	case len(place) == 0 && e.shadow == nil:
		e.reserve(ask)
		return nil
	case len(place) == 0:
		return nil
	}
	end := ending{place, e.left(j)}
	if e.shadow != nil && end.in > e.at {
		if !roomFor(e.shadow, place) {
			return nil
		}
		planner.Charge(e.shadow, planner.Load{Place: place})
	}
	planner.Charge(e.nodes, planner.Load{Place: place})
	e.free -= ask.GPUs
	e.running = append(e.running, end)
	return place
}

// reserve finds the time at which the request can start, as jobs end one after the other,
// and reserves its GPUs from then on.
func (e *easyRound) reserve(ask planner.Request) {
	slices.SortStableFunc(e.running, func(a, b ending) int {
		switch {
		case a.in < b.in:
			return -1
		case a.in > b.in:
			return 1
		}
		return 0
	})
	free := e.free
	for i, r := range e.running {
		if free += r.place.GPUs(); free < ask.GPUs {
			continue
		}
		then := slices.Clone(e.nodes)
		for _, gone := range e.running[:i+1] {
			planner.Credit(then, planner.Load{Place: gone.place})
		}
		if place := planner.Place(then, []planner.Request{ask})[0].Placement; len(place) > 0 {
			planner.Charge(then, planner.Load{Place: place})
			e.shadow, e.at = then, r.in
			return
		}
	}
}

// roomFor reports whether the placement is free in the inventory.
func roomFor(inventory []planner.Node, place planner.Placement) bool {
	for _, s := range place {
		i := slices.IndexFunc(inventory, func(n planner.Node) bool { return n.Name == s.Node })
		if i < 0 || inventory[i].Free() < s.GPUs {
			return false
		}
	}
	return true
}
