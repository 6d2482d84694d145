package figures

import (
	"fmt"

	"github.com/sluice-hpc/sluice/elastic/sim/sweeps"
)

// searched is one method's regret on every task.
type searched struct {
	method  string
	regrets [][]float64
}

// poolSearch is figure 15.
func poolSearch(b *bench) func(*sheet) {
	tasks, err := sweeps.Load(b.Sweeps)
	if err != nil {
		b.fail(err)
		return func(*sheet) {}
	}
	after := []int{50, 100}
	var rows []*searched
	seeds := map[string]int{}
	runs := batch{b: b}
	for _, method := range []string{"random", "sobol", "tpe", "gp"} {
		n := either(b, 10, 1)
		if b.Seeds > 0 {
			n = b.Seeds
		}
		seeds[method] = n
		r := &searched{method, make([][]float64, n*len(tasks))}
		rows = append(rows, r)
		for i, t := range tasks {
			for seed := range n {
				runs.tasks = append(runs.tasks, b.enqueue(func(*task) error {
					pool, err := sweeps.NewPool(t)
					if err != nil {
						return err
					}
					r.regrets[i*n+seed], err = pool.Regrets(method, uint64(seed), after)
					return err
				}))
			}
		}
	}
	return func(s *sheet) {
		if !runs.wait() {
			return
		}
		s.say("%d tasks of LCBench through YAHPO with 1,000 configurations each; a suggestion is the nearest configuration that was not tried;", len(tasks))
		s.say("regret: what the best one found lacks to the best of the pool, as part of what the median lacks; means over tasks and seeds")
		s.heads("method", "seeds", "after 50 trials", "after 100", "searches without regret after 100")
		for _, r := range rows {
			var sums [2]float64
			none := 0
			for _, v := range r.regrets {
				sums[0], sums[1] = sums[0]+v[0], sums[1]+v[1]
				if v[1] == 0 {
					none++
				}
			}
			n := float64(len(r.regrets))
			s.line(r.method, fmt.Sprint(seeds[r.method]), fmt.Sprintf("%.4f", sums[0]/n), fmt.Sprintf("%.4f", sums[1]/n), fmt.Sprintf("%.0f%%", 100*float64(none)/n))
		}
	}
}
