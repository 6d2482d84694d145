package costate

// Point is a size and the rate at which the whole of the job's remaining work is
// done with it, in 1/second.
type Point struct {
	GPUs float64
	Rate float64
}

// Hull is an upper concave hull: what the job has for certain, and the segments
// that follow, of falling slope.
type Hull struct {
	Floor    Point // size and rate the job has in any case; zero when it may be stopped
	Segments []Segment
}

// Segment is a stretch of a hull: Width GPUs, each worth Slope of rate.
type Segment struct {
	Width, Slope float64
}

// NewHull returns the hull of points with ascending GPUs, starting at the first
// one. Points after the greatest rate are left out: no rate is ever lower with more
// GPUs, since a job need not use them.
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
