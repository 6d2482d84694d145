package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// moment is what a save may take beyond what one like it took.
const moment = 30 * time.Second

// settleBefore is how long before a maintenance begins a job should have left, beside what
// the move itself takes.
const settleBefore = time.Minute

// savings are the moves that let running jobs save before their time limit, or the end of
// the reservation they are in, ends them. Slurm ends such a job for good, and what it did
// since its last checkpoint would have to be done again by the job that its user hands in
// next.
func (st *State) savings(now time.Time) []elastic.Intent {
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

// left is how long Slurm lets a running job run still, 0 being for ever, and the
// reservation whose end ends it then; "" = its time limit does.
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

// goesOn reports whether the job is requeued before its time limit, with its whole limit
// before it again. Each run has to have brought it further: else it would never end. A
// user's hold would keep it from being started again, so that such a job only saves.
func (js *Job) goesOn() bool {
	tag := js.Rec.Tag
	held := tag.Directive.Hold || js.Shown.Slurm.Held && !js.Placing.Hold
	return tag.Spec.Again && !held && js.Runs.Seg != nil && js.Runs.Seg.Ended.IsZero() && js.Runs.Seg.DoneTo > js.Runs.Seg.DoneFrom &&
		(tag.Spec.Total == 0 || js.Rec.Done < tag.Spec.Total)
}

// margin is how long before its limit a job is asked: time for two cycles and for the
// save, which may take all that is granted until one was seen. At most a quarter of the
// limit, where there is one.
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

// savesAt is when a running job is to save before Slurm ends it; zero where it does not end it.
// Of a job of a minute that is too late for many a period.
func (st *State) savesAt(js *Job, now time.Time) time.Time {
	if !js.Shown.Seen || js.Shown.Disown || PhaseOf(js.Shown.Slurm) != elastic.Running {
		return time.Time{}
	}
	left, _ := st.left(js, now)
	if left <= 0 {
		return time.Time{}
	}
	return now.Add(left - st.Rules.margin(js))
}

// endsSoon reports whether what is left to the job is within the margin, and it was not
// asked since it is. A limit that an administrator has put off comes near again.
func (js *Job) endsSoon(now time.Time, left, margin time.Duration) bool {
	return PhaseOf(js.Shown.Slurm) == elastic.Running && left > 0 && left <= margin && js.Placing.saving.Before(now.Add(left-margin))
}

// mute reports whether asking the job is of no use: it would not answer, its folder does not,
// or its program saves by a habit of its own and no question changes when.
func (ru *Rules) mute(js *Job) bool {
	spec, deaf := js.Rec.Tag.Spec, ru.Limits.DeafAfter
	return !js.Mail.unread.IsZero() || spec.Signal == "" && (spec.Habit || !js.Rec.Speaks) || deaf > 0 && js.Rec.Deaf >= deaf
}

// lead is how long before a maintenance the job is asked to leave: time for the save, and
// for what is known of reservations to be read again.
func (ru *Rules) lead(js *Job) time.Duration {
	return ru.margin(js) + js.Rec.Price.Drain + ru.LimitsPeriod() + settleBefore
}
