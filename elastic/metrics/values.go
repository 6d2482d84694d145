package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/nodes"
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

// nodes adds the GPUs by type and use. Of a node with several types, the use by elastic jobs is shared
// out in proportion: Slurm does not say which jobs have which.
func (g *gauges) nodes(r *publish.Report) {
	held := map[string]int{}
	live(r, func(jr *publish.JobReport) {
		for _, s := range jr.Job.Place {
			held[s.Node] += s.GPUs
		}
	})
	uses := map[string]map[string]float64{}
	all := map[string]float64{}
	for _, n := range r.Nodes {
		for _, t := range typesOf(n) {
			if uses[t.Type] == nil {
				uses[t.Type] = map[string]float64{}
			}
			elastic := min(float64(t.Used), float64(held[n.Name])*fraction(t.Used, n.Used))
			of, free := uses[t.Type], float64(max(0, t.GPUs-t.Used))
			of["elastic"] += elastic
			of["other"] += float64(t.Used) - elastic
			if n.Usable {
				of["idle"] += free
			} else {
				of["unusable"] += free
			}
			all[t.Type] += float64(t.GPUs)
		}
	}
	for _, k := range merge(uses, all, mostTypes) {
		for _, use := range []string{"elastic", "other", "idle", "unusable"} {
			g.add("sluice_gpus", uses[k][use], k, use)
		}
	}
	excluded := 0
	for _, f := range r.Health {
		if f.Excluded {
			excluded++
		}
	}
	g.add("sluice_nodes_excluded", float64(excluded))
}

// merge keeps the most keys with the largest weights, adds the others to other, and returns the keys in
// order.
func merge(of map[string]map[string]float64, weight map[string]float64, most int) []string {
	keep := map[string]bool{}
	for _, k := range largest(weight, most) {
		keep[k.name] = true
	}
	var keys []string
	for name, values := range of {
		if keep[name] {
			keys = append(keys, name)
			continue
		}
		if of[other] == nil {
			of[other] = map[string]float64{}
		}
		for k, v := range values {
			of[other][k] += v
		}
	}
	if of[other] != nil && !slices.Contains(keys, other) {
		keys = append(keys, other)
	}
	slices.Sort(keys)
	return keys
}

// typesOf returns a node's GPUs by type.
func typesOf(n nodes.Node) []nodes.OfType {
	list := slices.Clone(n.Types)
	if len(list) == 0 && n.GPUs > 0 {
		list = []nodes.OfType{{Type: n.Type, GPUs: n.GPUs, Used: n.Used}}
	}
	for i := range list {
		list[i].Type = cmp.Or(list[i].Type, untyped)
	}
	return list
}

func fraction(part, whole int) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// shares adds the accounts, those that have or deserve most.
func (g *gauges) shares(r *publish.Report) {
	uses, weight := map[string]map[string]float64{}, map[string]float64{}
	for _, s := range r.Sharing() {
		if s.User != "" || s.Account == "" {
			continue
		}
		uses[s.Account] = map[string]float64{
			"deserved": float64(s.Deserved), "in_use": float64(s.Has), "wanted": float64(s.Wanted), "borrowed": s.Borrowed, "lent": s.Lent,
		}
		weight[s.Account] = float64(s.Deserved + s.Has + s.Wanted)
	}
	for _, account := range merge(uses, weight, mostAccounts) {
		for _, amount := range []string{"deserved", "in_use", "wanted", "borrowed", "lent"} {
			g.add("sluice_share_gpus", uses[account][amount], account, amount)
		}
	}
}

// users adds jobs and GPUs by user.
func (g *gauges) users(r *publish.Report) {
	uses, gpus, weight := map[string]map[string]float64{}, map[string]float64{}, map[string]float64{}
	live(r, func(jr *publish.JobReport) {
		name := cmp.Or(jr.Record.User, strconv.FormatUint(uint64(jr.Record.UID), 10))
		if uses[name] == nil {
			uses[name] = map[string]float64{}
		}
		uses[name][string(cmp.Or(jr.Job.Phase, elastic.Waiting))]++
		gpus[name] += float64(jr.Job.GPUs())
		weight[name]++
	})
	for _, user := range merge(uses, weight, mostUsers) {
		for _, p := range phases {
			g.add("sluice_user_jobs", uses[user][string(p)], user, string(p))
		}
	}
	g.addAll("sluice_user_gpus", gpus, mostUsers)
}

// each adds the jobs that have GPUs, those with the most if there are too many.
func (g *gauges) each(r *publish.Report) {
	var have []*publish.JobReport
	live(r, func(jr *publish.JobReport) {
		if jr.Job.GPUs() > 0 {
			have = append(have, jr)
		}
	})
	slices.SortFunc(have, func(a, b *publish.JobReport) int {
		return cmp.Or(cmp.Compare(b.Job.GPUs(), a.Job.GPUs()), cmp.Compare(a.Record.ID, b.Record.ID))
	})
	rest := 0
	for i, jr := range have {
		if i >= mostJobs {
			rest += jr.Job.GPUs()
			continue
		}
		g.add("sluice_job_gpus", float64(jr.Job.GPUs()), strconv.FormatInt(int64(jr.Record.ID), 10), jr.Record.User, jr.Record.Account.Name)
	}
	if rest > 0 {
		g.add("sluice_job_gpus", float64(rest), other, other, other)
	}
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
