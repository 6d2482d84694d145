package learn

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/predict"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

const (
	// enoughShapes is the number of shapes in which a model must have been timed before
	// predictors are compared with its curve: with fewer, cross-validation has too few folds.
	enoughShapes = 6
	// mostObservations bounds the observations used, those with most samples, and so the time
	// that a comparison takes: about 0.3 s of CPU time.
	mostObservations = 40
	// stale is the age from which a choice is made again, if there are new samples.
	stale = 6 * time.Hour
)

// foreseers are the predictors for shapes that were not tried. The first is used unless another is
// better.
var foreseers = []predict.Form{predict.Curve, predict.LeastSquares, predict.Network}

// foresight is the choice of a predictor for one series of samples. It is replaced as a whole,
// except read, which follows the samples: a series is looked at once for each change.
type foresight struct {
	read   reading
	chosen reading // when the choice was made
	at     time.Time
	where  []string        // the splits and kinds of GPU in the samples, sorted
	choice *predict.Choice // nil = too few shapes
	kinds  []string        // kinds of GPU, the one with most samples first
	beside int             // median number of other jobs on the nodes
}

// reading identifies the state of a series, to detect new samples.
type reading struct {
	count int
	last  time.Time
}

// readingOf identifies a series by its length and its last sample: a new sample makes it longer or,
// at MaxSamples, changes the last time.
func readingOf(samples []speed.Sample) reading {
	if len(samples) == 0 {
		return reading{}
	}
	return reading{len(samples), samples[len(samples)-1].At}
}

// Foresee chooses a predictor for at most one model with new samples. A choice takes a while, so
// that other models are left to the next cycles.
//
// It uses only samples in memory, and does nothing for series that did not change. The curve with
// the new choice comes with the next Fit.
func (m *Memory) Foresee(jobs iter.Seq[Keys], now time.Time) {
	for of := range jobs {
		if m.look(m.telling(of), now) {
			delete(m.curves, of.Units)
			return
		}
	}
}

// series caches which samples of a model cover most shapes.
type series struct {
	units, steps reading
	key          string
}

// telling returns the key of the job's samples that cover most shapes: those of its unit of work,
// unless steps were timed in more shapes. It uses only samples in memory.
func (m *Memory) telling(of Keys) string {
	s := series{readingOf(m.samples[of.Units]), readingOf(m.samples[of.Steps]), of.Units}
	if had, known := m.series[of.Units]; known && had.units == s.units && had.steps == s.steps {
		return had.key
	}
	if countShapes(m.samples[of.Steps]) > countShapes(m.samples[of.Units]) {
		s.key = of.Steps
	}
	m.series[of.Units] = s
	return s.key
}

// countShapes counts (GPUs, nodes): splits and kinds of GPU of one shape count once, as the folds
// of cross-validation do.
func countShapes(samples []speed.Sample) int {
	seen := map[speed.Shape]bool{}
	for _, s := range samples {
		seen[s.Shape] = true
	}
	return len(seen)
}

// look chooses a predictor for a series if that is due, and reports whether it did.
//
//	nothing new since the last look                    false
//	fewer than enoughShapes shapes                     false; an earlier choice stays
//	a choice that is not outgrown                      false; it stays, with its fit of then
//	no predictor can be fitted                         false; an earlier choice stays
//	else                                               a new choice: true
func (m *Memory) look(key string, now time.Time) bool {
	samples := m.samples[key]
	read := readingOf(samples)
	f := m.foreseen[key]
	if f != nil && f.read == read {
		return false
	}
	if f == nil {
		f = &foresight{}
		m.foreseen[key] = f
	}
	f.read = read
	if countShapes(samples) < enoughShapes {
		return false
	}
	observations := observationsOf(samples)
	where := placesOf(observations)
	if f.choice != nil && !f.outgrown(where, now) {
		return false
	}
	choice, err := predict.Choose(foreseers, observations, shapeWords)
	if err != nil {
		return false // no predictor can be fitted: keep the curve
	}
	*f = foresight{read: read, chosen: read, at: now, where: where, choice: choice, kinds: kindsBySamples(observations), beside: besideOf(samples)}
	return true
}

// outgrown reports whether the choice is outdated: new splits or kinds of GPU, twice as many
// samples, or stale.
func (f *foresight) outgrown(where []string, now time.Time) bool {
	return !slices.Equal(f.where, where) || f.read.count >= 2*f.chosen.count || now.Sub(f.at) >= stale
}

// answer implements speed.Prediction. used is false where the choice is the first form, which is
// the curve itself, or where there is no answer.
func (f *foresight) answer(kind string, s speed.Shape) (seconds float64, used bool) {
	q := f.question(kind, s.Even())
	seconds, err := f.choice.Seconds(q)
	return seconds, err == nil && f.choice.FormOf(q) > 0
}

// question returns the configuration to predict: kind "" is the kind with most samples, and the
// number of neighbouring jobs is their median.
func (f *foresight) question(kind string, split []int) predict.Configuration {
	if kind == "" && len(f.kinds) > 0 {
		kind = f.kinds[0]
	}
	return predict.Configuration{Split: split, Kind: kind, Beside: f.beside}
}

// shapeWords is the fold of an observation in cross-validation. All observations of a shape are in
// one fold, whatever their split, kind of GPU and neighbours, since predictions are made for
// shapes that were not tried.
func shapeWords(c predict.Configuration) string {
	return strconv.Itoa(c.GPUs()) + "/" + strconv.Itoa(len(c.Split))
}

// placeWords returns an observation's split and kind of GPU.
func placeWords(c predict.Configuration) string { return SplitWords(c.Split) + " " + c.Kind }

// placesOf returns the distinct splits and kinds of the observations, sorted, to see whether there
// are new ones.
func placesOf(observations []predict.Observation) []string {
	var out []string
	for _, o := range observations {
		out = append(out, placeWords(o.Configuration))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// splitOf parses a sample's split (see SplitWords). If it is missing or does not fit the sample's
// shape, it returns the most even split.
func splitOf(s speed.Sample) []int {
	var out []int
	sum := 0
	for word := range strings.SplitSeq(s.Split, ",") {
		g, err := strconv.Atoi(word)
		if err != nil || g < 1 {
			return s.Even()
		}
		out, sum = append(out, g), sum+g
	}
	if sum != s.GPUs || len(out) != s.Nodes {
		return s.Even()
	}
	return out
}

// SplitWords formats a split, largest first: "4,2".
func SplitWords(split []int) string {
	sorted := slices.Clone(split)
	slices.SortFunc(sorted, func(a, b int) int { return b - a })
	words := make([]string, len(sorted))
	for i, g := range sorted {
		words[i] = strconv.Itoa(g)
	}
	return strings.Join(words, ",")
}
