package world

import (
	"math"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
)

// nudge lets a job's runner look at its request file soon.
func (w *World) nudge(token string) {
	if t := w.byToken[token]; t != nil && t.run != nil {
		t.run.After(w.cfg.Notice, t.look)
	}
}

// heartbeat sets the status's heartbeat as a runner that writes one every 10 s.
func (w *World) heartbeat(token string, r *checkpoint.Runner) {
	t := w.byToken[token]
	if t == nil || t.run == nil || r.Restarts != t.run.Restarts || t.gone() {
		return
	}
	beats := t.run.Now().Sub(r.FirstLine) / (10 * time.Second)
	if at := r.FirstLine.Add(beats * 10 * time.Second); at.After(r.Beat) {
		r.Beat = at
	}
}

// gone reports whether there is no present run, as after a silent loss of the node.
func (t *Trainer) gone() bool {
	if t.Job.NeverSpoke && t.run.Restarts == 0 {
		return true
	}
	return t.Job.Gone > 0 && t.run.Restarts == 0 && !t.word.FirstLine.IsZero() && t.run.Now().Sub(t.word.FirstLine) >= t.Job.Gone
}

func (t *Trainer) box() *box { return t.w.Mail.box(t.Token) }

// write replaces runner.json.
func (t *Trainer) write() {
	if t.gone() {
		return
	}
	t.word.Beat = t.run.Now()
	word := t.word
	if t.Job.Forge != nil {
		t.Job.Forge(&word)
	}
	b := t.box()
	b.runner, b.garbled = &word, nil
}

// say appends a line to progress.jsonl.
func (t *Trainer) say(event string) {
	if t.Job.Silent || t.gone() {
		return
	}
	p := checkpoint.Progress{
		Time: float64(t.run.Now().UnixNano()) / 1e9, Restarts: t.run.Restarts, Event: event, Done: t.from,
		Epoch: math.Floor(t.from), Step: int64(t.from * float64(t.Job.Steps)), GPUs: t.run.GPUs(), Nodes: len(t.run.Split),
	}
	if event == "progress" {
		p.Seconds = t.pace()
		if t.Job.Lie > 0 {
			p.Seconds /= t.Job.Lie
		}
	}
	if event == "pace" {
		p.Pace, p.Steps = t.pace()/float64(t.Job.Steps), 4
	}
	if t.Job.ForgeLine != nil {
		t.Job.ForgeLine(&p)
	}
	b := t.box()
	b.lines = append(b.lines, line{Progress: p})
}

// request returns sluiced's request to this run; nil = none. Requests to an earlier run, requests
// that it answered, and requests given up after their deadline do not count.
func (t *Trainer) request() *checkpoint.Request {
	r := t.box().request
	switch {
	case r == nil || r.ID == t.settled,
		r.Restarts != 0 && r.Restarts != t.run.Restarts,
		r.ID == t.gaveUp && !r.Deadline.After(t.until):
		return nil
	}
	return r
}

// look compares the request file with what is being done about it.
func (t *Trainer) look() {
	if t.run == nil || t.Job.Silent || t.Job.Deaf || t.word.Stranded || t.gone() {
		return
	}
	r := t.request()
	switch {
	case r == nil && t.serving != "":
		t.goOn()
	case r != nil && r.ID != t.serving && (t.moving || t.word.State == checkpoint.Waiting):
		t.serve(*r)
	}
}

// goOn continues training after the request was withdrawn or given up.
func (t *Trainer) goOn() {
	t.serving, t.word.Answer = "", nil
	if (t.word.State == checkpoint.Waiting || t.Job.Stuck) && !t.Job.Spec.Habit {
		t.pause() // book the work so far if it was still on its way to a boundary
		t.train()
		return
	}
	t.word.State = checkpoint.Training // though the program may still be saving
	t.write()
}

// honour plans to give the request up at its deadline: GPUs must not be idle while sluiced is down.
func (t *Trainer) honour(r checkpoint.Request) {
	t.forget()
	t.forget = t.run.After(max(0, r.Deadline.Sub(r.Asked))+elastic.Honoured, func() {
		if t.serving != r.ID {
			return
		}
		if now := t.box().request; now != nil && now.ID == r.ID && now.Deadline.After(r.Deadline) {
			t.honour(*now) // prolonged
			return
		}
		t.gaveUp, t.until = r.ID, r.Deadline
		t.goOn()
	})
}

// serve runs to the next step boundary, saves and waits.
func (t *Trainer) serve(r checkpoint.Request) {
	t.serving, t.word.Answer = r.ID, nil
	t.honour(r)
	if t.Job.OnRequest {
		t.pause()
		t.exit(true)
		return
	}
	if t.Job.SaveError != "" {
		t.answer(checkpoint.Answer{Request: r.ID, Error: t.Job.SaveError})
		return // trains on
	}
	t.word.State = checkpoint.Saving
	t.write()
	if t.Job.Spec.Habit {
		return // its next checkpoint answers; the program does not know of the request
	}
	step := 1 / float64(t.Job.Steps)
	stop := math.Min(boundary(t.done()-1e-9, step), t.end())
	wait := seconds((stop - t.done()) * t.pace())
	if t.tick != nil {
		t.tick() // no progress line comes before the save
	}
	t.tick = t.run.After(wait, func() {
		t.settle(stop)
		t.moving = false
		if t.Job.Stuck {
			return
		}
		t.run.After(t.Job.Save+t.Job.Extra, func() { t.saved(r) })
	})
}

// saved commits and answers, then waits until it is stopped or the request is withdrawn.
func (t *Trainer) saved(r checkpoint.Request) {
	if t.word.Stranded {
		return
	}
	name := t.commit()
	if t.serving != r.ID { // withdrawn while saving
		t.train()
		t.look()
		return
	}
	t.word.State = checkpoint.Waiting
	t.honour(r) // the time to be stopped in counts from the answer
	t.answer(checkpoint.Answer{
		Request: r.ID, Checkpoint: name, Step: int64(t.from * float64(t.Job.Steps)), Epoch: math.Floor(t.from),
		Committed: t.run.Now(), Verified: t.run.Now(),
	})
	t.look()
}

func (t *Trainer) answer(a checkpoint.Answer) {
	t.word.Answer = &a
	t.write()
}
