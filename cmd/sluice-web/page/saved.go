package page

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/saved"
)

// savedView is what changing sizes saved.
type savedView struct {
	saved.Result
	Days    int
	Choices []int
	From    time.Time
	Left    int // ended jobs of the range that are not counted
	Own     bool
	Since   time.Time // jobs that ended before are left out; zero = none is
	Kept    time.Time
	Worse   bool // the middle estimate of the completion is that fixed sizes would have been better
	Unsure  bool // zero is in the range
}

var savedDays = []int{1, 7, 30}

func (p *Pages) saved(v *visit) (*sheet, error) {
	view := savedView{Days: min(max(number(v.FormValue("days")), 0), 366), Choices: savedDays}
	if view.Days == 0 {
		view.Days = 7
	}
	view.From = v.now.AddDate(0, 0, -view.Days)
	past, all, err := pastJobs(v, view.From, v.now)
	if err != nil {
		return nil, err
	}
	view.Own, view.Kept = past.Own, past.Kept
	view.Since = leftOut(past, view.From)
	var jobs []saved.Job
	for _, j := range all {
		if job, ok := savedJob(j); ok {
			jobs = append(jobs, job)
		}
	}
	view.Result = saved.Compare(jobs)
	view.Left = len(jobs) - view.Jobs
	view.Worse = view.Done.Mid < 0
	view.Unsure = view.Done.Low < 0 && view.Done.High > 0
	return &sheet{name: "saved", title: "Saved", view: view}, nil
}

// savedJob is a job of the history; ok is false unless it has ended and ran.
func savedJob(j wire.PastJob) (out saved.Job, ok bool) {
	if j.EndedAt.IsZero() || len(j.Runs) == 0 {
		return out, false
	}
	out = saved.Job{Submitted: j.Submitted, Ended: j.EndedAt, Min: j.Min, Max: j.Max}
	for i, r := range j.Runs {
		if r.Started.IsZero() || r.GPUs < 1 {
			continue
		}
		out.Runs = append(out.Runs, saved.Run{GPUs: r.GPUs, From: r.Started, To: runEnd(j.Runs, i, j.EndedAt), Seconds: r.Seconds,
			Dead: time.Duration((r.Price.Start + r.Price.Load) * float64(time.Second))})
	}
	return out, len(out.Runs) > 0 && !out.Submitted.IsZero()
}
