package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// answerDay is the age from which a recorded answer is written again with a new time.
const answerDay = 24 * time.Hour

// answersOf returns the keys for which a job's answer counts beside the job itself: its user's
// script and model.
func answersOf(rec journal.JobRecord) []journal.AnswerKey {
	var out []journal.AnswerKey
	if script := rec.Tag.Spec.Script; script != "" {
		out = append(out, journal.AnswerKey{UID: rec.Owner.UID, Key: "script/" + script})
	}
	if model := rec.Tag.Spec.Model; model != "" {
		out = append(out, journal.AnswerKey{UID: rec.Owner.UID, Key: "model/" + model})
	}
	return out
}

// proven reports whether the job has shown that it can be stopped and resumed, or an earlier
// job of the same user with the same script or model has.
func (st *State) proven(js *Job) bool {
	if st.Rules.Proven || js.Mail.answer != "" || js.Rec.Price.Measured > 0 {
		return true
	}
	return slices.ContainsFunc(answersOf(js.Rec), func(k journal.AnswerKey) bool { return !st.Answers[k].IsZero() })
}

// FoldAnswers records which jobs have shown a checkpoint: verified after a request, resumed
// from, or adopted from a program that saves on its own. A job that has left DeafAfter requests
// in a row unanswered deletes the answers of its script and model, until a job answers again.
func (st *State) FoldAnswers(now time.Time) {
	for _, js := range st.Ordered() {
		if !js.Shown.Seen || js.Shown.Disown || !js.Rec.Ended.IsZero() {
			continue
		}
		if shown := js.proof(); shown != "" && shown != js.Mail.answer {
			js.Mail.answer, js.Mail.retracted = shown, false
			st.noteAnswer(js, now)
		}
		if deaf := st.Rules.Limits.DeafAfter; deaf > 0 && js.Rec.Deaf >= deaf && !js.Mail.retracted {
			js.Mail.retracted = true
			st.noteAnswer(js, time.Time{})
		}
	}
}

// proof returns the newest checkpoint that shows that the job can resume; "" = none.
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

// noteAnswer records an answer at that time for all keys of the job; a zero time deletes them. An
// answer is written again only when it is a day older, so that a job that saves every minute does not
// write the table every minute.
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

// mostAnswers bounds the scripts and models remembered for one user. Both come from job
// comments, which users can write at will.
const mostAnswers = 1000

// roomFor deletes a user's oldest answers until one more fits in mostAnswers.
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
