package bound

import (
	"fmt"
	"math"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// size is one number of GPUs a job may have and the most it can do with it.
type size struct {
	gpus  float64
	speed float64 // units a second, at the best split
}

// widest bounds how many sizes a menu has; one with more is thinned.
const widest = 48

// menu lists the sizes worth having: those at which no smaller one is as fast,
// ascending. A size left out is never better: the smaller one works as much for
// less.
type menu []size

// best is the size with the highest speed.
func (m menu) best() size { return m[len(m)-1] }

// frugal is the least GPU-seconds a unit of work takes.
func (m menu) frugal() float64 {
	least := math.Inf(1)
	for _, s := range m {
		least = math.Min(least, s.gpus/s.speed)
	}
	return least
}

// menus makes the menu of each kind of job once.
type menus struct {
	cluster int
	splits  func(n int) [][]int
	made    map[kind]menu
}

// kind is what a menu depends on.
type kind struct {
	speeds         workload.Speeds
	min, max, step int
	sizes          string
}

func (m *menus) of(j workload.Job) (menu, error) {
	s := j.Spec
	k := kind{j.Speeds, s.Min, s.Max, s.Step, fmt.Sprint(s.Sizes)}
	if got, ok := m.made[k]; ok {
		return got, nil
	}
	got := m.list(j.Speeds, s)
	if len(got) == 0 {
		return nil, fmt.Errorf("job %s runs at none of the sizes it accepts on %d GPUs", j.Name, m.cluster)
	}
	m.made[k] = got
	return got, nil
}

func (m *menus) list(speeds workload.Speeds, s elastic.Spec) menu {
	var out menu
	most := 0.0
	for _, n := range s.Options(m.cluster) {
		for _, split := range m.splits(n) {
			v := 1 / speeds.Seconds(split)
			if !(v > most) || math.IsInf(v, 1) {
				continue
			}
			most = v
			if k := len(out) - 1; k >= 0 && out[k].gpus == float64(n) {
				out[k].speed = v
			} else {
				out = append(out, size{float64(n), v})
			}
		}
	}
	return out.thin()
}

// thin reduces a long menu to groups of neighbouring sizes, each with its fewest
// GPUs and its highest speed, which is better than any of them: a bound that holds
// for the thin menu holds for the full one.
func (m menu) thin() menu {
	if len(m) <= widest {
		return m
	}
	ratio := math.Pow(m.best().gpus/m[0].gpus, 1/float64(widest-1))
	var out menu
	for _, s := range m {
		if k := len(out) - 1; k >= 0 && s.gpus < out[k].gpus*ratio {
			out[k].speed = s.speed
		} else {
			out = append(out, s)
		}
	}
	return out
}
