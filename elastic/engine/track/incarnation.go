package track

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
)

// reached raises the recorded incarnation to the one of the job's run, if its runner tells the next one. sluiced writes
// target.json, which the runner reads, BEFORE the comment. Where that second write failed and an older copy of the store was put
// back since, only the run knows that this incarnation was given. An open move that gives it takes care of it itself.
func (open Moves) reached(js *Job) {
	word := js.Mail.runner.word
	if !js.Mail.runner.ok || word.Incarnation != js.Rec.Tag.Incarnation+1 || open.gives(js.Rec.ID, word.Incarnation) {
		return
	}
	js.Rec.Tag.Incarnation, js.Dirty = word.Incarnation, true
}

// gives reports whether an open move of the job gives this incarnation.
func (open Moves) gives(id elastic.JobID, incarnation int) bool {
	return slices.ContainsFunc(open, func(in elastic.Intent) bool { return in.Job == id && in.To == incarnation })
}
