package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// Options say how much is told about single users and jobs.
type Options struct {
	Users, Jobs bool
}

// Bounds of the numbers of series; what is beyond them is one series named other.
const (
	mostAccounts = 100
	mostUsers    = 200
	mostJobs     = 500
	mostTypes    = 32
	other        = "other"
	untyped      = "gpu" // GPUs without a type, as Slurm writes them
)

// Sample is the value of one series of a gauge.
type Sample struct {
	Name   string
	Labels []string // their values, in the order of the definition
	Value  float64
}

// Gauges returns what a report says, as samples in a fixed order. It is pure.
func Gauges(r *publish.Report, o Options) []Sample {
	var g gauges
	g.add("sluice_last_cycle_timestamp_seconds", unix(r.At))
	g.add("sluice_blind", truth(r.Blind != ""))
	g.jobs(r)
	g.add("sluice_ordinary_jobs_waiting", float64(len(r.Demands)))
	g.nodes(r)
	g.shares(r)
	if o.Users {
		g.users(r)
	}
	if o.Jobs {
		g.each(r)
	}
	return g.list
}

// gauges collects samples.
type gauges struct{ list []Sample }

func (g *gauges) add(name string, value float64, labels ...string) {
	g.list = append(g.list, Sample{name, labels, value})
}

// addAll adds one sample for each key, of at most most keys those with the largest values, and the sum
// of all others.
func (g *gauges) addAll(name string, of map[string]float64, most int) {
	for _, k := range largest(of, most) {
		g.add(name, k.value, k.name)
	}
}

type named struct {
	name  string
	value float64
}

// largest returns the most largest values, in order of name, and the sum of the others as other.
func largest(of map[string]float64, most int) []named {
	all := make([]named, 0, len(of))
	for name, value := range of {
		all = append(all, named{name, value})
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.name, b.name))
	})
	rest := named{name: other}
	if len(all) > most {
		for _, k := range all[most:] {
			rest.value += k.value
		}
		all = append(slices.DeleteFunc(all[:most], func(k named) bool { // an account may be called so
			if k.name == other {
				rest.value += k.value
			}
			return k.name == other
		}), rest)
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	return all
}

// phases are those of jobs that have not ended.
var phases = []elastic.Phase{elastic.Waiting, elastic.Queued, elastic.Running, elastic.Suspended, elastic.Completing}

// live calls f for every job that has not ended.
func live(r *publish.Report, f func(*publish.JobReport)) {
	for i := range r.Jobs {
		if jr := &r.Jobs[i]; !jr.Ended && jr.Job.Phase != elastic.Ended {
			f(jr)
		}
	}
}

func (g *gauges) jobs(r *publish.Report) {
	in, open, due := map[elastic.Phase]float64{}, map[elastic.Kind]float64{}, map[string]float64{}
	var longest time.Duration
	live(r, func(jr *publish.JobReport) {
		in[cmp.Or(jr.Job.Phase, elastic.Waiting)]++
		if jr.Intent != nil {
			open[jr.Intent.Kind]++
		}
		if state := dueOf(r, jr); state != "" {
			due[state]++
		}
		if jr.Record.FirstRun.IsZero() {
			longest = max(longest, r.At.Sub(jr.Record.Submitted))
		}
	})
	for _, p := range phases {
		g.add("sluice_jobs", in[p], string(p))
	}
	g.add("sluice_longest_wait_seconds", longest.Seconds())
	for _, k := range kinds {
		g.add("sluice_moves_open", open[k], string(k))
	}
	for _, state := range []string{"admitted", "in_doubt", "not_admitted", "passed"} {
		g.add("sluice_deadlines", due[state], state)
	}
}

// kinds are those of moves.
var kinds = []elastic.Kind{elastic.Start, elastic.Resize, elastic.Park, elastic.Revival, elastic.Clearing, elastic.Save}

// dueOf returns the state of a job's deadline; "" = it has none.
func dueOf(r *publish.Report, jr *publish.JobReport) string {
	due := jr.Record.Tag.Spec.Deadline
	switch {
	case due.IsZero():
		return ""
	case !due.After(r.At):
		return "passed"
	case jr.Record.Promised && InDoubt(jr):
		return "in_doubt"
	case jr.Record.Promised:
		return "admitted"
	}
	return "not_admitted"
}

// InDoubt reports whether the last decision does not meet the deadline of an admitted job.
func InDoubt(jr *publish.JobReport) bool {
	return jr.Record.Promised && jr.Due == elastic.DueUnmet
}

// unix returns a time as Unix time; 0 if it is zero.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
