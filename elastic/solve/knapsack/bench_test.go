package knapsack_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
)

// sites are problem sizes that occur in decisions, jobs by GPUs.
var sites = []struct{ jobs, gpus int }{{160, 64}, {640, 2048}, {1000, 10000}, {10000, 100000}}

func problem(kind func(*draw, options) options, jobs int) []options {
	r := &draw{uint64(jobs)}
	classes := make([]options, jobs)
	for i := range classes {
		classes[i] = kind(r, nil)
	}
	return classes
}

// open is the kind of problem in which any job may wait; with more jobs than GPUs other kinds
// have no choice that fits.
func open(r *draw, own options) options { return r.rough(append(own, zero)) }

// scattered has no structure, but any job may wait.
func scattered(r *draw, own options) options { return kinds["any"](r, append(own, zero)) }

// every is a measured curve with an option for each size up to 64.
func every(r *draw, own options) options {
	own, power, weight := append(own, zero), 0.3+0.6*r.unit(), math.Exp(4*r.unit())
	for w := 1; w <= 64; w++ {
		own = append(own, one(w, weight*math.Pow(float64(w), power)*(0.9+0.1*r.unit())))
	}
	return own
}

func BenchmarkChoose(b *testing.B) {
	for _, site := range sites {
		for _, kind := range []struct {
			name string
			draw func(*draw, options) options
		}{{"measured", open}, {"concave", kinds["concave"]}, {"any", scattered}, {"equal", kinds["equal"]},
			{"correlated", kinds["correlated"]}, {"nodes", kinds["whole nodes"]}, {"every size", every}} {
			classes := problem(kind.draw, site.jobs)
			b.Run(fmt.Sprintf("%s/%dx%d", kind.name, site.jobs, site.gpus), func(b *testing.B) {
				var s knapsack.Solver
				var a knapsack.Answer
				b.ReportAllocs()
				for b.Loop() {
					a = s.Choose(classes, site.gpus)
				}
				if !a.OK {
					b.Fatal("nothing fits")
				}
				b.ReportMetric(a.Gap/a.Value, "gap")
				b.ReportMetric(float64(a.Work), "steps")
			})
		}
	}
}

func BenchmarkExpand(b *testing.B) {
	for _, site := range sites {
		classes := problem(open, site.jobs)
		b.Run(fmt.Sprintf("measured/%dx%d", site.jobs, site.gpus), func(b *testing.B) {
			var s knapsack.Solver
			for b.Loop() {
				s.Expand(classes, site.gpus)
			}
		})
	}
}
