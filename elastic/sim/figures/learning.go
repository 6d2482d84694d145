package figures

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// pupils are the policies that learn in figure 6.
var pupils = []contender{{"lookahead", slurms}, {"lookahead", anySplit}, {"lookahead", slurms.stopping()}, {"knapsack", slurms}, {"afs", asPublished}}

// learning compares a policy that learns speeds with the same policy when it knows the true
// speeds.
func learning(b *bench) func(*sheet) {
	type row struct {
		contender
		load          string
		told, learned batch
		setting       string
	}
	var rows []row
	pupils := either(b, pupils, pupils[:2])
	for _, entrant := range pupils {
		for _, mix := range mixes {
			c := cell{mix, 15 * time.Minute, 10 * time.Second}
			rows = append(rows, row{entrant, c.load(), b.ask(c.trials(b, entrant, replay.Oracle)...), b.ask(c.trials(b, entrant, replay.Learned)...),
				fmt.Sprintf("seeds 1-%d, %s, every %s, restart %s", seedsA(b), systemA, short(everyA), short(c.restart))})
		}
	}
	for _, entrant := range pupils {
		if b.Testbench == "" {
			break
		}
		told, learned := testbenchTrials(entrant, replay.Oracle), testbenchTrials(entrant, replay.Learned)
		for i, load := range recordings {
			rows = append(rows, row{entrant, load, b.ask(told[i]), b.ask(learned[i]),
				fmt.Sprintf("%s, every %s, restart %s", testbenchA, short(everyB), short(restartB))})
		}
	}
	return func(s *sheet) {
		s.heads("workload", "policy", "rules", "oracle", "learned", "ratio", "restarts oracle", "learned", "setting")
		for i := range rows {
			r := rows[i]
			a, l := r.told.means(), r.learned.means()
			s.line(r.load, r.policy, r.rules.name, secs(a.jct), secs(l.jct), ratio(l.jct, a.jct), two(a.restarts), two(l.restarts), r.setting)
		}
		for i := 0; i+4 <= len(rows); i += 4 {
			var told, learned float64
			for _, r := range rows[i : i+4] {
				told, learned = told+r.told.means().jct, learned+r.learned.means().jct
			}
			if r := rows[i]; r.policy == "lookahead" {
				s.goal(fmt.Sprintf("%s, learned of oracle, mean JCT of %s to %s", r.rules.name, r.load, rows[i+3].load), learned/told, 1.10, "")
			}
		}
	}
}
