package metrics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

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
		name := cmp.Or(jr.Record.Owner.User, strconv.FormatUint(uint64(jr.Record.Owner.UID), 10))
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
		g.add("sluice_job_gpus", float64(jr.Job.GPUs()), strconv.FormatInt(int64(jr.Record.ID), 10), jr.Record.Owner.User, jr.Record.Account.Name)
	}
	if rest > 0 {
		g.add("sluice_job_gpus", float64(rest), other, other, other)
	}
}
