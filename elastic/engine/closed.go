package engine

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// closed notes the end of a move. The journal MUST have it BEFORE.
func (st *State) closed(next elastic.Next, now time.Time) {
	in := next.Intent
	js := st.byID[in.Job]
	if js == nil {
		return
	}
	js.tells.last = reason.MoveClosed{Kind: string(in.Kind), From: in.From, Target: in.Target, Outcome: string(next.Close), Because: next.Why}
	js.dirty = true
	if next.Close == elastic.Done && in.Kind == elastic.Park {
		js.tells.parked = whyParked(in.Cause)
	}
	if next.Close == elastic.Done {
		delete(js.tells.problem, "move")
		if in.Kind == elastic.Resize && in.Fallbacks == 0 {
			js.placing.refused = elastic.Refused{}
		}
	}
	if next.Close == elastic.Fellback && !next.Refused {
		st.noteFallen(js, in, next.Why, now)
	}
	if in.Kind != elastic.Start && in.Kind != elastic.Save {
		js.rec.Moved = now
	}
	if in.Kind == elastic.Save && next.Close == elastic.Done {
		js.placing.took = max(in.SavedAt.Sub(in.AskedAt), time.Second)
	}
	if next.Close == elastic.Abandoned && in.Step == elastic.Asked && !js.mail.answered(in.Request) && js.mail.unreadSince(now).IsZero() {
		js.rec.Deaf++
	}
	if next.Close == elastic.UserWon && next.Why == reason.HeldThroughSlurm {
		js.rec.Tag.Directive.Hold, js.told = true, true
	}
	if next.Close == elastic.Done || next.Close == elastic.Fellback {
		js.priceOf(in)
	}
}

// answered reports whether the runner of the present run answered the request with a checkpoint.
func (m *mail) answered(request string) bool {
	return m.runner.ok && answers(m.runner.word, request) && m.runner.word.Answer.Checkpoint != ""
}

// priceOf books what the move cost: the parts the daemon saw. The load part
// comes later, from the program's first word. A park shows two parts only, and no
// run that was paid for.
func (js *jobState) priceOf(in elastic.Intent) {
	if in.AskedAt.IsZero() || in.SavedAt.IsZero() || in.PendingAt.IsZero() || js.runs.seg == nil {
		return
	}
	if in.Kind == elastic.Park {
		known, times := &js.rec.Price, js.rec.Price.Measured
		known.Save = blend(known.Save, in.SavedAt.Sub(in.AskedAt), times)
		known.Drain = blend(known.Drain, in.PendingAt.Sub(in.SavedAt), times)
		return
	}
	p := &js.runs.seg.Price
	p.Save, p.Drain = in.SavedAt.Sub(in.AskedAt), in.PendingAt.Sub(in.SavedAt)
	if js.mail.runner.ok && js.mail.runner.word.FirstLine.After(in.PendingAt) {
		p.Start = js.mail.runner.word.FirstLine.Sub(in.PendingAt)
	}
	js.runs.segNew = true
	known, times := &js.rec.Price, js.rec.Price.Measured
	known.Save, known.Drain = blend(known.Save, p.Save, times), blend(known.Drain, p.Drain, times)
	if p.Start > 0 {
		known.Start = blend(known.Start, p.Start, times)
	}
	known.Measured++
}
