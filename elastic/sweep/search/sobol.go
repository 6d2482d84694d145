package search

import (
	"math/bits"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// sobol is the next point of the scrambled sequence that satisfies the constraints and was not
// tried. Its place in the sequence follows from how many points were suggested before: those that
// the constraints reject are skipped again each time. Each dimension has a scrambling of its own,
// and all suggestions the same. Without constraints the place is the number of points suggested.
// With them the sequence is gone through from its begin, and once it has met space.Draws rejected
// points the rest is drawn at random (fresh): constraints that leave one point in 100 get some 100
// points of the sequence.
func (p Problem) sobol(groups []group) (space.Point, error) {
	tried := triedIn(groups)
	seeds := make([]uint32, len(p.Space.Parameters()))
	rng := p.random(0, "sobol")
	for i := range seeds {
		seeds[i] = rng.Uint32()
	}
	// place counts the points that satisfy the constraints, i those of the sequence.
	place, i, refused := 0, uint32(0), 0
	if len(p.Space.Wheres()) == 0 {
		place, i = len(groups), uint32(len(groups))
	}
	for ; refused < space.Draws; i++ {
		point := p.Space.At(sobolPoint(i, seeds))
		if !p.Space.Satisfies(point) {
			refused++
			continue
		}
		if place >= len(groups) && !tried[point.String()] {
			return point, nil
		}
		if place++; place > len(groups)+duplicates {
			return space.Point{}, ErrExhausted
		}
	}
	return p.fresh(groups)
}

// sobolPoint is point i of the sequence that the seeds scramble, one coordinate for each seed. The
// half puts each coordinate into the middle of its 2^-32, so none is 0 or 1.
func sobolPoint(i uint32, seeds []uint32) []float64 {
	u := make([]float64, len(seeds))
	for d := range u {
		u[d] = (float64(scramble(sobolAt(i, d), seeds[d])) + .5) / (1 << 32)
	}
	return u
}

// sobolAt is coordinate d of point i of the Sobol sequence as 32 binary digits after the point
// (Bratley and Fox, algorithm 659, 1988), d < 64. Dimension 0 is the van der Corput sequence.
// Direction numbers v[k] follow from the first s ones of the table, by the recurrence of the
// dimension's polynomial of degree s; the coordinate is the exclusive or of those at the ones of i.
// Only as many are made as i has digits.
func sobolAt(i uint32, d int) uint32 {
	if d == 0 {
		return bits.Reverse32(i)
	}
	t := directions[(d-1)%len(directions)]
	s := len(t.first)
	var v [32]uint32
	x := uint32(0)
	for k := range 32 {
		if i>>k == 0 {
			break
		}
		if k < s {
			v[k] = t.first[k] << (31 - k)
		} else {
			v[k] = v[k-s] ^ v[k-s]>>s
			for j := 1; j < s; j++ {
				if t.polynomial>>(s-j)&1 == 1 {
					v[k] ^= v[k-j]
				}
			}
		}
		if i>>k&1 == 1 {
			x ^= v[k]
		}
	}
	return x
}

// scramble is Owen's nested uniform scrambling by a hash (Burley, Practical Hash-based Owen
// Scrambling, JCGT 9, 2020): the sequence stays as even, and the seed decides all digits. Between
// the two reversals each digit changes by lower ones only, that is, by those before it in the
// number: such a change keeps every elementary interval's number of points.
func scramble(x, seed uint32) uint32 {
	x = bits.Reverse32(x)
	x += seed
	x ^= x * 0x6c50b47c
	x ^= x * 0xb82f1e52
	x ^= x * 0xc7afe638
	x ^= x * 0x8d22f6e6
	return bits.Reverse32(x)
}
