package learn

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sluice-hpc/sluice/elastic/learn/predict"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// observationsOf merges the samples of each configuration into one observation, their median,
// weighted by their number. It keeps the mostObservations with most samples. The median of an even
// number is the lower one, which was measured. Samples that no predictor can use (predict.Check)
// are left out: programs write them.
func observationsOf(samples []speed.Sample) []predict.Observation {
	var out []predict.Observation
	seconds := map[string][]float64{}
	at := map[string]int{}
	for _, s := range samples {
		o := predict.Observation{Configuration: predict.Configuration{Split: possibleSplit(s), Kind: s.Kind, Beside: max(0, s.Beside)}, Seconds: s.Seconds}
		if predict.Check([]predict.Observation{o}) != nil {
			continue
		}
		key := placeWords(o.Configuration) + " " + strconv.Itoa(o.Beside)
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, o)
		}
		seconds[key] = append(seconds[key], s.Seconds)
	}
	for key, i := range at {
		all := seconds[key]
		slices.Sort(all)
		out[i].Seconds, out[i].Weight = all[(len(all)-1)/2], float64(len(all))
	}
	slices.SortStableFunc(out, func(a, b predict.Observation) int { return cmp.Compare(b.Weight, a.Weight) })
	return out[:min(len(out), mostObservations)]
}

// possibleSplit returns a sample's split; nil if its shape is impossible. A program may report any
// numbers, and the most even split of such a shape does not exist.
func possibleSplit(s speed.Sample) []int {
	if s.Nodes < 1 || s.GPUs < s.Nodes {
		return nil
	}
	return splitOf(s)
}

// kindsBySamples returns the kinds of GPU, the one with most samples first. Of equal ones the first
// by name, so that the order does not depend on that of the samples.
func kindsBySamples(observations []predict.Observation) []string {
	weight := map[string]float64{}
	var out []string
	for _, o := range observations {
		if weight[o.Kind] == 0 {
			out = append(out, o.Kind)
		}
		weight[o.Kind] += o.Weight
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b)) })
	return out
}

// besideOf returns the median number of neighbouring jobs.
func besideOf(samples []speed.Sample) int {
	if len(samples) == 0 {
		return 0
	}
	all := make([]int, len(samples))
	for i, s := range samples {
		all[i] = max(0, s.Beside)
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
