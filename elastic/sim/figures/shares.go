package figures

import (
	"fmt"
	"math"

	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/report"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// parted is a trial whose jobs are drawn over accounts.
type parted struct {
	trial
	accounts []string // equally likely
	shares   string   // "" = none are enforced
	jobs     int      // of a generator; 0 = its own number
	// alone, if not "", leaves only this account's jobs, on so many of the nodes.
	alone string
	nodes int
}

// askParted queues such trials.
func (b *bench) askParted(of ...parted) batch {
	out := batch{b: b}
	for _, p := range of {
		out.tasks = append(out.tasks, b.enqueue(func(k *task) error {
			r, err := b.replayParted(p)
			k.sum, k.accounts = report.Summarise(r, report.Setting{Interval: p.interval, Restart: p.restart, Seed: p.seed}), report.Accounts(r)
			k.jcts = byAccount(r)
			return err
		}))
	}
	return out
}

func (b *bench) replayParted(p parted) (replay.Result, error) {
	w, err := b.loads.get(p.load, p.seed, p.times)
	if p.jobs > 0 && err == nil {
		w, err = workload.Generate(p.load, p.seed, workload.Options{Jobs: p.jobs})
	}
	if err != nil {
		return replay.Result{}, err
	}
	policy, err := named(p.policy)
	if err != nil {
		return replay.Result{}, err
	}
	cfg := replay.Config{
		Nodes: p.inventory(), Policy: policy, Interval: p.interval, Restart: p.restart, Info: p.info, Placing: p.rules.placing, Limits: p.rules.limits, Seed: p.seed,
	}
	if p.shares != "" {
		if cfg.Shares, err = share.Parse(p.shares); err != nil {
			return replay.Result{}, err
		}
	}
	w = workload.UnderAccounts(w, p.accounts, p.seed)
	if p.alone != "" {
		cfg.Nodes, w = cfg.Nodes[:p.nodes], only(w, p.alone)
	}
	r, err := replay.Run(b.ctx, cfg, w)
	if err != nil {
		return r, fmt.Errorf("%s on %s, shares %q: %w", p.policy, p.load, p.shares, err)
	}
	return r, nil
}

// only leaves one account's jobs.
func only(w workload.Workload, account string) workload.Workload {
	all := w.Jobs
	w.Jobs = func(yield func(workload.Job) bool) {
		for j := range all {
			if j.Account == account && !yield(j) {
				return
			}
		}
	}
	return w
}

// byAccount is the mean JCT of each account's jobs, in seconds.
func byAccount(r replay.Result) map[string]float64 {
	sums, n := map[string]float64{}, map[string]float64{}
	for _, j := range r.Jobs {
		sums[j.Account] += j.JCT().Seconds()
		n[j.Account]++
	}
	for name := range sums {
		sums[name] /= n[name]
	}
	return sums
}

// two equal accounts, of testbench A; a and b have half of its nodes each when alone.
var (
	twoAccounts = []string{"a", "b"}
	equalShares = "a=1,b=1"
)

func shares(b *bench) func(*sheet) {
	parts := []func(*sheet){contention(b)}
	if b.Testbench != "" {
		parts = append(parts, costOfShares(b), finishTimes(b))
	}
	return func(s *sheet) {
		for _, write := range parts {
			write(s)
		}
		if b.Testbench == "" {
			s.say("not measured: JCT and finish times, which need testbench A")
		}
	}
}

// contention: two accounts that want all GPUs for longer than a day; what each has of its share.
func contention(b *bench) func(*sheet) {
	var runs []batch
	infos := []replay.Info{replay.Oracle, replay.Learned}
	jobs := either(b, 200, 40)
	for _, info := range infos {
		runs = append(runs, b.askParted(parted{
			trial:    trial{load: "w4@1m", seed: 1, times: 1, policy: "lookahead", rules: slurms, info: info, interval: everyB, restart: restartB},
			accounts: []string{"phys", "bio"}, shares: "phys=60,bio=40", jobs: jobs,
		}))
	}
	return func(s *sheet) {
		s.heads("policy", "info", "account", "share", "GPU-hours", "deserved", "ratio", "setting")
		for i, info := range infos {
			if !runs[i].wait() {
				return
			}
			worst := 0.0
			for _, a := range runs[i].tasks[0].accounts {
				r := float64(a.Used) / math.Max(1e-9, float64(a.Deserved))
				worst = max(worst, math.Abs(r-1))
				s.line("lookahead", string(info), a.Name, a.Share.String(), a.Used.String(), a.Deserved.String(), fmt.Sprintf("%.3f", r),
					fmt.Sprintf("w4@1m, %d jobs over two accounts, %s, while not everybody has what it wants", jobs, systemA))
			}
			s.goal(string(info)+", GPU-hours of an account against what its share gives, at worst", worst, map[replay.Info]float64{replay.Oracle: .03, replay.Learned: .05}[info], "")
		}
	}
}

// testbenchParted are a policy's runs of workloads 1 to 4, of which a quick run takes one.
func testbenchParted(b *bench, policy, shares, alone string) (out []parted) {
	for _, load := range recordings[:either(b, len(recordings), 1)] {
		out = append(out, parted{
			trial:    trial{load: load, seed: 1, times: 1, policy: policy, rules: slurms, info: replay.Oracle, interval: everyB, restart: restartB},
			accounts: twoAccounts, shares: shares, alone: alone, nodes: testbenchA.nodes / 2,
		})
	}
	return out
}

// costOfShares: what equal shares of two accounts cost in mean JCT.
func costOfShares(b *bench) func(*sheet) {
	with, without := b.askParted(testbenchParted(b, "lookahead", equalShares, "")...), b.askParted(testbenchParted(b, "lookahead", "", "")...)
	return func(s *sheet) {
		s.heads("policy", "shares", "jct", "p99", "restarts", "setting")
		w, o := with.means(), without.means()
		for _, line := range []struct {
			name string
			means
		}{{equalShares, w}, {"none", o}} {
			s.line("lookahead", line.name, secs(line.jct), secs(line.p99), two(line.restarts), fmt.Sprintf("%d workloads of testbench A, jobs drawn over two accounts", len(with.tasks)))
		}
		s.goal("mean JCT with equal shares, of that without", w.jct/math.Max(1, o.jct), 1.03, "")
	}
}

// finishTimes: finish-time fairness (Mahajan et al., Themis, NSDI 2020), of accounts: mean JCT with
// the other account there, over that alone on the half of the nodes that its share is.
func finishTimes(b *bench) func(*sheet) {
	type row struct {
		policy, shares string
		together       batch
	}
	var rows []row
	for _, p := range []string{"lookahead", "knapsack", "afs", "optimus"} {
		rows = append(rows, row{p, equalShares, b.askParted(testbenchParted(b, p, equalShares, "")...)}, row{p, "none", b.askParted(testbenchParted(b, p, "", "")...)})
	}
	alone := map[string]batch{}
	for _, account := range twoAccounts {
		alone[account] = b.askParted(testbenchParted(b, "lookahead", "", account)...)
	}
	return func(s *sheet) {
		s.heads("policy", "shares", "worst", "mean", "above 1", "setting")
		for _, r := range rows {
			var of []float64
			for _, account := range twoAccounts {
				if !r.together.wait() || !alone[account].wait() {
					return
				}
				for i, k := range r.together.tasks {
					of = append(of, k.jcts[account]/alone[account].tasks[i].jcts[account])
				}
			}
			worst, above := 0.0, 0.0
			for _, rho := range of {
				worst = max(worst, rho)
				if rho > 1 {
					above += 1 / float64(len(of))
				}
			}
			s.line(r.policy, r.shares, fmt.Sprintf("%.3f", worst), fmt.Sprintf("%.3f", mean(of)), fmt.Sprintf("%.2f", above),
				"JCT of an account over that of lookahead alone on half the nodes")
			if r.policy == "lookahead" && r.shares != "none" {
				s.goal("finish-time fairness of an account, at worst", worst, 1.1, "")
			}
		}
	}
}
