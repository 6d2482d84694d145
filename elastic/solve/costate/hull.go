package costate

// Point is a size and the rate at which the job's whole remaining work is done at it, in 1/s.
type Point struct {
	GPUs float64
	Rate float64
}

// Hull is an upper concave hull: a floor that the job has in any case, and the segments that
// follow, with decreasing slope.
type Hull struct {
	Floor    Point // size and rate that the job has in any case; zero if it may be stopped
	Segments []Segment
}

// Segment is a linear part of a hull: Width GPUs, each of which adds Slope to the rate, in 1/s.
type Segment struct {
	Width, Slope float64
}

// NewHull returns the hull of points with ascending GPUs, from the first one on. Points after
// the largest rate are left out: no rate is lower with more GPUs, since a job need not use
// them. segments is memory for the result.
func NewHull(points []Point, segments []Segment) Hull {
	h := Hull{Floor: points[0], Segments: segments[:0]}
	last := points[0]
	for i := 0; i < len(points)-1; {
		best, slope := -1, 0.0
		for k := i + 1; k < len(points); k++ {
			if s := (points[k].Rate - last.Rate) / (points[k].GPUs - last.GPUs); s > slope {
				best, slope = k, s
			}
		}
		if best < 0 {
			break
		}
		h.Segments = append(h.Segments, Segment{points[best].GPUs - last.GPUs, slope})
		i, last = best, points[best]
	}
	return h
}
