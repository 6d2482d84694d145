package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// answerDay is how old an answer on record becomes before it is written anew.
const answerDay = 24 * time.Hour

// answersOf is what a job's answer speaks for beside the job itself.
func answersOf(rec journal.JobRecord) []journal.AnswerKey {
	var out []journal.AnswerKey
	if script := rec.Tag.Spec.Script; script != "" {
		out = append(out, journal.AnswerKey{UID: rec.UID, Key: "script/" + script})
	}
	if model := rec.Tag.Spec.Model; model != "" {
		out = append(out, journal.AnswerKey{UID: rec.UID, Key: "model/" + model})
	}
	return out
}

// proven reports whether the job has shown that it can be stopped and come back, or an
// earlier one of its user has that ran the same script or model.
func (st *State) proven(js *jobState) bool {
	if st.Rules.Proven || js.mail.answer != "" || js.rec.Price.Measured > 0 {
		return true
	}
	return slices.ContainsFunc(answersOf(js.rec), func(k journal.AnswerKey) bool { return !st.answers[k].IsZero() })
}

// foldAnswers notes which jobs have shown a checkpoint: one verified upon a request, one
// that a run resumed from, or one adopted of a program that saves by its own habit. A job
// that leaves every request unanswered takes back what others of its script and model
// have shown, until one of them answers again.
func (st *State) foldAnswers(now time.Time) {
	for _, js := range st.ordered() {
		if !js.shown.seen || js.shown.disown || !js.rec.Ended.IsZero() {
			continue
		}
		if shown := js.proof(); shown != "" && shown != js.mail.answer {
			js.mail.answer, js.mail.dumb = shown, false
			st.noteAnswer(js, now)
		}
		if deaf := st.Rules.Limits.DeafAfter; deaf > 0 && js.rec.Deaf >= deaf && !js.mail.dumb {
			js.mail.dumb = true
			st.noteAnswer(js, time.Time{})
		}
	}
}

// proof is the newest checkpoint that tells that the job can come back; "" when there is
// none.
func (js *jobState) proof() string {
	if js.mail.runner.ok {
		if a := js.mail.runner.word.Answer; a != nil && a.Checkpoint != "" {
			return a.Checkpoint
		}
		if js.mail.runner.word.Resumed != "" {
			return js.mail.runner.word.Resumed
		}
	}
	if js.rec.Tag.Spec.Habit && js.rec.Speaks {
		return "adopted"
	}
	return ""
}

func (st *State) noteAnswer(js *jobState, at time.Time) {
	for _, k := range answersOf(js.rec) {
		known := st.answers[k]
		if at.IsZero() == known.IsZero() && at.Sub(known) < answerDay && known.Sub(at) < answerDay {
			continue
		}
		if known.IsZero() {
			st.roomFor(k.UID)
		}
		st.unsaved[k] = at
		if st.answers[k] = at; at.IsZero() {
			delete(st.answers, k)
		}
	}
}

// mostAnswers is how many scripts and models are remembered of one user: both names are in
// comments, which users write.
const mostAnswers = 1000

// roomFor forgets the oldest answers of a user that has too many.
func (st *State) roomFor(uid uint32) {
	var of []journal.AnswerKey
	for k := range st.answers {
		if k.UID == uid {
			of = append(of, k)
		}
	}
	if len(of) < mostAnswers {
		return
	}
	slices.SortFunc(of, func(a, b journal.AnswerKey) int {
		return cmp.Or(st.answers[a].Compare(st.answers[b]), cmp.Compare(a.Key, b.Key))
	})
	for _, k := range of[:len(of)-mostAnswers+1] {
		st.unsaved[k] = time.Time{}
		delete(st.answers, k)
	}
}
