package figures

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// The setting of testbench A.
const (
	everyB   = time.Minute
	restartB = 30 * time.Second
)

// recordings are testbench A's workloads that come with the data.
var recordings = []string{"workload-1", "workload-2", "workload-3", "workload-4"}

// publishedB are mean JCTs on workloads 1 to 4, in seconds.
var publishedB = []struct {
	policy string
	jct    [4]float64
	source string
}{
	{"pollux", [4]float64{2089, 3323, 2189, 2721}, "published: Qiao et al., OSDI 2021, raw results; tunes the batch size, learns"},
	{"tiresias", [4]float64{2474, 5145, 3876, 3280}, "published: the same raw results; length unknown"},
	{"optimus", [4]float64{4087, 6914, 3944, 5968}, "published: the same raw results; oracle"},
	{"afs", [4]float64{2373, 3885, 2961, 3252}, "re-run in the same simulator: AFS-L, Hwang et al., NSDI 2021; oracle"},
}

// afsL is the line every workload is to stay below.
var afsL = publishedB[3].jct

// onTestbench are the policies under the rules shown on testbench A.
var onTestbench = []contender{
	{"fcfs", asPublished}, {"ef", asPublished}, {"optimus", asPublished}, {"afs", asPublished}, {"tiresias", asPublished},
	{"srpt", asPublished}, {"maxspeedup", asPublished}, {"knapsack", asPublished}, {"knapsack", slurms},
	{"lookahead", anySplit}, {"lookahead", slurms}, {"lookahead", installed},
	{"lookahead", anySplit.stopping()}, {"lookahead", slurms.stopping()}, {"lookahead", slurms.stopping().patient(time.Hour)},
}

// testbenchTrials are a contender's runs of workloads 1 to 4.
func testbenchTrials(entrant contender, info replay.Info) []trial {
	var out []trial
	for _, load := range recordings {
		out = append(out, trial{load, 0, 1, entrant.policy, entrant.rules, info, everyB, restartB})
	}
	return out
}

func testbench(b *bench) func(*sheet) {
	type row struct {
		contender
		info replay.Info
		runs batch
	}
	var rows []row
	for _, info := range []replay.Info{replay.Oracle, replay.Learned} {
		for _, entrant := range onTestbench {
			if b.Quick && (entrant.rules == installed || info == replay.Learned && entrant.policy != "lookahead") {
				continue
			}
			rows = append(rows, row{entrant, info, b.ask(testbenchTrials(entrant, info)...)})
		}
	}
	return func(s *sheet) {
		s.heads("policy", "rules", "info", "jct", "1", "2", "3", "4", "p99", "makespan", "restarts", "longest", "setting")
		for _, p := range publishedB {
			s.line(p.policy, "-", "-", secs(mean(p.jct[:])), secs(p.jct[0]), secs(p.jct[1]), secs(p.jct[2]), secs(p.jct[3]), "", "", "", "", p.source)
		}
		for _, r := range rows {
			m, each := r.runs.means(), r.runs.each()
			s.line(r.policy, r.rules.name, string(r.info), secs(m.jct), secs(each[0]), secs(each[1]), secs(each[2]), secs(each[3]),
				secs(m.p99), hours(m.makespan), two(m.restarts), secs(m.longest),
				fmt.Sprintf("workloads 1-4, %s, every %s, restart %s", testbenchA, short(everyB), short(restartB)))
		}
		for _, r := range rows {
			if r.policy == "lookahead" {
				verdictB(s, r.rules, r.info, r.runs)
			}
		}
	}
}

// each is the mean JCT of each trial, in seconds; zeros when the bench failed.
func (x batch) each() []float64 {
	out := make([]float64, len(x.tasks))
	if x.wait() {
		for i, k := range x.tasks {
			out[i] = float64(k.sum.MeanJCT)
		}
	}
	return out
}

// verdictB holds lookahead's results against the goals.
func verdictB(s *sheet, r rules, info replay.Info, runs batch) {
	m, name := runs.means(), fmt.Sprintf("%s, %s", r.name, info)
	switch {
	case r.limits.Preempt && info == replay.Oracle:
		s.goal(name+", mean JCT of workloads 1-4", m.jct, 2400, " s")
		return
	case r.limits.Preempt:
		return
	case info == replay.Oracle:
		s.goal(name+", mean JCT of workloads 1-4", m.jct, 2450, " s")
	default:
		s.goal(name+", mean JCT of workloads 1-4", m.jct, 2600, " s")
	}
	worst := 0.0
	for i, jct := range runs.each() {
		worst = max(worst, jct/afsL[i])
	}
	s.goal(name+", the worst workload's JCT, of AFS-L's with oracle", worst, 1, "")
	s.goal(name+", restarts a job", m.restarts, 2.2, "")
	s.goal(name+", makespan", m.makespan/3600, 19, " h")
	s.goal(name+", longest wait to the first GPU", m.longest, everyB.Seconds(), " s")
}
