package figures

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/solve/deadline"
)

// trace is one of testbench B's.
type trace struct {
	cluster
	gpu       string // whose throughputs
	source    string
	published map[string]float64 // shares of deadlines met, by policy
	goal      float64            // of deadline, and of lookahead
}

// traces are those of testbench B. The shares of the first are published, and were re-run
// in ElasticFlow's own simulator; those of the second were run in it.
var traces = map[string]trace{
	"elasticVpollux_e": {cluster{16, 4}, "T4", "published: Gu et al., ASPLOS 2023", map[string]float64{"edf": .118, "tiresias": .287, "pollux": .523, "elasticflow": .728}, .80},
	"195job":           {cluster{16, 8}, "A100", "re-run in the simulator of Gu et al., ASPLOS 2023", map[string]float64{"edf": .087, "gandiva": .241, "tiresias": .462, "elasticflow": .749}, .82},
}

// tracesInOrder is how they are shown.
var tracesInOrder = []string{"elasticVpollux_e", "195job"}

// bySize selects the restart costs of ElasticFlow's simulator.
const bySize = -time.Second

// restartOn is what a start costs by the number of GPUs, where that matters: as in
// ElasticFlow's simulator for clusters of fewer than 256 GPUs.
func (t trial) restartOn() func(gpus int) time.Duration {
	if t.restart >= 0 {
		return nil
	}
	return func(gpus int) time.Duration {
		return time.Duration((2 + 2*(1+math.Log2(float64(max(1, gpus))))) * float64(time.Second))
	}
}

func restartWords(d time.Duration) string {
	if d < 0 {
		return "restart 4-16s by GPUs"
	}
	return "restart " + short(d)
}

// deadlines shows the share of jobs that end in time.
func deadlines(b *bench) func(*sheet) {
	type row struct {
		load, policy string
		restart      time.Duration
		run          batch
	}
	var rows []row
	for _, load := range tracesInOrder {
		for _, restart := range []time.Duration{bySize, 30 * time.Second} {
			for _, policy := range []string{"edf", "tiresias", "elasticflow", "deadline", "lookahead"} {
				t := trial{load, 0, 1, policy, asPublished, replay.Oracle, time.Minute, restart}
				rows = append(rows, row{load, policy, restart, b.ask(t)})
			}
		}
	}
	return func(s *sheet) {
		s.heads("policy", "trace", "met", "restarts", "setting")
		for _, load := range tracesInOrder {
			for _, policy := range []string{"edf", "gandiva", "tiresias", "pollux", "elasticflow"} {
				if met, known := traces[load].published[policy]; known {
					s.line(policy, load, amount(met), "", traces[load].source)
				}
			}
		}
		var goals []func()
		for _, r := range rows {
			if !r.run.wait() {
				return
			}
			sum := r.run.tasks[0].sum
			met := math.Round(float64(*sum.DeadlineMet)*1000) / 1000 // published so
			s.line(r.policy, r.load, amount(met), two(r.run.means().restarts),
				fmt.Sprintf("%s, oracle, every 1m, %s", traces[r.load].cluster, restartWords(r.restart)))
			least, known := traces[r.load].published[r.policy]
			promises := r.policy == "deadline" || r.policy == "lookahead"
			if promises {
				least = traces[r.load].goal
			}
			if promises || known && r.restart == bySize { // as what was published paid
				goals = append(goals, func() {
					s.least(fmt.Sprintf("%s on %s, %s, deadlines met", r.policy, r.load, restartWords(r.restart)), met, least)
				})
			}
		}
		for _, g := range goals {
			g()
		}
		b.quiet()
		if b.failed() == nil && b.Clock != nil {
			planning(b, s)
		}
	}
}

// planning times decisions about 1,600 jobs on 512 GPUs.
func planning(b *bench, s *sheet) {
	var all []time.Duration
	const gpus, count, draws = 512, 1600, 20
	for seed := range uint64(draws) {
		jobs := drawnJobs(seed+1, count)
		from := b.Clock()
		deadline.Decide(jobs, gpus, 0, 60)
		all = append(all, b.Clock()-from)
	}
	for _, name := range []string{"deadline", "lookahead"} {
		p, err := named(name)
		if err != nil {
			b.fail(err)
			return
		}
		var whole []time.Duration
		for seed := range uint64(5) {
			snap := datedSnapshot(size{cluster: cluster{gpus / 8, 8}, jobs: count, waiting: count * 3 / 4}, seed+1, p)
			whole = append(whole, took(b.Clock, p, snap))
		}
		s.goal(fmt.Sprintf("%d GPUs, %d jobs, seeds 1-5, CPU time of a whole decision of %s, with placing, median %.0f ms, the longest", gpus, count, name, ms(rank(whole, 50))), ms(slices.Max(whole)), 50, " ms")
	}
	s.goal(fmt.Sprintf("%d GPUs, %d jobs, seeds 1-%d, CPU time of a plan, median %.1f ms, the longest", gpus, count, draws, ms(rank(all, 50))), ms(slices.Max(all)), 50, " ms")
}
