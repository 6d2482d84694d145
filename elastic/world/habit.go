package world

import (
	"math"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// answerStands is for how long a runner keeps an answer although the program continues.
const answerStands = 15 * time.Second

// adopted is the runner adopting a checkpoint of a program with Spec.Habit. The first one shows that
// the job can be moved, and one after a request answers the request. The program knows of
// neither and continues at once.
func (t *Trainer) adopted(name string) {
	if len(t.checkpoints) == 1 {
		t.say("hello")
	}
	t.rhythm = t.Job.Every*t.pace() + t.Job.Save.Seconds()
	t.word.Rhythm = t.rhythm
	t.since, t.moving = t.run.Now(), true
	t.plan()
	if t.serving == "" || t.word.State != checkpoint.Saving {
		t.write()
		t.look()
		return
	}
	r := t.request()
	if r == nil || r.ID != t.serving {
		t.look()
		return
	}
	t.word.State = checkpoint.Waiting
	t.honour(*r)
	run := t.run
	run.After(answerStands, func() {
		if t.run == run && t.word.State == checkpoint.Waiting && t.word.Answer.Checkpoint == name {
			t.word.State, t.word.Answer = checkpoint.Saving, nil
			t.write()
		}
	})
	t.answer(checkpoint.Answer{
		Request: r.ID, Checkpoint: name, Step: int64(t.from * float64(t.Job.Steps)), Epoch: math.Floor(t.from),
		Committed: t.run.Now(), Verified: t.run.Now(),
	})
}
