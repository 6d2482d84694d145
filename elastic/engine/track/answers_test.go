package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

var scriptOf5, modelOf5 = journal.AnswerKey{UID: 5, Key: "script/s"}, journal.AnswerKey{UID: 5, Key: "model/m"}

// TestFoldAnswers: a checkpoint that a job shows counts for its user's script and model; a job that leaves
// DeafAfter requests unanswered takes that back, once, until it answers with another checkpoint.
func TestFoldAnswers(t *testing.T) {
	st := New(Rules{Limits: elastic.Limits{DeafAfter: 3}}, nil, nil)
	js := killedJob()
	js.Rec.Tag.Spec.Script, js.Rec.Tag.Spec.Model = "s", "m"
	js.Mail.runner.word.Resumed = ""
	st.Remember(js)
	for _, c := range []struct {
		name   string
		change func()
		known  bool
		saved  int // keys to be saved
	}{
		{"nothing shown", func() {}, false, 0},
		{"an answer without a checkpoint", func() { js.Mail.runner.word.Answer = &checkpoint.Answer{Error: "disk full"} }, false, 0},
		{"a checkpoint", func() { js.Mail.runner.word.Answer = &checkpoint.Answer{Checkpoint: "1"} }, true, 2},
		{"the same", func() {}, true, 0},
		{"two requests unanswered", func() { js.Rec.Deaf = 2 }, true, 0},
		{"three", func() { js.Rec.Deaf = 3 }, false, 2},
		{"another of its user's jobs answers", func() { st.noteAnswer(js, noon) }, true, 2},
		{"it stays deaf", func() { js.Rec.Deaf = 4 }, true, 0},
		{"it answers again", func() { js.Rec.Deaf, js.Mail.runner.word.Answer = 0, &checkpoint.Answer{Checkpoint: "2"} }, true, 0},
		{"it is deaf again", func() { js.Rec.Deaf = 3 }, false, 2},
		{"it is over", func() { js.Rec.Ended, js.Mail.runner.word.Answer = noon, &checkpoint.Answer{Checkpoint: "3"} }, false, 0},
	} {
		c.change()
		st.FoldAnswers(noon)
		if known := !st.Answers[scriptOf5].IsZero() && !st.Answers[modelOf5].IsZero(); known != c.known || len(st.Unsaved) != c.saved || len(st.Answers)%2 != 0 {
			t.Errorf("%s: known %v (%v), to be saved %v", c.name, known, st.Answers, st.Unsaved)
		}
		clear(st.Unsaved)
	}
}

// TestProof: the newest checkpoint that shows that a job can resume.
func TestProof(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   string
	}{
		{"it resumed", func(*Job) {}, "00000004"},
		{"it answered since", func(js *Job) { js.Mail.runner.word.Answer = &checkpoint.Answer{Checkpoint: "00000005"} }, "00000005"},
		{"its answer has no checkpoint", func(js *Job) { js.Mail.runner.word.Answer = &checkpoint.Answer{Error: "e"} }, "00000004"},
		{"its status is of another run", func(js *Job) { js.Mail.runner.ok = false }, ""},
		{"it saves by itself", func(js *Job) {
			js.Mail.runner.ok, js.Rec.Tag.Spec.Habit, js.Rec.Speaks = false, true, true
		}, "adopted"},
		{"it would save by itself", func(js *Job) { js.Mail.runner.ok, js.Rec.Tag.Spec.Habit = false, true }, ""},
		{"it speaks", func(js *Job) { js.Mail.runner.ok, js.Rec.Speaks = false, true }, ""},
	} {
		js := killedJob()
		if c.change(js); js.proof() != c.want {
			t.Errorf("%s: %q, want %q", c.name, js.proof(), c.want)
		}
	}
}

// TestNoteAnswer: a known answer is written again after a day, also after the clock was set back by one.
func TestNoteAnswer(t *testing.T) {
	for _, c := range []struct {
		name  string
		known time.Time
		at    time.Time
		saved bool
	}{
		{"the first", time.Time{}, noon, true},
		{"within a day", noon.Add(-answerDay + 1), noon, false},
		{"a day later", noon.Add(-answerDay), noon, true},
		{"the clock was set back by less than a day", noon.Add(answerDay - 1), noon, false},
		{"the clock was set back by a day", noon.Add(answerDay), noon, true},
		{"taken back", noon, time.Time{}, true},
		{"taken back, and not known", time.Time{}, time.Time{}, false},
	} {
		st := New(Rules{}, nil, nil)
		js := killedJob()
		js.Rec.Tag.Spec.Script = "s"
		if !c.known.IsZero() {
			st.Answers[scriptOf5] = c.known
		}
		st.noteAnswer(js, c.at)
		at, saved := st.Unsaved[scriptOf5]
		if saved != c.saved || saved && !at.Equal(c.at) {
			t.Errorf("%s: to be saved %v as %v", c.name, saved, at)
		}
		if _, known := st.Answers[scriptOf5]; c.at.IsZero() && known {
			t.Errorf("%s: it is still known", c.name)
		}
	}
}

// TestAnswersAreBounded: of one user's scripts and models the oldest are dropped, and no other user's.
func TestAnswersAreBounded(t *testing.T) {
	st := New(Rules{}, nil, nil)
	for i := range mostAnswers {
		st.Answers[journal.AnswerKey{UID: 5, Key: fmt.Sprintf("script/%04d", i)}] = noon.Add(time.Duration(i%10) * time.Hour)
	}
	others := journal.AnswerKey{UID: 6, Key: "script/0"}
	st.Answers[others] = noon.Add(-time.Hour)
	js := killedJob()
	js.Rec.Tag.Spec.Script, js.Rec.Tag.Spec.Model = "s", "m"
	st.noteAnswer(js, noon.Add(24*time.Hour))
	for key, kept := range map[journal.AnswerKey]bool{
		scriptOf5: true, modelOf5: true, others: true,
		{UID: 5, Key: "script/0000"}: false, {UID: 5, Key: "script/0010"}: false, {UID: 5, Key: "script/0020"}: true, {UID: 5, Key: "script/0001"}: true,
	} {
		if _, known := st.Answers[key]; known != kept {
			t.Errorf("%v is kept: %v", key, known)
		}
	}
	if at, written := st.Unsaved[journal.AnswerKey{UID: 5, Key: "script/0000"}]; len(st.Answers) != mostAnswers+1 || !written || !at.IsZero() {
		t.Errorf("%d answers, the oldest is deleted from the journal: %v", len(st.Answers), written)
	}
}
