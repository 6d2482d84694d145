package network

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// ErrNoExamples: there are no examples to learn from.
var ErrNoExamples = errors.New("a network cannot learn from no examples; give at least one")

// ErrInput: an input does not have the form of the examples.
var ErrInput = errors.New("an input must have as many numbers as the examples, all of them finite")

// BadExample is an example that cannot be used.
type BadExample struct {
	Index int // from 0
	Why   string
}

// Error returns what is wrong, with the index of the example.
func (e *BadExample) Error() string { return fmt.Sprintf("example %d: %s", e.Index, e.Why) }

// largest bounds the numbers of examples: the squares of larger ones overflow.
const largest = 1e100

// check returns the first error in examples.
func check(examples []Example) error {
	if len(examples) == 0 {
		return ErrNoExamples
	}
	width := len(examples[0].In)
	if width == 0 {
		return &BadExample{0, "no input"}
	}
	for i, e := range examples {
		switch {
		case len(e.In) != width:
			return &BadExample{i, fmt.Sprintf("%d inputs where the first has %d", len(e.In), width)}
		case !finite(e.In...) || !finite(e.Out):
			return &BadExample{i, "an input or the output is infinite, NaN or too large"}
		case !(e.Weight > 1/largest && e.Weight < largest):
			return &BadExample{i, fmt.Sprintf("weight %g: want more than 0", e.Weight)}
		}
	}
	return nil
}

// finite reports whether all numbers are finite and within largest.
func finite(x ...float64) bool {
	for _, v := range x {
		if !(math.Abs(v) < largest) {
			return false
		}
	}
	return true
}

// scales convert numbers into standard deviations from their mean, column by column.
type scales struct{ mean, spread []float64 }

// scalesOf measures the columns of examples. A column that never varies gets spread 0: nothing
// was learned about it, so it must have no effect.
// Weights do not count here.
func scalesOf(columns int, examples []Example, of func(Example, int) float64) scales {
	s := scales{make([]float64, columns), make([]float64, columns)}
	n := float64(len(examples))
	for j := range columns {
		for _, e := range examples {
			s.mean[j] += of(e, j) / n
		}
		for _, e := range examples {
			off := of(e, j) - s.mean[j]
			s.spread[j] += off * off / n
		}
		s.spread[j] = math.Sqrt(s.spread[j])
		if s.spread[j] <= 1e-9*math.Abs(s.mean[j]) { // rounding error
			s.spread[j] = 0
		}
	}
	return s
}

// farthest bounds the distance of an input from the examples' mean, in standard deviations.
// Farther out the network has learned nothing, and its answer stays constant.
const farthest = 10

// apply writes the standardised numbers into to.
// from and to have one number for each column.
func (s scales) apply(from, to []float64) {
	for j, x := range from {
		to[j] = 0
		if s.spread[j] > 0 {
			to[j] = min(farthest, max(-farthest, (x-s.mean[j])/s.spread[j]))
		}
	}
}

// examples are standardised, one per row.
type examples struct {
	in          *mat.Dense
	out, weight []float64
}

// newExamples returns room for this many.
func newExamples(rows, columns int) *examples {
	return &examples{mat.NewDense(rows, columns, nil), make([]float64, rows), make([]float64, rows)}
}

// standardised returns the examples in the units in which members learn. Outputs are bounded as inputs
// are, at farthest.
func (n *Network) standardised(from []Example) *examples {
	all := newExamples(len(from), len(n.in.mean))
	heaviest := 0.0
	for _, e := range from {
		heaviest = max(heaviest, e.Weight)
	}
	for i, e := range from {
		n.in.apply(e.In, all.in.RawRowView(i))
		n.out.apply([]float64{e.Out}, all.out[i:i+1])
		all.weight[i] = max(1e-9, e.Weight/heaviest)
	}
	return all
}

// deck deals examples in batches: each example once before any comes again.
type deck struct {
	all, batch *examples
	order      []int
	dealt      int
}

// newDeck returns a deck; if all examples fit into a batch, each batch is all of them.
func newDeck(all *examples, batch int) *deck {
	rows, columns := all.in.Dims()
	d := &deck{all: all, batch: all}
	if rows > batch {
		d.batch = newExamples(batch, columns)
	}
	return d
}

// next returns a batch, valid until the next call. A batch may span two rounds of dealing.
func (d *deck) next(rng *rand.Rand) *examples {
	if d.batch == d.all {
		return d.all
	}
	for i := range d.batch.out {
		if d.dealt == len(d.order) {
			d.order, d.dealt = rng.Perm(len(d.all.out)), 0
		}
		from := d.order[d.dealt]
		d.batch.in.SetRow(i, d.all.in.RawRowView(from))
		d.batch.out[i], d.batch.weight[i] = d.all.out[from], d.all.weight[from]
		d.dealt++
	}
	return d.batch
}
