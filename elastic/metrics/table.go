package metrics

import "github.com/prometheus/client_golang/prometheus"

// Definition is one metric, for METRICS.md.
type Definition struct {
	Name, Kind string   // Kind is gauge, counter or histogram
	Labels     []string // in order; nil = none
	Help       string
}

// Definitions are all metrics of sluice. Names and labels are an interface for dashboards and alerts.
var Definitions = []Definition{
	{"sluice_build_info", gauge, []string{"version", "go"}, "1; its labels name the release of sluiced and of Go"},
	{"sluice_last_cycle_timestamp_seconds", gauge, nil, "when the last cycle that saw Slurm ended, as Unix time"},
	{"sluice_cycle_seconds", histogram, nil, "wall time of a cycle, its queries and effects included"},
	{"sluice_decision_seconds", histogram, nil, "wall time of one decision of the policy"},
	{"sluice_undecided_cycles_total", counter, nil, "cycles that ended with an error"},
	{"sluice_blind", gauge, nil, "1 while Slurm does not answer, or not plausibly; else 0"},
	{"sluice_blind_seconds_total", counter, nil, "seconds in which Slurm did not answer"},

	{"sluice_jobs", gauge, []string{"phase"}, "elastic jobs that have not ended: waiting, queued (Slurm will start it), running, suspended or completing"},
	{"sluice_jobs_ended_total", counter, []string{"how"}, "elastic jobs that ended, by how: completed, failed, killed, cancelled and so on"},
	{"sluice_longest_wait_seconds", gauge, nil, "time since the submission of the job that has waited longest for its first run"},
	{"sluice_ordinary_jobs_waiting", gauge, nil, "jobs that sluice does not manage and that wait for GPUs"},
	{"sluice_nodes_excluded", gauge, nil, "nodes that get no new job because a GPU is reported as unfit"},
	{"sluice_gpus", gauge, []string{"type", "use"}, "GPUs by type and use: elastic, other (jobs that sluice does not manage), idle or unusable"},

	{"sluice_moves_open", gauge, []string{"move"}, "moves that have begun and not ended, by what they are for"},
	{"sluice_moves_total", counter, []string{"move", "outcome"}, "moves that ended: done, abandoned, user, fellback or ended (the job ended)"},
	{"sluice_dead_seconds_total", counter, []string{"part"}, "seconds in which jobs did not train because of a move: save, stop, wait (until the script's first line) and start (until the first step)"},
	{"sluice_dead_gpu_seconds_total", counter, nil, "GPU-seconds lost by moves: save and stop on the GPUs before, wait and start on those after"},
	{"sluice_gained_gpu_seconds_total", counter, nil, "GPU-seconds that jobs had beyond their minimum, which fixed jobs of that size would not have had"},

	{"sluice_deadlines", gauge, []string{"state"}, "jobs with a deadline that have not ended: admitted, in_doubt (admitted, and the last decision does not meet it), not_admitted or passed"},
	{"sluice_deadlines_total", counter, []string{"outcome"}, "admitted deadlines that were kept or broken; a job that is cancelled or fails before its deadline is neither"},

	{"sluice_share_gpus", gauge, []string{"account", "amount"}, "GPUs of an account with all below it: deserved, in_use, wanted, borrowed or lent"},

	{"sluice_sweeps", gauge, []string{"state"}, "hyper-parameter sweeps with lanes: running, waiting (no trial runs), paused or over"},
	{"sluice_sweep_trials", gauge, []string{"state"}, "trials of these sweeps: running, waiting, paused, stopped, failed or done"},
	{"sluice_sweep_trials_ended_total", counter, []string{"how"}, "trials that ended: done or failed; a trial that is paused has not ended"},
	{"sluice_sweep_lanes", gauge, []string{"state"}, "lanes of sweeps: first (one for each sweep that has GPUs), further (those beyond it) or waiting"},
	{"sluice_sweep_longest_without_lane_seconds", gauge, nil, "for how long a sweep that is neither paused nor over has had no lane with a GPU: the longest such time"},

	{"sluice_slurm_requests_total", counter, []string{"request", "outcome"}, "calls of Slurm's programs by request; outcome is ok or failed"},
	{"sluice_slurm_request_seconds", histogram, nil, "wall time of one call of a Slurm program"},
	{"sluice_journal_seconds", histogram, nil, "wall time of one write to the journal"},
	{"sluice_store_errors_total", counter, nil, "writes to the journal that failed"},

	{"sluice_messages_total", counter, []string{"channel", "outcome"}, "messages by channel (exec, webhook or mail) and outcome: sent, failed or dropped"},
	{"sluice_messages_waiting", gauge, nil, "messages that are not sent yet"},

	{"sluice_user_jobs", gauge, []string{"user", "phase"}, "as sluice_jobs, by user; only with users = true"},
	{"sluice_user_gpus", gauge, []string{"user"}, "GPUs of elastic jobs by user; only with users = true"},
	{"sluice_job_gpus", gauge, []string{"job", "user", "account"}, "GPUs of each job that has some; only with jobs = true"},
	{"sluice_sweep_level", gauge, []string{"sweep"}, "how far a sweep has converged, 0 or more; only with jobs = true, of the newest sweeps that are not over"},
	{"sluice_sweep_best", gauge, []string{"sweep", "metric"}, "the best result of a sweep so far, in the unit of its metric; as sluice_sweep_level"},
}

const (
	gauge     = "gauge"
	counter   = "counter"
	histogram = "histogram"
)

// find returns the definition of a metric.
func find(name string) Definition {
	for _, d := range Definitions {
		if d.Name == name {
			return d
		}
	}
	return Definition{Name: name}
}

// maker makes metrics of the table and registers them.
type maker struct {
	to   prometheus.Registerer
	errs []error
}

func (m *maker) counter(name string) *prometheus.CounterVec {
	d := find(name)
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
	m.errs = append(m.errs, m.to.Register(c))
	return c
}

// single is counter for one without labels, which is shown from the start.
func (m *maker) single(name string) prometheus.Counter {
	return m.counter(name).WithLabelValues()
}

func (m *maker) histogram(name string) prometheus.Histogram {
	d := find(name)
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: seconds})
	m.errs = append(m.errs, m.to.Register(h))
	return h
}

// seconds are the buckets of all histograms: from a write to the journal to a Slurm that hangs.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
