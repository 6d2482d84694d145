package main

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/report"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// whatifWire is "sluice whatif --json".
type whatifWire struct {
	Sacct    string           `json:"sacct"`
	First    string           `json:"first_submit"` // the cluster's local time
	Jobs     int              `json:"jobs"`
	States   []workload.Count `json:"states"`
	Skipped  []workload.Count `json:"skipped"`
	GPUTypes []workload.Count `json:"gpu_types"`
	// Unreadable are the first lines that were skipped as unreadable.
	Unreadable []string        `json:"unreadable"`
	Requeued   int             `json:"requeued_jobs"` // of Jobs, joined from several lines
	Joined     int             `json:"requeued_runs"` // those lines
	Cluster    string          `json:"cluster"`
	GPUs       int             `json:"gpus"`
	Inferred   bool            `json:"cluster_inferred"`
	Policy     string          `json:"policy"`
	Restart    report.Seconds  `json:"restart_s"`
	Interval   report.Seconds  `json:"interval_s"`
	Recorded   whatifFigures   `json:"recorded"`
	Baseline   whatifFigures   `json:"baseline"`
	Sluice     []whatifOutcome `json:"sluice"` // likely, worse, better
	// Accounts are compared one by one; empty if the file names none.
	Accounts []whatifAccount `json:"accounts"`
}

// whatifFigures are one row of the table.
type whatifFigures struct {
	MeanJCT    report.Seconds `json:"mean_jct_s"`
	MedianJCT  report.Seconds `json:"p50_jct_s"`
	P99JCT     report.Seconds `json:"p99_jct_s"`
	LongestJCT report.Seconds `json:"longest_jct_s"`
	MeanWait   report.Seconds `json:"mean_wait_s"`
	MaxWait    report.Seconds `json:"max_wait_s"`
	Makespan   report.Seconds `json:"makespan_s"`
	GPUHours   report.Hours   `json:"gpu_hours"` // of jobs that train
	Idle       report.Ratio   `json:"idle_share"`
}

// whatifOutcome is a row of sluice's with its assumptions.
type whatifOutcome struct {
	Case     string       `json:"case"`
	Serial   float64      `json:"assumed_serial"`
	PerNode  float64      `json:"assumed_node"`
	Share    float64      `json:"elastic_share"`
	Elastic  int          `json:"elastic_jobs"`
	Growth   int          `json:"growth"`
	Shrink   int          `json:"shrink"`
	Restarts report.Ratio `json:"restarts_per_job"`
	Sooner   int          `json:"jobs_sooner"` // by at least a tenth of their time and one minute
	Later    int          `json:"jobs_later"`
	whatifFigures
}

func (w *whatif) wire() whatifWire {
	f := w.history.Figures()
	out := whatifWire{
		Sacct: w.options.sacct, First: w.history.First.Format("2006-01-02T15:04:05"), Jobs: len(w.history.Runs),
		States: listed(w.history.States), Skipped: listed(w.history.Skipped), GPUTypes: listed(w.history.Types),
		Unreadable: append([]string{}, w.history.Unreadable...), Requeued: w.history.Requeued, Joined: w.history.Joined,
		Cluster: w.site.text, GPUs: w.site.gpus, Inferred: w.site.inferred, Policy: w.options.policy,
		Restart: inSeconds(w.options.restart), Interval: inSeconds(w.options.interval),
		Recorded: figuresWire(f, w.recordedIdle(f)), Baseline: figuresWire(w.before.Figures, w.before.idle),
	}
	out.Accounts = append([]whatifAccount{}, w.accounts()...)
	for i, name := range []string{"likely", "worse", "better"} {
		o := w.after[i]
		sooner, later, _ := w.compared(o, w.all())
		out.Sluice = append(out.Sluice, whatifOutcome{
			Case: name, Serial: o.assume.Serial, PerNode: o.assume.PerNode, Share: o.assume.Elastic, Elastic: o.elastic,
			Growth: o.assume.Growth, Shrink: o.assume.Shrink, Sooner: sooner, Later: later,
			Restarts: report.Ratio(float64(o.result.Restarts) / float64(len(o.result.Jobs))), whatifFigures: figuresWire(o.Figures, o.idle),
		})
	}
	return out
}

func figuresWire(f workload.Figures, idle float64) whatifFigures {
	return whatifFigures{
		MeanJCT: inSeconds(f.MeanJCT), MedianJCT: inSeconds(f.MedianJCT), P99JCT: inSeconds(f.P99JCT), LongestJCT: inSeconds(f.LongestJCT),
		MeanWait: inSeconds(f.MeanWait), MaxWait: inSeconds(f.MaxWait), Makespan: inSeconds(f.Span), GPUHours: report.Hours(f.GPUHours), Idle: report.Ratio(idle),
	}
}

func inSeconds(d time.Duration) report.Seconds { return report.Seconds(d.Seconds()) }

// listed returns the list, empty rather than null.
func listed(list []workload.Count) []workload.Count { return append([]workload.Count{}, list...) }
