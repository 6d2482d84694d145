package workload

import "slices"

// place is a split of up to 16 nodes as a map's key: four bits a node, the last
// node lowest.
type place uint64

// What a place can say at most.
const placedNodes, placedGPUs = 16, 9

// split is the place as Seconds takes it.
func (p place) split() (out []int) {
	for ; p > 0; p >>= 4 {
		out = append(out, int(p&15))
	}
	slices.Reverse(out)
	return out
}

// digits reads "1243" as a split over four nodes.
func digits(text string) ([]int, bool) {
	split := make([]int, len(text))
	for i, c := range []byte(text) {
		split[i] = int(c) - '0'
	}
	_, ok := exactly(split)
	return split, ok
}

// exactly returns the place of a split, its order kept; false if the split does not fit one.
func exactly(split []int) (key place, ok bool) {
	if len(split) < 1 || len(split) > placedNodes {
		return 0, false
	}
	for _, g := range split {
		if g < 1 || g > placedGPUs {
			return 0, false
		}
		key = key<<4 | place(g)
	}
	return key, true
}

// rotated is the smallest rotation of a split that fits a place. Rings of GPUs
// that differ in where they begin are the same ring.
func rotated(split []int) place {
	best, _ := exactly(split)
	for i := 1; i < len(split); i++ {
		if key, _ := exactly(slices.Concat(split[i:], split[:i])); key < best {
			best = key
		}
	}
	return best
}

func total(split []int) int {
	n := 0
	for _, g := range split {
		n += g
	}
	return n
}

// line is what was measured on one split, ascending by batch.
type line struct {
	locals []int
	at     []times
}

func (l line) free(local int) bool {
	_, taken := slices.BinarySearch(l.locals, local)
	return !taken
}

// with returns the line with one more measurement.
func (l line) with(local int, at times) line {
	i, _ := slices.BinarySearch(l.locals, local)
	return line{slices.Insert(l.locals, i, local), slices.Insert(l.at, i, at)}
}

// read interpolates linearly; false outside what was measured.
func (l line) read(local int) (times, bool) {
	i, hit := slices.BinarySearch(l.locals, local)
	switch {
	case hit:
		return l.at[i], true
	case i == 0 || i == len(l.locals):
		return times{}, false
	}
	f := float64(local-l.locals[i-1]) / float64(l.locals[i]-l.locals[i-1])
	return l.at[i-1].toward(l.at[i], f), true
}

// toward is the fraction f of the way from one step to the other.
func (t times) toward(u times, f float64) times {
	return times{t.step*(1-f) + u.step*f, t.sync*(1-f) + u.sync*f}
}
