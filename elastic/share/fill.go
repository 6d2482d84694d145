package share

import (
	"cmp"
	"math"
	"slices"
)

// fill divides the GPUs between siblings in proportion to their shares, so that each has at
// least its least and at most its want: part = clamp(level * shares, least, want), with the one
// level at which the sum is right. It costs O(n log n).
//
// 10 GPUs for phys (60 shares, wants 8), bio (30, wants 2) and chem (10, wants 9): at the level
// .1 they have 6, 2 (3 is more than it wants) and 1, in sum 9; at .114 6.86, 2 and 1.14.
//
// Members without shares get what the others leave, in equal parts.
// The sum of the parts exceeds gpus only if that of least does; then each has its least.
func (d *division) fill(gpus float64, members []*member) []float64 {
	parts := make([]float64, len(members))
	var with, without []int
	for i, m := range members {
		parts[i] = float64(m.least)
		if m.shares > 0 {
			with = append(with, i)
		} else {
			without = append(without, i)
		}
	}
	spare := gpus - sum(parts)
	spare = d.rise(spare, members, parts, with, func(m *member) float64 { return m.shares })
	d.rise(spare, members, parts, without, func(*member) float64 { return 1 })
	return parts
}

// rise raises the level from 0 until the parts of these members have taken what is spare above
// their least, and returns what is left.
func (d *division) rise(spare float64, members []*member, parts []float64, of []int, shares func(*member) float64) float64 {
	type bend struct {
		level, slope float64 // by how much the sum rises a level from here on, more or less
	}
	var bends []bend
	for _, i := range of {
		if m := members[i]; m.want > m.least {
			s := shares(m)
			bends = append(bends, bend{float64(m.least) / s, s}, bend{float64(m.want) / s, -s})
		}
	}
	if spare <= 0 || len(bends) == 0 {
		return max(0, spare)
	}
	slices.SortFunc(bends, func(a, b bend) int { d.steps++; return cmp.Compare(a.level, b.level) })
	var slope precise
	level, full := bends[0].level, true
	for _, b := range bends {
		rise := (b.level - level) * slope.value()
		if rise > spare {
			level, spare, full = level+spare/slope.value(), 0, false
			break
		}
		level, spare = b.level, spare-max(0, rise)
		slope.add(b.slope)
	}
	if full {
		level = math.Inf(1) // each gets its want
	}
	for _, i := range of {
		m := members[i]
		parts[i] = min(float64(m.want), max(float64(m.least), level*shares(m)))
	}
	return spare
}

// precise is a sum that keeps what rounding loses (Neumaier, ZAMM 54, 1974): here large shares
// come and go, and small ones remain.
type precise struct{ sum, lost float64 }

func (p *precise) add(x float64) {
	t := p.sum + x
	if math.Abs(p.sum) >= math.Abs(x) {
		p.lost += p.sum - t + x
	} else {
		p.lost += x - t + p.sum
	}
	p.sum = t
}

func (p *precise) value() float64 { return p.sum + p.lost }

func sum(of []float64) (total float64) {
	for _, x := range of {
		total += x
	}
	return total
}

// Quantum is how many GPU-seconds of Want.Credit weigh as much as one whole GPU of remainder: so
// long does a GPU stay with one of two equal accounts before it is the other's turn.
const Quantum = 3600.0

// tiny is the error of sums of parts, GPUs.
const tiny = 1e-6

// round makes whole GPUs of the parts: each gets the whole GPUs of its part, and what is left goes
// one by one to the largest remainders. A remainder counts with the credit of its member, so
// that over time each has its part to the fraction, and one GPU more if the member has that GPU
// already: an exchange costs a resize, and pays only once a credit of Quantum has come up.
//
// 7 GPUs by thirds: 2.33 each, so 2 each and one left. It stays where it is until one of the others
// has had a quantum less than this one.
// A part that is whole within tiny gets no further GPU.
func (d *division) round(gpus int, members []*member, parts []float64) {
	type rest struct {
		*member
		weight float64
	}
	var rests []rest
	for i, m := range members {
		m.gpus = int(math.Floor(parts[i] + tiny))
		gpus -= m.gpus
		if over := parts[i] - float64(m.gpus); over > tiny {
			weight := over + m.credit/Quantum
			if m.has > m.gpus {
				weight++
			}
			rests = append(rests, rest{m, weight})
		}
	}
	if gpus <= 0 {
		return
	}
	slices.SortStableFunc(rests, func(a, b rest) int { d.steps++; return cmp.Compare(b.weight, a.weight) })
	for i := range min(gpus, len(rests)) {
		rests[i].gpus++
	}
}
