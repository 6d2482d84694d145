package notify

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/message"
)

// job appends what is new of one job.
func (w *Watch) job(out []Send, jr *publish.JobReport, at time.Time) []Send {
	j := w.jobs[jr.Record.Token]
	if j == nil && jr.Ended && !w.ended[jr.Record.ID] {
		return out // it was told of: most jobs of a report are such
	}
	if j == nil {
		j = w.meet(jr)
		w.jobs[jr.Record.Token] = j
	}
	j.seen = true // an ended job, too: its user may requeue it, and how it ended may be learned late
	out = w.begin(out, j, jr)
	if jr.Ended {
		if w.ended[jr.Record.ID] {
			out = w.end(out, j, jr)
		}
		return out
	}
	out = w.requeue(out, j, jr, at)
	out = w.due(out, j, jr, at)
	return w.moves(out, j, jr, at)
}

// meet returns the state of a job that no earlier report had: what happened before sluiced started was told
// by the one before it.
func (w *Watch) meet(jr *publish.JobReport) *job {
	rec := &jr.Record
	j := &job{gpus: jr.Job.GPUs()}
	j.begun = !rec.FirstRun.IsZero() && rec.FirstRun.Before(w.since)
	due := rec.Tag.Spec.Deadline
	j.broken = !due.IsZero() && due.Before(w.since)
	return j
}

// begin tells of a job's first run. The record has the time at which sluiced first saw it, so that one that
// began while sluiced was down is told of afterwards.
func (w *Watch) begin(out []Send, j *job, jr *publish.JobReport) []Send {
	rec := &jr.Record
	if j.begun || rec.FirstRun.IsZero() {
		return out
	}
	j.begun = true
	waited := max(0, rec.FirstRun.Sub(rec.Submitted)).Seconds()
	if rec.Tag.Notices.Begin {
		out = w.mail(out, jr, message.Message{Code: message.SlurmBegan, At: rec.FirstRun, Waited: waited})
	}
	if jr.Ended {
		return out // the end says it all
	}
	return w.tell(out, jr, message.Message{Code: message.Start, At: rec.FirstRun, Waited: waited})
}

// end tells how a job ended.
func (w *Watch) end(out []Send, j *job, jr *publish.JobReport) []Send {
	rec, ending := &jr.Record, jr.Ending
	m := message.Message{Code: message.Failure, At: rec.Ended, How: string(ending.How), Exit: ending.Code, Ending: ending.String(), Moves: j.moves, Resizes: j.resizes}
	switch ending.How {
	case journal.Completed, journal.Cancelled, journal.Forgotten:
		m.Code = message.End
	}
	if !rec.FirstRun.IsZero() {
		m.Ran = max(0, rec.Ended.Sub(rec.FirstRun)).Seconds()
	}
	j.moves, j.resizes, j.running = nil, 0, false
	return w.tell(out, jr, m)
}

// requeue sends Slurm's mail about a job that waits again although sluice did not stop it: its user, an
// administrator or Slurm requeued it.
func (w *Watch) requeue(out []Send, j *job, jr *publish.JobReport, at time.Time) []Send {
	switch jr.Job.Phase {
	case elastic.Running:
		again := j.running && jr.Record.Restarts != j.restarts // and no report showed it waiting
		if again && jr.Record.Tag.Notices.Requeue && !w.moved(jr) {
			out = w.mail(out, jr, message.Message{Code: message.SlurmRequeued, At: at, Ran: at.Sub(j.ranSince).Seconds()})
		}
		if !j.running || again {
			j.ranSince = at
		}
		j.running, j.restarts = true, jr.Record.Restarts
	case elastic.Waiting, elastic.Queued:
		if j.running && jr.Record.Tag.Notices.Requeue && !w.moved(jr) {
			out = w.mail(out, jr, message.Message{Code: message.SlurmRequeued, At: at, Ran: at.Sub(j.ranSince).Seconds()})
		}
		j.running = false
	}
	return out
}

// moved reports whether a move of sluice's is open, or has ended in this cycle.
func (w *Watch) moved(jr *publish.JobReport) bool {
	return jr.Intent != nil && jr.Intent.Kind != elastic.Start || w.resized[jr.Record.ID]
}

// due tells once that an admitted deadline is in doubt, and once that it was broken.
func (w *Watch) due(out []Send, j *job, jr *publish.JobReport, at time.Time) []Send {
	due := jr.Record.Tag.Spec.Deadline
	if due.IsZero() || !jr.Record.Promised || j.broken {
		return out
	}
	m := message.Message{Code: message.Deadline, At: at, Due: due.UTC().Format(time.RFC3339), State: message.InDoubt}
	if !jr.Ends.IsZero() {
		m.Ends = jr.Ends.UTC().Format(time.RFC3339)
	}
	if at.After(due) {
		j.broken, m.State = true, message.Broken
		return w.tell(out, jr, m)
	}
	switch {
	case jr.Due != elastic.DueUnmet:
		j.doubt = time.Time{}
	case j.doubt.IsZero():
		j.doubt = at
	case !j.doubted && at.Sub(j.doubt) >= doubtAfter:
		j.doubted = true
		return w.tell(out, jr, m)
	}
	return out
}

// moves collects a job's resizes, and tells of them together.
func (w *Watch) moves(out []Send, j *job, jr *publish.JobReport, at time.Time) []Send {
	gpus := jr.Job.GPUs()
	if w.resized[jr.Record.ID] {
		if j.resizes == 0 {
			j.first = at
		}
		j.resizes++
		if j.moves = append(j.moves, message.Move{At: at, From: j.gpus, To: gpus}); len(j.moves) > message.MostMoves {
			j.moves = j.moves[1:]
		}
	}
	if jr.Intent == nil { // in a move it may run at its new size already
		j.gpus = gpus
	}
	if j.resizes == 0 || gpus == 0 || at.Sub(j.first) < w.rules.Digest {
		return out
	}
	out = w.tell(out, jr, message.Message{Code: message.Digest, At: at, Moves: j.moves, Resizes: j.resizes})
	j.moves, j.resizes = nil, 0
	return out
}
