package search

import (
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// group is one point with its repeats as one trial: the mean of their metrics. Models see groups:
// two repeats of a noisy point are one sample with less noise, not two samples.
type group struct {
	point  space.Point
	trials []int
	state  State
	curve  []Measure
}

// merge joins the repeats of each point, which are consecutive trials. The curve of a group is the
// mean, epoch by epoch, of the repeats that did not fail, at epochs that all of them reported. A
// group runs while one of its trials does, is done if one of them is, else paused if one is, and
// failed if all of them are. asked MUST be canonical. A later trial of the same point that is no
// repeat, as of two tries that are the same, is a group of its own.
func merge(asked []Observation) []group {
	var groups []group
	for i := 0; i < len(asked); {
		n := i + 1
		for n < len(asked) && asked[n].Repeat > asked[n-1].Repeat && asked[n].Point.String() == asked[i].Point.String() {
			n++
		}
		groups = append(groups, join(asked[i:n]))
		i = n
	}
	return groups
}

// join makes one group of at least one trial. Epochs that only some repeats reached are left out: a
// mean over fewer trials would jump where one of them stopped. So while the slowest repeat is at epoch 3, the
// group's curve ends there. Epochs whose values have no finite sum are left out, too.
func join(repeats []Observation) group {
	g := group{point: repeats[0].Point, state: Failed}
	var sound []Observation
	for _, o := range repeats {
		g.trials = append(g.trials, o.Trial)
		g.state = first(g.state, o.State)
		if o.State != Failed {
			sound = append(sound, o)
		}
	}
	if len(sound) == 1 {
		g.curve = sound[0].Curve
		return g
	}
	sums, counts := map[int]float64{}, map[int]int{}
	var epochs []int
	for _, o := range sound {
		for _, m := range o.Curve {
			sums[m.Epoch] += m.Value
			if counts[m.Epoch]++; counts[m.Epoch] == len(sound) {
				epochs = append(epochs, m.Epoch)
			}
		}
	}
	slices.Sort(epochs)
	for _, e := range epochs {
		if mean := sums[e] / float64(len(sound)); !math.IsInf(mean, 0) && !math.IsNaN(mean) {
			g.curve = append(g.curve, Measure{e, mean})
		}
	}
	return g
}

// first is the state that decides that of the group. Running goes before Done: the mean of a group
// whose repeats are not all there would change later.
func first(a, b State) State {
	for _, s := range []State{Running, Done, Paused} {
		if a == s || b == s {
			return s
		}
	}
	return Failed
}

// Result is one point of a sweep with its repeats as one.
type Result struct {
	Point  space.Point
	Trials []int
	State  State
	Curve  []Measure
}

// Results joins the repeats of each point, in the order in which the points were suggested. It is
// for those who show a sweep: Suggest sees the same groups.
func Results(history []Observation) []Result {
	var list []Result
	for _, g := range merge(canonical(history)) {
		list = append(list, Result{g.point, g.trials, g.state, g.curve})
	}
	return list
}
