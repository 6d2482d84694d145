package usage

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// Range is a half-open time range: From is in it, To is not. To MUST NOT be in the future.
type Range struct{ From, To time.Time }

// has reports whether the moment is in the range. An unknown one never is.
func (r Range) has(at time.Time) bool {
	return !at.IsZero() && !at.Before(r.From) && at.Before(r.To)
}

// overlap returns how many seconds of [start, end) are in the range. 0 if there are none, also if
// end is before start.
func (r Range) overlap(start, end time.Time) float64 {
	if start.Before(r.From) {
		start = r.From
	}
	if end.After(r.To) {
		end = r.To
	}
	return max(0, end.Sub(start).Seconds())
}

// Figures are what jobs used in a range. Counts and sums are at least 0. Beyond <= GPUSeconds and
// Kept <= Promised; of one job, at most one of Ended, Running and Waiting is 1.
type Figures struct {
	Ended   int // jobs that ended in the range
	Running int // jobs with GPUs at its end
	Waiting int // jobs without GPUs at its end that have not ended

	GPUSeconds float64 // GPUs held, times the time held
	Beyond     float64 // of these, on GPUs beyond the job's minimum

	FirstRuns int // jobs that ran first in the range

	Moves int // runs that sluice began, apart from each job's first
	// Dead are GPU-seconds of moves in which a job did not train: saving and stopping, on the
	// GPUs before, starting and loading, on those after.
	Dead float64
	// Lost are the seconds by which moves delayed their jobs: the same times, and the work that
	// was trained again.
	Lost float64

	Promised int // admitted deadlines that were met or missed in the range
	Kept     int // of these, met
}

// plus returns the sum.
func (f Figures) plus(g Figures) Figures {
	return Figures{
		Ended: f.Ended + g.Ended, Running: f.Running + g.Running, Waiting: f.Waiting + g.Waiting,
		GPUSeconds: f.GPUSeconds + g.GPUSeconds, Beyond: f.Beyond + g.Beyond, FirstRuns: f.FirstRuns + g.FirstRuns,
		Moves: f.Moves + g.Moves, Dead: f.Dead + g.Dead, Lost: f.Lost + g.Lost,
		Promised: f.Promised + g.Promised, Kept: f.Kept + g.Kept,
	}
}

// Of returns the figures of one job. Its runs MUST be in order. Moves count at the start of the run
// that they led to. The minimum is the present one of the job, also for runs from before a change
// of it. O(runs).
func Of(job journal.JobRecord, runs []journal.Segment, r Range) Figures {
	var out Figures
	out.state(job, runs, r)
	for i, run := range runs {
		end := endOf(job, runs, i, r)
		held := r.overlap(run.Started, end)
		gpus := run.Place.GPUs()
		out.GPUSeconds += held * float64(gpus)
		out.Beyond += held * float64(max(0, gpus-job.Tag.Spec.Min))
		if i > 0 && r.has(run.Started) && BySluice(run.Cause) {
			out.move(runs[i-1], run, endOf(job, runs, i-1, r))
		}
	}
	if r.has(job.FirstRun) {
		out.FirstRuns = 1
	}
	if at, kept, judged := deadline(job); judged && r.has(at) {
		out.Promised = 1
		if kept {
			out.Kept = 1
		}
	}
	return out
}

// state counts the job as ended, running or waiting; as nothing if it is not in the range. A job
// that was submitted after the range, or ended before it, is not in it. One that ended after the
// range is in the state that it had at its end.
func (f *Figures) state(job journal.JobRecord, runs []journal.Segment, r Range) {
	switch {
	case r.has(job.Ended):
		f.Ended = 1
		return
	case !job.Ended.IsZero() && job.Ended.Before(r.From) || !job.Submitted.Before(r.To):
		return
	}
	for i, run := range runs {
		if run.Started.Before(r.To) && !endOf(job, runs, i, r).Before(r.To) {
			f.Running = 1
			return
		}
	}
	f.Waiting = 1
}

// endOf returns the end of a run: at most the start of the next one, or the job's end, where its
// own was not seen; the end of the range if it goes on.
func endOf(job journal.JobRecord, runs []journal.Segment, i int, r Range) time.Time {
	end := runs[i].Ended
	if i+1 < len(runs) && (end.IsZero() || end.After(runs[i+1].Started)) {
		end = runs[i+1].Started
	}
	if end.IsZero() {
		end = job.Ended
	}
	if end.IsZero() {
		end = r.To
	}
	return end
}

// BySluice reports whether sluice began a run of this cause, and neither Slurm by itself nor a
// requeue by somebody else. A run whose cause is not known (nil) counts as sluice's.
func BySluice(cause reason.Reason) bool {
	_, outside := cause.(reason.OutsideSluice)
	return !outside && cause != reason.RequeuedOutside && cause != reason.StartedBySlurm
}

// move adds what the move from one run to the next cost, as 'sluice history' shows it. ended is the
// end of the run before. Each phase counts on the GPUs that the job had in it: a grow from 2 to 4
// GPUs that saves for 5 s and loads for 10 s costs 2*5 + 4*10 = 50 GPU-seconds.
func (f *Figures) move(before, after journal.Segment, ended time.Time) {
	p := after.Price
	stop, start := (p.Save + p.Drain).Seconds(), (p.Start + p.Load).Seconds()
	f.Moves++
	f.Dead += stop*float64(before.Place.GPUs()) + start*float64(after.Place.GPUs())
	f.Lost += stop + start + again(before, after, ended)
}

// again returns the seconds of the run before that the run after it repeated. The speed is what
// the job reported, so they are at most all of that run.
func again(before, after journal.Segment, ended time.Time) float64 {
	seconds := max(0, before.DoneTo-after.DoneFrom) * before.Seconds
	if !(seconds > 0) { // NaN too
		return 0
	}
	return min(seconds, max(0, ended.Sub(before.Started).Seconds()))
}

// deadline returns when an admitted deadline was met or missed: at the job's end, or when it
// passed. A job that was cancelled, or failed, before its deadline is judged neither way.
func deadline(job journal.JobRecord) (at time.Time, kept, judged bool) {
	due := job.Tag.Spec.Deadline
	switch {
	case !job.Promised || due.IsZero():
		return time.Time{}, false, false
	case job.Ended.IsZero() || job.Ended.After(due):
		return due, false, true
	case job.State == string(slurm.Completed):
		return job.Ended, true, true
	}
	return time.Time{}, false, false
}
