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
	// enoughShapes is in how many shapes a model must have been timed before anybody is
	// held against its curve: of fewer, too few can be held back.
	enoughShapes = 6
	// mostObservations bounds what is learned from, those with most samples: it bounds
	// how long learning takes, 0.3 s of CPU time.
	mostObservations = 40
	// stale is the age at which a choice is made again, if there are new samples.
	stale = 6 * time.Hour
)

// foreseers are who may answer for shapes nobody tried. The first does unless another
// is better.
var foreseers = []predict.Form{predict.Curve, predict.LeastSquares, predict.Network}

// foresight is who is believed of one series of samples.
type foresight struct {
	read   reading
	chosen reading // when the choice was made
	at     time.Time
	where  []string        // the places learned from, in order
	choice *predict.Choice // nil = too few shapes
	kinds  []string        // of GPU, the one most samples are of first
	beside int             // other jobs on the nodes, in the middle
}

// reading tells whether there are new samples.
type reading struct {
	count int
	last  time.Time
}

func readingOf(samples []speed.Sample) reading {
	if len(samples) == 0 {
		return reading{}
	}
	return reading{len(samples), samples[len(samples)-1].At}
}

// Foresee settles for one model, at most, who is believed of shapes nobody tried, and
// only where there are new samples: learning takes its time, and the next cycle comes.
func (m *Memory) Foresee(jobs iter.Seq[Keys], now time.Time) {
	for of := range jobs {
		if m.look(m.telling(of), now) {
			delete(m.curves, of.Units)
			return
		}
	}
}

// series is which samples of a model say most of its speed in different places.
type series struct {
	units, steps reading
	key          string
}

// telling is the key of the samples that say most of the job's speed in different places:
// those of its unit of work, unless steps were timed in more shapes. It looks at what is
// in memory alone.
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

func countShapes(samples []speed.Sample) int {
	seen := map[speed.Shape]bool{}
	for _, s := range samples {
		seen[s.Shape] = true
	}
	return len(seen)
}

// look reads a series of samples; it reports whether anything was learned.
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
	observations := observationsOf(samples)
	where := placesOf(observations)
	if countShapes(samples) < enoughShapes || f.choice != nil && !f.outgrown(where, now) {
		return false
	}
	choice, err := predict.Choose(foreseers, observations, shapeWords)
	if err != nil {
		return false // a model that nothing can be said of keeps its curve
	}
	*f = foresight{read: read, chosen: read, at: now, where: where, choice: choice, kinds: kindsBySamples(observations), beside: besideOf(samples)}
	return true
}

// outgrown reports whether a choice was made of much less than there is now.
func (f *foresight) outgrown(where []string, now time.Time) bool {
	return !slices.Equal(f.where, where) || f.read.count >= 2*f.chosen.count || now.Sub(f.at) >= stale
}

// answer is a speed.Prediction.
func (f *foresight) answer(kind string, s speed.Shape) (seconds float64, believed bool) {
	q := f.question(kind, s.Even())
	seconds, err := f.choice.Seconds(q)
	return seconds, err == nil && f.choice.Believed(q) > 0
}

// question is a configuration as the samples know them.
func (f *foresight) question(kind string, split []int) predict.Configuration {
	if kind == "" && len(f.kinds) > 0 {
		kind = f.kinds[0]
	}
	return predict.Configuration{Split: split, Kind: kind, Beside: f.beside}
}

// shapeWords says which observations are held back together: questions are for shapes that
// nobody tried, whatever the split, the kind of node and the neighbours.
func shapeWords(c predict.Configuration) string {
	return strconv.Itoa(c.GPUs()) + "/" + strconv.Itoa(len(c.Split))
}

// placeWords names the place of an observation, whoever was beside.
func placeWords(c predict.Configuration) string { return SplitWords(c.Split) + " " + c.Kind }

func placesOf(observations []predict.Observation) []string {
	var out []string
	for _, o := range observations {
		out = append(out, placeWords(o.Configuration))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// splitOf reads what SplitWords wrote; of samples without it, or with one that is not of
// their shape, the most even split.
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

// SplitWords writes a split largest first: "4,2".
func SplitWords(split []int) string {
	sorted := slices.Clone(split)
	slices.SortFunc(sorted, func(a, b int) int { return b - a })
	words := make([]string, len(sorted))
	for i, g := range sorted {
		words[i] = strconv.Itoa(g)
	}
	return strings.Join(words, ",")
}
