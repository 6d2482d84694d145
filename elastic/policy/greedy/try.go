package greedy

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/nodes"
)

// trial is the result of a plan if it were carried out. A job of short is in place where it is
// now. after is a copy, in the order of the snapshot's nodes.
type trial struct {
	place []nodes.Placement // where each job would be
	short []int             // jobs that would not get their size, by index
	got   []int             // what each of short would get instead
	unmet []int             // wants without room, by index
	after []nodes.Node      // the inventory then, with room for the met wants set aside
}

func (t trial) ok() bool { return len(t.short) == 0 && len(t.unmet) == 0 }

// try arranges the sizes on nodes, exactly as they will be after the decision, and then looks
// for room for the ordinary jobs. size has an entry for each job of the round; neither it nor the
// round is changed. A job without room counts where it is now, so that the rest of the trial is as
// if it were not moved. The cost is one plan.Arrange of the jobs that change.
func (r *round) try(size []int, wants []want) trial {
	where := r.arrange(size)
	t := trial{place: make([]nodes.Placement, len(r.jobs))}
	loads := make([]nodes.Load, len(r.jobs))
	for i := range r.jobs {
		j := &r.jobs[i]
		place := j.At
		if size[i] != j.Now {
			place = where.Target[j.ID]
			got := place.GPUs()
			if r.overtakes(j, place) {
				got = 0
			}
			if got != size[i] {
				t.short, t.got = append(t.short, i), append(t.got, got)
				place = j.At
			}
		}
		t.place[i], loads[i] = place, j.Load(place)
	}
	asked := make([]nodes.Want, len(wants))
	for i, w := range wants {
		asked[i] = w.Want
	}
	after, met := nodes.Reserve(nodes.With(r.foreign, loads...), asked)
	for i := range met {
		if !met[i] {
			t.unmet = append(t.unmet, i)
		}
	}
	t.after = after
	return t
}

// arrange is plan.Arrange without the jobs that stay as they are: to those that change, they
// are GPUs in use, as ordinary jobs are. So the time of plan.Arrange depends on how much changes,
// not on how many jobs run. In a rigid trial every size is a pin, for which plan.Arrange accepts
// no smaller one.
func (r *round) arrange(size []int) plan.Arrangement {
	few, a := r.snap, elastic.Allocation{}
	few.Jobs = nil
	for i := range r.jobs {
		j := &r.jobs[i]
		if _, moving := r.snap.Intent(j.ID); moving || size[i] != j.Now {
			few.Jobs = append(few.Jobs, r.snap.Jobs[i])
			if r.rigid {
				few.Jobs[len(few.Jobs)-1].Directive.Pin = size[i]
			}
			a[j.ID] = elastic.Decision{GPUs: size[i]}
		}
	}
	if len(few.Jobs) == 0 {
		return plan.Arrangement{} // all stay where they are
	}
	return plan.Arrange(few, a)
}

// fill finds the cheapest reduction of running jobs with which all sizes and wants fit. In
// size, running jobs have their size without reduction. It returns false if reducing all of
// them to their minimum is not enough.
//
// The knapsack counts GPUs and does not know nodes. So it proposes reductions that free the
// missing number of GPUs, and try decides whether they can be placed.
//
// It tries to free need GPUs, then need+1, +2, +4, ..., and last all that could be freed: with m
// of these it takes about log2(m) trials. need is a lower bound: what the jobs and wants without
// room lack, less what is idle where they may run. The result is size itself if no reduction is
// needed, else a new slice.
func (r *round) fill(size []int, wants []want) ([]int, bool) {
	t := r.try(size, wants)
	if t.ok() {
		return size, true
	}
	scarce := r.scarce(t, wants)
	need := max(1, r.lacking(t, size, wants)-scarce.free(t.after))
	classes, who, most := r.reductions(size, scarce)
	// The exact fill comes first. If splits over nodes make it impossible, more is given back,
	// doubling up to everything there is.
	for extra := 0; need <= most; extra = max(1, 2*extra) {
		k := min(need+extra, most)
		got, ok := r.reduced(size, classes, who, k)
		if ok && r.try(got, wants).ok() {
			if extra > 0 {
				r.restore(got, size, who, wants)
			}
			return got, true
		}
		if k == most {
			break
		}
	}
	return nil, false
}

// restore lets jobs keep what giving back would not help, the most expensive first. full has the
// sizes without reduction, and is not changed; who lists the jobs that may be reduced. size MUST
// fit before, and fits after.
func (r *round) restore(size, full, who []int, wants []want) {
	loss := func(i int) float64 { return r.jobs[i].cost(size[i]) - r.jobs[i].cost(full[i]) }
	order := slices.DeleteFunc(slices.Clone(who), func(i int) bool { return size[i] == full[i] })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(loss(b), loss(a)) })
	for _, i := range order {
		less := size[i]
		size[i] = full[i]
		if !r.try(size, wants).ok() {
			size[i] = less
		}
	}
}

// scarce returns the part of the cluster where the jobs without room may run.
func (r *round) scarce(t trial, wants []want) *pool {
	var pools []*pool
	for _, i := range t.short {
		pools = append(pools, r.jobs[i].pool)
	}
	for _, i := range t.unmet {
		pools = append(pools, r.pool(poolKey{wants[i].Partition, false, wants[i].Type}))
	}
	return union(pools)
}

// lacking sums the GPUs that the jobs and demands without room need beyond what they have. It is a
// lower bound of what has to be freed on the scarce nodes.
func (r *round) lacking(t trial, size []int, wants []want) int {
	sum := 0
	for _, i := range t.short {
		sum += size[i] - r.jobs[i].Now
	}
	for _, i := range t.unmet {
		sum += wants[i].GPUs
	}
	return sum
}

// reduced applies the cheapest reduction of exactly k GPUs, or of the least number above. It
// returns false if all reductions together free fewer than k. size is not changed.
func (r *round) reduced(size []int, classes [][]step, who []int, k int) ([]int, bool) {
	choice, _, _, ok := r.solver.Reduce(options(classes), k)
	if !ok {
		return nil, false
	}
	out := slices.Clone(size)
	for c, o := range choice {
		if o >= 0 {
			out[who[c]] = classes[c][o].to
		}
	}
	return out, true
}
