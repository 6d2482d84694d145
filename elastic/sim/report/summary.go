package report

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// Setting is what a simulation was run with and its Result does not say.
type Setting struct {
	Cluster    string // as typed, such as "16x4"
	GPUs       int    // of the cluster
	Engine     bool   // the whole daemon ran on a simulated Slurm, not rounds
	Seed       uint64 // of the generator and of what the simulation draws
	Load       float64
	Interval   time.Duration
	Restart    time.Duration // of every job, or their mean
	ByModel    bool          // each job has a price of its own
	Placing    replay.Placing
	Cooldown   time.Duration
	Payback    float64
	Preempt    bool
	Overload   float64
	Wait       time.Duration
	ShareNodes bool
	AnySplit   bool
	// Stops: the policy was published with rules that let it stop started jobs and place
	// them at will.
	Stops bool
	// Bound is a mean JCT that no policy can beat; 0 = none was asked for.
	Bound time.Duration
}

// Summary is what came of one policy on one workload with one seed: one JSON
// object, one line of CSV, one row of a table.
type Summary struct {
	Policy   string      `json:"policy"`
	Workload string      `json:"workload"`
	Seed     uint64      `json:"seed"`
	Info     replay.Info `json:"info"`
	Jobs     int         `json:"jobs"`
	// JCT is the time from submit to end. Percentiles are by nearest rank: the
	// smallest value that at least so many per cent of the values do not exceed.
	MeanJCT Seconds `json:"mean_jct_s"`
	P50JCT  Seconds `json:"p50_jct_s"`
	P99JCT  Seconds `json:"p99_jct_s"`
	// Makespan is from the first submit to the last end.
	Makespan Seconds `json:"makespan_s"`
	// Wait is the time from submit to the first GPU.
	MeanWait Seconds `json:"mean_wait_s"`
	MaxWait  Seconds `json:"max_wait_s"`
	// Restarts counts resizes, moves and stops of started jobs.
	Restarts Ratio `json:"restarts_per_job"`
	// GPU-hours of training, of starting and restarting, and idle ones, from the
	// first submit to the last end.
	Useful     Hours `json:"gpu_hours_useful"`
	Restarting Hours `json:"gpu_hours_restart"`
	Idle       Hours `json:"gpu_hours_idle"`
	// DeadlineMet is the share of the jobs with a deadline that met it; nil
	// without any.
	DeadlineMet *Ratio `json:"deadline_met_ratio"`
	// DecisionP50 and DecisionP99 are the time of one decision, DecisionMax that of the
	// longest; nil when it was not measured.
	DecisionP50 *Millis `json:"decision_ms_p50"`
	DecisionP99 *Millis `json:"decision_ms_p99"`
	DecisionMax *Millis `json:"decision_ms_max"`

	Rounds        int            `json:"rounds"`
	Fragmentation Ratio          `json:"fragmentation"`
	Cluster       string         `json:"cluster"`
	GPUs          int            `json:"gpus"`
	Engine        bool           `json:"engine"`
	Interval      Seconds        `json:"interval_s"`
	Restart       Seconds        `json:"restart_s"`
	ByModel       bool           `json:"restart_by_model"`
	Load          Ratio          `json:"load"`
	Placing       replay.Placing `json:"placing"`
	Cooldown      Seconds        `json:"cooldown_s"`
	Payback       Ratio          `json:"payback"`
	Preempt       bool           `json:"preempt"`
	Overload      Ratio          `json:"overload"`
	Wait          Seconds        `json:"wait_s"`
	ShareNodes    bool           `json:"share_nodes"`
	AnySplit      bool           `json:"any_split"`
	// OtherRules: the policy was published with rules that this run did not have.
	OtherRules bool `json:"other_rules"`
	// Bound is a mean JCT no policy can beat, ToBound the mean JCT over it; nil
	// when not asked for.
	Bound   *Seconds `json:"bound_s,omitempty"`
	ToBound *Ratio   `json:"ratio_to_bound,omitempty"`
	Note    string   `json:"note"`
}

// Summarise makes the summary of a result.
func Summarise(r replay.Result, s Setting) Summary {
	sum := Summary{
		Policy: r.Policy, Workload: r.Workload, Seed: s.Seed, Info: r.Info, Jobs: len(r.Jobs),
		Makespan: seconds(r.Makespan), Restarts: Ratio(share(float64(r.Restarts), len(r.Jobs))),
		Useful: Hours(r.Useful / 3600), Restarting: Hours(r.Restarting / 3600), Idle: Hours(r.Idle / 3600),
		Rounds: r.Rounds, Fragmentation: Ratio(r.Fragmentation), Cluster: s.Cluster, GPUs: s.GPUs, Engine: s.Engine,
		Interval: seconds(s.Interval), Restart: seconds(s.Restart), ByModel: s.ByModel, Load: Ratio(s.Load), Placing: s.Placing,
		Cooldown: seconds(s.Cooldown), Payback: Ratio(s.Payback),
		Preempt: s.Preempt, Overload: Ratio(s.Overload), Wait: seconds(s.Wait), ShareNodes: s.ShareNodes, AnySplit: s.AnySplit, Note: r.Note,
		OtherRules: s.Stops && !(s.Preempt && s.AnySplit),
	}
	sum.times(r.Jobs)
	sum.deadlines(r.Jobs)
	if len(r.Decisions) > 0 {
		d := slices.Sorted(slices.Values(r.Decisions))
		p50, p99, most := millis(nearestRank(d, 50)), millis(nearestRank(d, 99)), millis(d[len(d)-1])
		sum.DecisionP50, sum.DecisionP99, sum.DecisionMax = &p50, &p99, &most
	}
	if s.Bound > 0 {
		bound, ratio := seconds(s.Bound), Ratio(float64(sum.MeanJCT)/s.Bound.Seconds())
		sum.Bound, sum.ToBound = &bound, &ratio
	}
	return sum
}

// times fills in JCT and wait.
func (s *Summary) times(jobs []replay.JobResult) {
	jct := make([]time.Duration, len(jobs))
	var total, waited float64
	var longest time.Duration
	for i, j := range jobs {
		jct[i] = j.JCT()
		total += jct[i].Seconds()
		waited += j.Wait().Seconds()
		longest = max(longest, j.Wait())
	}
	slices.Sort(jct)
	s.MeanJCT, s.P50JCT, s.P99JCT = Seconds(share(total, len(jobs))), seconds(nearestRank(jct, 50)), seconds(nearestRank(jct, 99))
	s.MeanWait, s.MaxWait = Seconds(share(waited, len(jobs))), seconds(longest)
}

func (s *Summary) deadlines(jobs []replay.JobResult) {
	met, all := 0, 0
	for _, j := range jobs {
		if j.Deadline > 0 {
			all++
			if j.End <= j.Deadline {
				met++
			}
		}
	}
	if all > 0 {
		r := Ratio(share(float64(met), all))
		s.DeadlineMet = &r
	}
}

// share is part/whole, 0 of nothing.
func share(part float64, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return part / float64(whole)
}

// nearestRank returns the p-th percentile of the sorted values, p in 1..100: the
// smallest value that at least p per cent of the values do not exceed; 0 of none.
func nearestRank(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}
