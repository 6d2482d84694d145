package network

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// member is one network. Its parameters are in one slice, which the matrices share.
//
// The order in all is: enter, row by row; bias; leave; offset. Derivatives are in the same order, so
// that Adam sees one list of numbers.
type member struct {
	all    []float64
	enter  *mat.Dense // inputs by hidden units
	bias   []float64  // of the hidden units
	leave  []float64  // from the hidden units to the output
	offset *float64   // of the output

	hidden, back mat.Dense // of the present batch, kept to reuse their memory
}

// newMember draws the first weights by Glorot and Bengio (AISTATS 2010, equation 16).
// Biases begin at 0.
func newMember(inputs, hidden int, rng *rand.Rand) *member {
	m := over(make([]float64, inputs*hidden+2*hidden+1), inputs, hidden)
	draw := func(w []float64, from, to int) {
		most := math.Sqrt(6 / float64(from+to))
		for i := range w {
			w[i] = most * (2*rng.Float64() - 1)
		}
	}
	draw(m.all[:inputs*hidden], inputs, hidden)
	draw(m.leave, hidden, 1)
	return m
}

// over returns a network that uses these parameters.
// all MUST have inputs*hidden + 2*hidden + 1 numbers.
func over(all []float64, inputs, hidden int) *member {
	m := &member{all: all}
	take := func(n int) []float64 { part := all[:n:n]; all = all[n:]; return part }
	m.enter = mat.NewDense(inputs, hidden, take(inputs*hidden))
	m.bias, m.leave = take(hidden), take(hidden)
	m.offset = &all[0]
	return m
}

// answer returns the output for one input, both standardised.
// It changes nothing of the member, unlike forward.
func (m *member) answer(in []float64) float64 {
	var h mat.VecDense
	h.MulVec(m.enter.T(), mat.NewVecDense(len(in), in))
	out := *m.offset
	for k, w := range m.leave {
		out += w * math.Tanh(h.AtVec(k)+m.bias[k])
	}
	return out
}

// forward returns the outputs of a batch, and leaves those of the hidden units in m.hidden.
func (m *member) forward(b *examples) *mat.VecDense {
	m.hidden.Reset()
	m.hidden.Mul(b.in, m.enter)
	rows, _ := m.hidden.Dims()
	for i := range rows {
		row := m.hidden.RawRowView(i)
		for k, z := range row {
			row[k] = math.Tanh(z + m.bias[k])
		}
	}
	var out mat.VecDense
	out.MulVec(&m.hidden, mat.NewVecDense(len(m.leave), m.leave))
	for i := range rows {
		out.SetVec(i, out.AtVec(i)+*m.offset)
	}
	return &out
}

// loss returns the weighted mean of the Huber loss over a batch, plus the weight decay.
// Training needs only its slope.
func (m *member) loss(b *examples) float64 {
	out, sum, total := m.forward(b), 0.0, 0.0
	for i, w := range b.weight {
		off := math.Abs(out.AtVec(i) - b.out[i])
		if off <= knee {
			sum += w * off * off / 2
		} else {
			sum += w * knee * (off - knee/2)
		}
		total += w
	}
	for _, p := range m.all {
		sum += total * decay / 2 * p * p
	}
	return sum / total
}

// slope writes the derivatives of loss with respect to the parameters (back-propagation).
// What was in slope is overwritten. The Huber loss makes the pull of an example at most knee.
func (m *member) slope(b *examples, slope []float64) {
	s := over(slope, len(b.in.RawRowView(0)), len(m.leave))
	out, total := m.forward(b), 0.0
	for _, w := range b.weight {
		total += w
	}
	pull := mat.NewVecDense(len(b.out), nil) // with respect to the outputs
	for i, w := range b.weight {
		pull.SetVec(i, w/total*min(knee, max(-knee, out.AtVec(i)-b.out[i])))
	}
	mat.NewVecDense(len(s.leave), s.leave).MulVec(m.hidden.T(), pull)
	m.back.Reset()
	m.back.Outer(1, pull, mat.NewVecDense(len(m.leave), m.leave))
	clear(s.bias)
	*s.offset = 0
	for i := range b.out {
		*s.offset += pull.AtVec(i)
		hidden, back := m.hidden.RawRowView(i), m.back.RawRowView(i)
		for k, h := range hidden {
			back[k] *= 1 - h*h // the derivative of tanh
			s.bias[k] += back[k]
		}
	}
	s.enter.Mul(b.in.T(), &m.back)
	for i, p := range m.all {
		slope[i] += decay * p
	}
}
