package workload

// strip is the plane between two neighbouring columns, triangulated from below:
// a front runs from a shape of the left column to one of the right, and each
// triangle moves one of its ends up.
type strip struct{ left, right column }

// front is the ends of the front: indices into the columns.
type front struct{ l, r int }

// height returns the GPUs where the front crosses the nodes, the fraction f of
// the way from left to right.
func (s strip) height(at front, f float64) float64 {
	return float64(s.left.gpus[at.l])*(1-f) + float64(s.right.gpus[at.r])*f
}

// nearly forgives rounding in heights, which are fractions of whole GPUs.
const nearly = 1e-9

// corners returns the shapes around (nodes, gpus), nodes strictly between the
// columns; none outside.
func (s strip) corners(nodes, gpus int) []corner {
	f := float64(nodes-s.left.nodes) / float64(s.right.nodes-s.left.nodes)
	at, y := front{}, float64(gpus)
	if y < s.height(at, f)-nearly {
		return nil
	}
	for {
		next, ok := s.next(at)
		if !ok {
			break
		}
		if y <= s.height(next, f)+nearly {
			return s.within(at, next, f, y)
		}
		at = next
	}
	if y <= s.height(at, f)+nearly { // on the last front, or the only one
		return s.ends(at, f)
	}
	return nil
}

// next moves the front by the triangle that holds no other shape in its circle,
// or by both where all four lie on one circle; false at the top.
func (s strip) next(at front) (front, bool) {
	l, r := at.l+1 < len(s.left.gpus), at.r+1 < len(s.right.gpus)
	switch {
	case !l && !r:
		return at, false
	case l && r:
		side := s.circle(at)
		l, r = side <= 0, side >= 0
	}
	if l {
		at.l++
	}
	if r {
		at.r++
	}
	return at, true
}

// circle compares the shape right above with the circle through the front's ends
// and the shape left above: below 0 outside it, 0 on it, above 0 inside.
func (s strip) circle(at front) int {
	w := s.right.nodes - s.left.nodes
	a, b := s.left.gpus[at.l], s.left.gpus[at.l+1]
	c, d := s.right.gpus[at.r], s.right.gpus[at.r+1]
	// Coordinates relative to the shape left below: (0,0), (0,b-a), (w,c-a),
	// (w,d-a). The circle through the first three is x²+y² = px + (b-a)y with
	// pw = w² + (c-a)² - (b-a)(c-a); the fourth is inside when it is below.
	y3, y4, h := c-a, d-a, b-a
	pw := w*w + y3*y3 - h*y3
	return pw + h*y4 - (w*w + y4*y4)
}

// ends weighs the ends of a front.
func (s strip) ends(at front, f float64) []corner {
	return []corner{
		{shape{s.left.nodes, s.left.gpus[at.l]}, 1 - f},
		{shape{s.right.nodes, s.right.gpus[at.r]}, f},
	}
}

// within weighs the corners of the cell between two fronts: a triangle, or four
// shapes on a circle, whose two triangulations count half each.
func (s strip) within(at, next front, f, y float64) []corner {
	if next.l == at.l || next.r == at.r {
		return s.triangle(at, next, f, y, 1)
	}
	var all []corner
	for _, mid := range []front{{next.l, at.r}, {at.l, next.r}} {
		from, to := at, mid
		if y > s.height(mid, f) {
			from, to = mid, next
		}
		all = append(all, s.triangle(from, to, f, y, 0.5)...)
	}
	return all
}

// triangle shares a weight among the corners between two fronts that differ in
// one end.
func (s strip) triangle(at, next front, f, y, weight float64) []corner {
	low := s.height(at, f)
	u := min(1, max(0, (y-low)/(s.height(next, f)-low)))
	var out []corner
	for _, c := range s.ends(at, f) {
		c.weight *= weight * (1 - u)
		out = append(out, c)
	}
	for _, c := range s.ends(next, f) {
		c.weight *= weight * u
		out = append(out, c)
	}
	return out
}
