package track

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
func (st *State) proven(js *Job) bool {
	if st.Rules.Proven || js.Mail.answer != "" || js.Rec.Price.Measured > 0 {
		return true
	}
	return slices.ContainsFunc(answersOf(js.Rec), func(k journal.AnswerKey) bool { return !st.Answers[k].IsZero() })
}

// FoldAnswers notes which jobs have shown a checkpoint: one verified upon a request, one
// that a run resumed from, or one adopted of a program that saves by its own habit. A job
// that leaves every request unanswered takes back what others of its script and model
// have shown, until one of them answers again.
func (st *State) FoldAnswers(now time.Time) {
	for _, js := range st.Ordered() {
		if !js.Shown.Seen || js.Shown.Disown || !js.Rec.Ended.IsZero() {
			continue
		}
		if shown := js.proof(); shown != "" && shown != js.Mail.answer {
			js.Mail.answer, js.Mail.dumb = shown, false
			st.noteAnswer(js, now)
		}
		if deaf := st.Rules.Limits.DeafAfter; deaf > 0 && js.Rec.Deaf >= deaf && !js.Mail.dumb {
			js.Mail.dumb = true
			st.noteAnswer(js, time.Time{})
		}
	}
}

// proof is the newest checkpoint that tells that the job can come back; "" when there is
// none.
func (js *Job) proof() string {
	if js.Mail.runner.ok {
		if a := js.Mail.runner.word.Answer; a != nil && a.Checkpoint != "" {
			return a.Checkpoint
		}
		if js.Mail.runner.word.Resumed != "" {
			return js.Mail.runner.word.Resumed
		}
	}
	if js.Rec.Tag.Spec.Habit && js.Rec.Speaks {
		return "adopted"
	}
	return ""
}

func (us *Users) noteAnswer(js *Job, at time.Time) {
	for _, k := range answersOf(js.Rec) {
		known := us.Answers[k]
		if at.IsZero() == known.IsZero() && at.Sub(known) < answerDay && known.Sub(at) < answerDay {
			continue
		}
		if known.IsZero() {
			us.roomFor(k.UID)
		}
		us.Unsaved[k] = at
		if us.Answers[k] = at; at.IsZero() {
			delete(us.Answers, k)
		}
	}
}

// mostAnswers is how many scripts and models are remembered of one user: both names are in
// comments, which users write.
const mostAnswers = 1000

// roomFor forgets the oldest answers of a user that has too many.
func (us *Users) roomFor(uid uint32) {
	var of []journal.AnswerKey
	for k := range us.Answers {
		if k.UID == uid {
			of = append(of, k)
		}
	}
	if len(of) < mostAnswers {
		return
	}
	slices.SortFunc(of, func(a, b journal.AnswerKey) int {
		return cmp.Or(us.Answers[a].Compare(us.Answers[b]), cmp.Compare(a.Key, b.Key))
	})
	for _, k := range of[:len(of)-mostAnswers+1] {
		us.Unsaved[k] = time.Time{}
		delete(us.Answers, k)
	}
}
