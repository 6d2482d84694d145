package speed

import (
	"math"
	"slices"
)

// residual models how the measured shapes deviate from the form, in the logarithm of time: a
// Gaussian process over shapes (kriging; Rasmussen and Williams, Gaussian Processes for Machine
// Learning, 2006, algorithm 2.1). Shapes near a measured one share its deviation; far from all
// of them the form is used alone, and the process gives the uncertainty.
type residual struct {
	at     []where
	lower  [][]float64 // Cholesky factor of the points' covariance
	weight []float64   // inverse covariance times the deviations of the points
}

const (
	// deviation is the relative standard deviation of shapes from the form.
	deviation = 0.12
	// reach is the distance, in doublings of GPUs or of nodes, at which the correlation of the
	// deviations of two shapes falls to 1/e.
	reach = 1.0
	// apart is the additional distance between a shape on one node and one on several, because
	// the network is used.
	apart = 0.5
	// scatter and ripple are the relative standard deviations of a sample and of the splits
	// within a shape: the parts of a shape's deviation that other shapes do not share.
	scatter, ripple = 0.03, 0.02
	// farthest bounds the deviation of one shape: a factor of e^3 is an error in the samples.
	farthest = 3
	// mostPoints bounds the number of shapes used, those with the most samples: the time of the
	// factorization is cubic in it.
	mostPoints = 40
)

// where is a shape as a point of the process: doublings of GPUs and of nodes.
type where struct {
	gpus, nodes float64
	spans       bool // more than one node
}

func (s Shape) where() where {
	return where{math.Log2(float64(s.GPUs)), math.Log2(float64(s.Nodes)), s.Nodes > 1}
}

// covariance returns the covariance of the deviations of two shapes.
func (w where) covariance(v where) float64 {
	d := (math.Abs(w.gpus-v.gpus) + math.Abs(w.nodes-v.nodes)) / reach
	if w.spans != v.spans {
		d += apart
	}
	return deviation * deviation * math.Exp(-d)
}

// newResidual returns the deviation of the points from the form.
func newResidual(points []point, f form) residual {
	points = weightiest(points)
	var r residual
	for i, p := range points {
		w := p.where()
		row := make([]float64, i+1)
		for j, v := range r.at {
			row[j] = w.covariance(v)
		}
		row[i] = w.covariance(w) + scatter*scatter/p.count + ripple*ripple
		off := min(max(math.Log(p.seconds/f.seconds(p.Shape)), -farthest), farthest)
		r.add(w, row, off)
	}
	r.transpose()
	return r
}

// add adds a point: its covariance with those before it and with itself, and its deviation. The
// noise of every point keeps the factor regular.
func (r *residual) add(w where, row []float64, off float64) {
	i := len(r.at)
	own := row[i]
	r.solve(row[:i])
	for k, x := range row[:i] {
		own -= x * x
		off -= x * r.weight[k]
	}
	row[i] = math.Sqrt(own)
	r.at, r.lower, r.weight = append(r.at, w), append(r.lower, row), append(r.weight, off/row[i])
}

// transpose turns the weights from lower^-1 times the deviations, as add leaves
// them, into those of the inverse covariance: lower^-T times that.
func (r *residual) transpose() {
	for i := len(r.weight) - 1; i >= 0; i-- {
		r.weight[i] /= r.lower[i][i]
		for k, x := range r.lower[i][:i] {
			r.weight[k] -= x * r.weight[i]
		}
	}
	r.lower = nil
}

// solve replaces v by lower^-1 v.
func (r *residual) solve(v []float64) {
	for i := range v {
		for k, x := range r.lower[i][:i] {
			v[i] -= x * v[k]
		}
		v[i] /= r.lower[i][i]
	}
}

// of returns the expected deviation of a shape.
// It is a logarithm: 0.1 means some 10 % slower than the form says.
func (r *residual) of(s Shape) float64 {
	w, mean := s.where(), 0.0
	for i, have := range r.at {
		mean += w.covariance(have) * r.weight[i]
	}
	return mean
}

// weightiest returns the points with the most samples, in their order, if there are too many.
func weightiest(points []point) []point {
	if len(points) <= mostPoints {
		return points
	}
	counts := make([]float64, len(points))
	for i, p := range points {
		counts[i] = p.count
	}
	slices.Sort(counts)
	least := counts[len(counts)-mostPoints]
	out := make([]point, 0, mostPoints)
	for pass := range 2 { // first those above the limit, then as many at the limit as fit
		for _, p := range points {
			if len(out) < mostPoints && (pass == 0 && p.count > least || pass == 1 && p.count == least) {
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, func(a, b point) int { return a.compare(b.Shape) })
	return out
}
