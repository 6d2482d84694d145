package sim

import (
	"math"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// nudge lets a job's runner look at its request file soon.
func (w *World) nudge(token string) {
	if t := w.byToken[token]; t != nil && t.run != nil {
		t.run.After(w.cfg.Notice, t.look)
	}
}

// heartbeat makes the word as fresh as a runner that beats every ten seconds.
func (w *World) heartbeat(token string, r *checkpoint.Runner) {
	t := w.byToken[token]
	if t == nil || t.run == nil || r.Restarts != t.run.Restarts {
		return
	}
	beats := t.run.Now().Sub(r.FirstLine) / (10 * time.Second)
	if at := r.FirstLine.Add(beats * 10 * time.Second); at.After(r.Beat) {
		r.Beat = at
	}
}

func (t *Trainer) box() *box { return t.w.Mail.box(t.Token) }

// write replaces runner.json.
func (t *Trainer) write() {
	t.word.Beat = t.run.Now()
	word := t.word
	t.box().runner = &word
}

// say appends a line to progress.jsonl.
func (t *Trainer) say(event string) {
	if t.Job.Silent {
		return
	}
	line := checkpoint.Progress{
		Time: float64(t.run.Now().UnixNano()) / 1e9, Restarts: t.run.Restarts, Event: event, Done: t.from,
		Epoch: math.Floor(t.from), Step: int64(t.from * float64(t.Job.Steps)), GPUs: t.run.GPUs(), Nodes: len(t.run.Split),
	}
	if event == "progress" {
		line.Seconds = t.pace()
		if t.Job.Lie > 0 {
			line.Seconds /= t.Job.Lie
		}
	}
	b := t.box()
	b.lines = append(b.lines, line)
}

// look compares the request file with what is being done about it.
func (t *Trainer) look() {
	if t.run == nil || t.Job.Silent || t.Job.Deaf {
		return
	}
	request := t.box().request
	switch {
	case request == nil && t.serving != "":
		t.serving = ""
		if t.word.State == checkpoint.Waiting || t.Job.Stuck {
			t.train()
		}
	case request != nil && request.ID != t.serving && (t.moving || t.word.State == checkpoint.Waiting):
		t.serve(request.ID)
	}
}

// serve runs to the next step boundary, saves and waits.
func (t *Trainer) serve(id string) {
	t.serving = id
	if t.Job.OnRequest {
		t.pause()
		t.exit(true)
		return
	}
	if t.Job.SaveError != "" {
		t.answer(checkpoint.Answer{Request: id, Error: t.Job.SaveError})
		return // trains on
	}
	t.word.State = checkpoint.Saving
	t.write()
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
		t.run.After(t.Job.Save+t.Job.Extra, func() { t.saved(id) })
	})
}

// saved commits and answers, then waits to be stopped or told to train on.
func (t *Trainer) saved(id string) {
	name := t.commit()
	t.word.State = checkpoint.Waiting
	t.answer(checkpoint.Answer{
		Request: id, Checkpoint: name, Step: int64(t.from * float64(t.Job.Steps)), Epoch: math.Floor(t.from),
		Committed: t.run.Now(), Verified: t.run.Now(),
	})
	if t.serving == "" { // withdrawn while saving
		t.train()
	}
	t.look()
}

func (t *Trainer) answer(a checkpoint.Answer) {
	t.word.Answer = &a
	t.write()
}
