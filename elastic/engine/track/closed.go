package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/resize"
)

// Closed applies the end of a move to the state. The journal MUST have recorded it BEFORE. It changes
// no Open; the caller removes the move (Moves.Settled). What follows:
//
//	done            the last problem is forgotten; after a resize the refusals too
//	fellback        counts as a failed start (noteFallen), unless Slurm's refusal was noted already
//	abandoned       at step Asked, with a folder that answers: one more request without an answer
//	all             cooldown begins (Moved), except after a start or a save
func (st *State) Closed(next resize.Next, now time.Time) {
	in := next.Intent
	js := st.ByID[in.Job]
	if js == nil {
		return
	}
	js.Tells.Last = reason.MoveClosed{Kind: string(in.Kind), From: in.From, Target: in.Target, Outcome: string(next.Close), Because: next.Why}
	js.Dirty = true
	if next.Close == elastic.Done && in.Kind == elastic.Park {
		js.Tells.parked = whyParked(in.Cause)
	}
	if next.Close == elastic.Done {
		delete(js.Tells.Problem, "move")
		if in.Kind == elastic.Resize && in.Fallbacks == 0 {
			js.Placing.Refused = elastic.Refused{}
		}
	}
	if next.Close == elastic.Fellback && !next.Refused {
		st.noteFallen(js, in, next.Why, now)
	}
	if in.Kind != elastic.Start && in.Kind != elastic.Save {
		js.Rec.Moved = now
	}
	if in.Kind == elastic.Save && next.Close == elastic.Done {
		js.Placing.took = max(in.SavedAt.Sub(in.AskedAt), time.Second)
	}
	if next.Close == elastic.Abandoned && in.Step == elastic.Asked && !js.Mail.answered(in.Request) && js.Mail.unreadSince(now).IsZero() {
		js.Rec.Deaf++
	}
	if next.Close == elastic.Done || next.Close == elastic.Fellback {
		js.priceOf(in)
	}
}

// answered reports whether the runner of the present run answered the request with a checkpoint.
func (m *mail) answered(request string) bool {
	return m.runner.ok && AnswersRequest(m.runner.word, request) && m.runner.word.Answer.Checkpoint != ""
}

// priceOf records the resize cost of a closed move, as far as the daemon measured it: save, drain
// and start. The load part comes later, from the program's first progress line. A park has
// only the first two parts and is not charged to a run. A move without all three times, as a start,
// measures nothing.
func (js *Job) priceOf(in elastic.Intent) {
	if in.AskedAt.IsZero() || in.SavedAt.IsZero() || in.PendingAt.IsZero() || js.Runs.Seg == nil {
		return
	}
	if in.Kind == elastic.Park {
		known, times := &js.Rec.Price, js.Rec.Price.Measured
		known.Save = blend(known.Save, in.SavedAt.Sub(in.AskedAt), times)
		known.Drain = blend(known.Drain, in.PendingAt.Sub(in.SavedAt), times)
		return
	}
	p := &js.Runs.Seg.Price
	p.Save, p.Drain = in.SavedAt.Sub(in.AskedAt), in.PendingAt.Sub(in.SavedAt)
	if js.Mail.runner.ok && js.Mail.runner.word.FirstLine.After(in.PendingAt) {
		p.Start = js.Mail.runner.word.FirstLine.Sub(in.PendingAt)
	}
	js.Runs.segNew = true
	known, times := &js.Rec.Price, js.Rec.Price.Measured
	known.Save, known.Drain = blend(known.Save, p.Save, times), blend(known.Drain, p.Drain, times)
	if p.Start > 0 {
		known.Start = blend(known.Start, p.Start, times)
	}
	known.Measured++
}
