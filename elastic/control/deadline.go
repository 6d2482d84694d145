package control

import (
	"cmp"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// deadline changes a job's deadline and answers with what was decided about it at once.
func (s *Server) deadline(q request, jr publish.JobReport, change wire.Change) (any, error) {
	judged, err := s.service.Deadline(q.Context(), q.caller, jr.Record.ID, change)
	if err != nil {
		return nil, err
	}
	out := wire.Judgement{JobID: int64(jr.Record.ID), Deadline: change.Deadline, Soft: change.Soft, Policy: jr.Policy}
	if r := s.service.Report(); r != nil {
		out.Policy = cmp.Or(out.Policy, r.Policy)
	}
	out.Promises = promises(out.Policy) || judged != nil && judged.Promised
	if judged != nil && !change.Deadline.IsZero() {
		out.Due, out.Promised, out.Ends = string(judged.Due), judged.Promised, judged.Ends
	}
	out.Text = judgement(out, q.options.Now())
	return out, nil
}

// judgement is a judgement for people.
func judgement(j wire.Judgement, now time.Time) string {
	var why reason.Reason
	switch elastic.Due(j.Due) {
	case elastic.DuePromised:
		if j.Ends.IsZero() {
			return "admitted"
		}
		return "admitted: " + say.Reason(reason.EndsBy{Ends: j.Ends, Spare: j.Deadline.Sub(j.Ends).Seconds()}, now)
	case elastic.DueUnmet:
		why = reason.DeadlineUnmet{Deadline: j.Deadline, Ends: j.Ends}
	case elastic.DueUnknown:
		why = reason.DeadlineUnknown{Deadline: j.Deadline}
	case elastic.DuePassed:
		why = reason.DeadlinePassed{Deadline: j.Deadline}
	default:
		switch {
		case j.Deadline.IsZero():
			return "it has no deadline any more"
		case !j.Promises:
			return "the site's policy, " + j.Policy + ", does not admit deadlines"
		}
		why = reason.DeadlineUnjudged{Deadline: j.Deadline}
	}
	return say.Reason(why, now)
}

// deadlineFits refuses a deadline that is impossible for the job, as its submission would.
func deadlineFits(id elastic.JobID, spec elastic.Spec, change wire.Change, now time.Time) error {
	switch due := change.Deadline; {
	case change.Order != wire.NewDeadline || due.IsZero():
		return nil
	case spec.Total <= 0:
		return wire.Fail(wire.Conflict, "submit it with --epochs or --steps", "job %d cannot have a deadline: it declared no amount of work", id)
	case !due.After(now):
		return wire.Fail(wire.Conflict, "name a time in the future", "job %d cannot have a deadline in the past", id)
	}
	return nil
}
