package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// pageRule is one thing that was assumed, or what a figure means.
type pageRule struct{ What, How string }

// rules says under which assumptions the runs were made and what the figures mean.
func rules(runs []Run) []pageRule {
	out := assumed(runs)
	return append(out,
		pageRule{"JCT", "from a job's submit to its end. A percentile is by nearest rank: the smallest JCT that at least so many per cent of the jobs do not exceed."},
		pageRule{"makespan", "from the first submit to the last end."},
		pageRule{"wait", "from a job's submit to its first GPU; the next round at the earliest. Over several seeds the longest is the greatest of all."},
		pageRule{"restarts", "resizes, moves and stops of started jobs; the first start is none."},
		pageRule{"GPU-hours", "useful while a job trains, restarting while it starts or comes back at another size, idle while nobody has the GPU; together all GPUs from the first submit to the last end."},
		pageRule{"vs first", "the figure before it over that of the policy listed first."},
		pageRule{"decision", "the time the policy and the placement took on this machine, round by round: the one figure that is not the same in every run."},
	)
}

// assumed says what the runs have in common.
func assumed(runs []Run) []pageRule {
	var out []pageRule
	one := func(what string, of func(Summary) string, how func(string) string) {
		var seen []string
		for _, r := range runs {
			if v := of(r.Summary); v != "" && !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
		for _, v := range seen {
			out = append(out, pageRule{what, how(v)})
		}
	}
	same := func(s string) string { return s }
	one("information", func(s Summary) string { return string(s.Info) }, information)
	one("rounds", func(s Summary) string { return brief(s.Interval) }, func(s string) string {
		return "decisions are made every " + s + " and take effect at once; a job is seen in the round after its submit."
	})
	one("restart", restart, same)
	one("placement", func(s Summary) string { return string(s.Placing) }, placement)
	one("rules", limits, same)
	one("load", func(s Summary) string {
		if s.Load == 1 || s.Load == 0 {
			return ""
		}
		return s.Load.String()
	}, func(s string) string {
		return s + " times the jobs in the same time, by thinning or merging the workload."
	})
	return out
}

// restart says what a restart costs.
func restart(s Summary) string {
	const costs = "a start and every change of size or nodes cost "
	if s.ByModel {
		return costs + "each job what its model takes to save and load, " + brief(s.Restart) + " in the mean, in which nothing is trained."
	}
	return costs + brief(s.Restart) + " on the new GPUs, in which nothing is trained."
}

func information(info string) string {
	switch replay.Info(info) {
	case replay.Oracle:
		return "oracle: policies know the true speed of every split and the true work left."
	case replay.Learned:
		return "learned: policies know what the daemon would have seen: samples of speed as they come, and the total its user named; no true speeds."
	}
	return info + "."
}

func placement(placing string) string {
	switch replay.Placing(placing) {
	case replay.Ours:
		return "sluice's own, as in the daemon."
	case replay.Published:
		return "as published simulators place: jobs that keep their size stay, the others, small ones first, take the freest nodes."
	}
	return placing + "."
}

// limits says which rules were in force.
func limits(s Summary) string {
	var out []string
	say := func(yes bool, if1, if0 string) {
		if yes {
			out = append(out, if1)
		} else {
			out = append(out, if0)
		}
	}
	say(s.Engine, "the whole daemon on a simulated Slurm", "decisions in rounds")
	say(s.Preempt, "started jobs may be stopped below their minimum", "a started job keeps its minimum")
	say(s.ShareNodes, "jobs over several nodes may share a node", "two jobs over several nodes do not share a node")
	say(s.AnySplit, "any split of GPUs over nodes can be had", "only splits that Slurm gives")
	if s.Preempt && s.Overload > 0 {
		out = append(out, fmt.Sprintf("but only while the minimums of all jobs are more than %s of the GPUs", s.Overload))
	}
	if s.Preempt && s.Wait > 0 {
		out = append(out, fmt.Sprintf("and for %s s at most, as far as there are GPUs", s.Wait))
	}
	if s.Payback > 1 {
		out = append(out, fmt.Sprintf("a voluntary resize saves its price %s times over", s.Payback))
	}
	if s.Cooldown > 0 {
		out = append(out, fmt.Sprintf("%s s between two voluntary resizes of a job", s.Cooldown))
	}
	return strings.Join(out, "; ") + "."
}
