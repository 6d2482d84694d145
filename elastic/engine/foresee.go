package engine

import (
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

// foresee settles for one model, at most, who is believed of shapes nobody tried, and
// only where there are new samples: learning takes its time, and the next cycle comes.
func (e *Engine) foresee(now time.Time) {
	for _, js := range e.ordered() {
		if js.rec.Ended.IsZero() && e.look(e.telling(js.rec), now) {
			delete(e.curves, e.modelOf(js.rec))
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
func (e *Engine) telling(rec JobRecord) string {
	units, steps := e.modelOf(rec), e.paceOf(rec)
	s := series{readingOf(e.samples[units]), readingOf(e.samples[steps]), units}
	if had, known := e.series[units]; known && had.units == s.units && had.steps == s.steps {
		return had.key
	}
	if countShapes(e.samples[steps]) > countShapes(e.samples[units]) {
		s.key = steps
	}
	e.series[units] = s
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
func (e *Engine) look(key string, now time.Time) bool {
	samples := e.samples[key]
	read := readingOf(samples)
	f := e.foreseen[key]
	if f != nil && f.read == read {
		return false
	}
	if f == nil {
		f = &foresight{}
		e.foreseen[key] = f
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

// answer is a speed.Foretold.
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
func placeWords(c predict.Configuration) string { return splitWords(c.Split) + " " + c.Kind }

func placesOf(observations []predict.Observation) []string {
	var out []string
	for _, o := range observations {
		out = append(out, placeWords(o.Configuration))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// splitOf reads what splitWords wrote; of samples without it, or with one that is not of
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
