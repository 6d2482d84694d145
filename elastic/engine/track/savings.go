package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// moment is added to three times the last save's duration.
const moment = 30 * time.Second

// settleBefore is how long before maintenance a job's move away should be complete.
const settleBefore = time.Minute

// savesDue returns the moves that save running jobs before their time limit, or the end of their
// reservation, ends them. Slurm does not requeue such a job, and the work since its last
// checkpoint would be lost. The result is a Park for a job that starts again with its whole limit
// (goesOn), else a Save, whose target is the place that it has (decision 25).
func (st *State) savesDue(now time.Time) []elastic.Intent {
	var out []elastic.Intent
	for _, js := range st.Ordered() {
		if !js.Shown.Seen || js.Shown.Disown || !js.Rec.Ended.IsZero() || !js.placeKnown() || st.Rules.mute(js) {
			continue
		}
		left, reservation := st.left(js, now)
		if !js.endsSoon(now, left, st.Rules.margin(js)) {
			continue
		}
		why := reason.EndsSoon{Reservation: reservation, In: left.Seconds()}
		if reservation == "" && js.goesOn() {
			why.Again = true
			out = append(out, st.Rules.Intend(js, elastic.Park, why, now))
			continue
		}
		in := st.Rules.Intend(js, elastic.Save, why, now)
		in.Target = in.From
		out = append(out, in)
	}
	return out
}

// left returns how long Slurm lets a running job run; 0 = without limit. reservation is the one whose
// end comes first; "" = the time limit does.
func (cl *Cluster) left(js *Job, now time.Time) (left time.Duration, reservation string) {
	left = js.Shown.Slurm.TimeLeft
	in := cl.Site.Reserved[js.Shown.Slurm.ID]
	for _, r := range cl.Site.Reservations {
		rest := r.End.Sub(now).Truncate(time.Second)
		if in != "" && r.Name == in && rest > 0 && (left == 0 || rest < left) {
			left, reservation = rest, r.Name
		}
	}
	return left, reservation
}

// goesOn reports whether the job is requeued before its time limit, to run with a new one. The run
// must have made progress, otherwise the job would never end. A job that its user holds
// would not start again; it only saves.
func (js *Job) goesOn() bool {
	tag := js.Rec.Tag
	held := tag.Directive.Hold || HeldByPerson(js.Shown.Slurm, js.Rec.Barred)
	return tag.Spec.Again && !held && js.Runs.Seg != nil && js.Runs.Seg.Ended.IsZero() && js.Runs.Seg.DoneTo > js.Runs.Seg.DoneFrom &&
		(tag.Spec.Total == 0 || js.Rec.Done < tag.Spec.Total)
}

// margin returns how long before its time limit a job is asked to save: two periods plus the
// expected save. Without a measured save that is the whole grace period. It is at most a quarter
// of the time limit, if there is one. For example, with a period of 30 s and a save that took 20 s it
// is 60 s + 3*20 s + 30 s = 150 s.
func (ru *Rules) margin(js *Job) time.Duration {
	save := ru.Limits.Grace
	switch spec := js.Rec.Tag.Spec; {
	case js.Placing.took > 0:
		save = 3*js.Placing.took + moment
	case js.Rec.Price.Measured > 0:
		save = 3*js.Rec.Price.Save + moment
	case spec.Grace > 0:
		save = ru.Limits.GraceOf(spec, 0)
	}
	if limit := js.Shown.Slurm.TimeLimit; limit > 0 {
		return min(2*ru.Period+save, limit/4)
	}
	return 2*ru.Period + save
}

// savesAt returns when a running job should be asked to save before Slurm ends it; zero if Slurm
// does not. For short jobs this may lie before the next period, so that NextTry uses it.
func (st *State) savesAt(js *Job, now time.Time) time.Time {
	if !js.Shown.Seen || js.Shown.Disown || PhaseOf(js.Shown.Slurm, now) != elastic.Running {
		return time.Time{}
	}
	left, _ := st.left(js, now)
	if left <= 0 {
		return time.Time{}
	}
	return now.Add(left - st.Rules.margin(js))
}

// endsSoon reports whether the job's time left is within the margin, and it was not asked to save
// since then. After an administrator extends the limit, it is asked again.
func (js *Job) endsSoon(now time.Time, left, margin time.Duration) bool {
	return PhaseOf(js.Shown.Slurm, now) == elastic.Running && left > 0 && left <= margin && js.Placing.saving.Before(now.Add(left-margin))
}

// mute reports whether a request would be useless: the job does not answer requests, its folder
// does not answer, or its program saves on its own and ignores requests.
func (ru *Rules) mute(js *Job) bool {
	spec, deaf := js.Rec.Tag.Spec, ru.Limits.DeafAfter
	return !js.Mail.unread.IsZero() || spec.Signal == "" && (spec.Habit || !js.Rec.Speaks) || deaf > 0 && js.Rec.Deaf >= deaf
}

// lead returns how long before maintenance the job is asked to leave: its margin, the time until it
// has left its nodes (Drain), the maximum age of the reservations that were read, and settleBefore.
func (ru *Rules) lead(js *Job) time.Duration {
	return ru.margin(js) + js.Rec.Price.Drain + ru.LimitsPeriod() + settleBefore
}
