package policy

import (
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Bounds on measuring a job's speed in its first minutes (Spec.Profile).
const (
	// profileSamples is how many samples of a size are enough. It is a little below 2, because
	// samples lose weight as they age.
	profileSamples = 1.9
	// profileStay is how long a job stays at a size for samples, after its program has loaded.
	// A job without a sample by then is not measured there.
	profileStay = time.Minute
	// profileWithin is how long after its first start a job may be measured.
	profileWithin = 20 * time.Minute
	// profileDead bounds the sum of the dead times of its moves; profileShare bounds it as a
	// share of the job's expected time, if that is known.
	profileDead  = 5 * time.Minute
	profileShare = 0.1
)

// profile is applied to the answer of every policy that resizes. A job whose user asked for it
// starts at the smallest size whose speed is not known, stays there until it is measured, and
// goes on to the next larger one; then the policy decides as usual, with these measurements.
// Only idle GPUs are used: while any job waits for GPUs that the job could have, or the policy
// takes GPUs from it, nothing is measured. It is pure. It ends: sizes ascend, and time and dead
// time are bounded.
// Jobs are measured one after the other in the order of the snapshot: each measurement counts only if
// plan.Arrange gives every other job as many GPUs as before it (othersUnchanged).
func profile(s elastic.Snapshot, a elastic.Allocation) elastic.Allocation {
	var before plan.Arrangement
	for i := range s.Jobs {
		j := &s.Jobs[i]
		v, ok := measurementOf(s, j)
		if !ok {
			continue
		}
		d, ok := v.decide(j, a[j.ID])
		if !ok || wanted(s, a, j) {
			continue
		}
		if before.Target == nil {
			before = plan.Arrange(s, a)
		}
		next := maps.Clone(a)
		next[j.ID] = d
		if after := plan.Arrange(s, next); othersUnchanged(s, before, after, j.ID, d) {
			a, before = next, after
		}
	}
	return a
}

// profiling reports whether some running job is being measured.
func profiling(s elastic.Snapshot) bool {
	return slices.ContainsFunc(s.Jobs, func(j elastic.Job) bool {
		_, ok := measurementOf(s, &j)
		return ok && j.Phase == elastic.Running
	})
}

// measurement is the size at which a job is to be measured next, or now.
type measurement struct {
	gpus int
	at   int // its index in Spec.Profile, from 1
}

// measurementOf returns the next measurement of a job; false if there is none, or if the job
// may not be decided about.
//
// A job that waits is measured first at its smallest unknown size. One that runs stays for profileStay
// after its program has loaded, then goes on; there it needs a checkpoint answered before (Speaks),
// since only such a job can be moved, and what it may still spend on moves (affordable).
func measurementOf(s elastic.Snapshot, j *elastic.Job) (measurement, bool) {
	_, moving := s.Intent(j.ID)
	if len(j.Spec.Profile) == 0 || moving || j.Directive != (elastic.Directive{}) || j.Deaf > 0 || j.LosesCheckpoints() || !j.Unread.IsZero() {
		return measurement{}, false
	}
	if !j.Begun.IsZero() && s.Now.Sub(j.Begun) >= profileWithin {
		return measurement{}, false
	}
	switch {
	case j.Phase == elastic.Waiting:
		return nextMeasurement(j, 1)
	case j.Phase != elastic.Running || j.UserHold:
		return measurement{}, false
	}
	v, ok := nextMeasurement(j, j.GPUs())
	switch {
	case ok && v.gpus == j.GPUs() && s.Now.Sub(j.Started) < j.Price.Load+profileStay:
		return v, true
	case ok && v.gpus == j.GPUs(): // its time there is over
		v, ok = nextMeasurement(j, j.GPUs()+1)
	}
	return v, ok && j.Speaks && affordable(j)
}

// nextMeasurement returns the smallest size from least on that is still to be measured.
// Spec.Profile is ascending, so that the first hit is the smallest.
func nextMeasurement(j *elastic.Job, least int) (measurement, bool) {
	for i, n := range j.Spec.Profile {
		if n >= least && j.Curve.Tried(n) < profileSamples {
			return measurement{n, i + 1}, true
		}
	}
	return measurement{}, false
}

// affordable reports whether another move for a measurement stays within the bounds.
// The bound is profileDead, or profileShare of the time that the job still needs at its present size if
// that is known and less. At most two moves a size of Spec.Profile are counted, whatever they cost.
func affordable(j *elastic.Job) bool {
	most := profileDead
	if left, ok := j.Remaining(); ok && j.Curve.Samples() > 0 {
		seconds, _ := j.Curve.Seconds(speed.Shape{GPUs: j.GPUs(), Nodes: len(j.Place)})
		if share := profileShare * left * seconds; share < most.Seconds() {
			most = time.Duration(share * float64(time.Second))
		}
	}
	moves := max(0, j.Incarnation-1) + 1 // the first move was the start
	return moves <= 2*len(j.Spec.Profile) && time.Duration(moves)*j.Price.Total() <= most
}

// decide returns the measurement as a decision in place of the policy's; false if the policy's
// is kept because it gives the job nothing, or takes GPUs away.
// A waiting job starts at the size to measure only if the policy gives it at least that many GPUs: a
// measurement never starts a job that would wait, nor one larger than the policy would.
func (v measurement) decide(j *elastic.Job, d elastic.Decision) (elastic.Decision, bool) {
	now := j.GPUs()
	why := reason.Measures{Size: v.at, Sizes: len(j.Spec.Profile)}
	switch {
	case d.GPUs < max(1, now):
		return d, false
	case now == 0 && v.gpus > d.GPUs:
		return d, false
	case now == 0:
		return elastic.Decision{GPUs: v.gpus, Why: reason.Starts{GPUs: v.gpus, Because: why}}, true
	case v.gpus == now:
		return elastic.Decision{GPUs: now, Place: j.Place, Why: reason.Keeps{GPUs: now, Because: why}}, true
	}
	why.Idle = true
	return elastic.Decision{GPUs: v.gpus, Why: reason.Resizes{From: now, To: v.gpus, Because: why}}, true
}

// wanted reports whether a job waits for GPUs that the job has or could have: an ordinary job,
// or one of sluice's that gets none from the policy.
// Jobs whose user holds them want nothing.
func wanted(s elastic.Snapshot, a elastic.Allocation, j *elastic.Job) bool {
	for _, d := range s.Demands {
		if overlap(s, d.Partition, j.Partition) {
			return true
		}
	}
	for i := range s.Jobs {
		k := &s.Jobs[i]
		if k.Phase == elastic.Waiting && !k.Directive.Hold && k.ID != j.ID && a[k.ID].GPUs == 0 && overlap(s, k.Partition, j.Partition) {
			return true
		}
	}
	return false
}

// overlap reports whether two lists of partitions share a usable node with GPUs.
// Both lists are separated by commas. A virtual partition ("lab@n1") counts for its own nodes only.
func overlap(s elastic.Snapshot, one, other string) bool {
	return slices.ContainsFunc(s.Nodes, func(n nodes.Node) bool {
		return n.Usable && n.GPUs > 0 && n.InAny(one) && n.InAny(other)
	})
}

// othersUnchanged reports whether the job gets what it was given, and every other job as much
// as before.
// Others may be placed elsewhere than before; only sizes are compared. It is false too if more jobs than
// before find no place. before MUST be plan.Arrange of the allocation without d, after of that with it.
func othersUnchanged(s elastic.Snapshot, before, after plan.Arrangement, id elastic.JobID, d elastic.Decision) bool {
	if after.Target[id].GPUs() != d.GPUs || len(after.Unplaced) > len(before.Unplaced) {
		return false
	}
	for i := range s.Jobs {
		k := s.Jobs[i].ID
		if k != id && after.Target[k].GPUs() != before.Target[k].GPUs() {
			return false
		}
	}
	return true
}
