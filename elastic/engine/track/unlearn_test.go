package track

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/learn"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestUnlearn: samples of ended jobs are removed from memory once they are in the store, unless a job of
// the same model is live; later they are read from the store again.
func TestUnlearn(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	store := new(journal.Memory)
	e := New(Rules{}, store, nil)
	for i := range 100 {
		rec := journal.JobRecord{Token: fmt.Sprintf("%032x", i), Identity: journal.Identity{ID: elastic.JobID(i + 1), Owner: elastic.Owner{UID: 1000}, SlurmUID: 1000}}
		if i < 2 {
			rec.Tag.Spec.Model = "shared"
		}
		js := &Job{Rec: rec}
		e.Remember(js)
		s := speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: 10, Units: 1, At: noon}
		e.Learnt.Keep(e.modelOf(rec), s)
		e.Learnt.Keep(e.Rules.paceOf(rec), s)
		e.Learnt.Fit(e.KeysOf(rec), noon)
		js.Learnt.Lazy.Curve = new(speed.Curve)
		if i > 0 { // the first of the two that share a model runs on
			js.Rec.Ended = noon
		}
		if i == 99 {
			js.Learnt.fresh = []speed.Sample{s} // not in the store yet
		}
		if err := store.AddSamples(t.Context(), e.modelOf(rec), []speed.Sample{s}); err != nil {
			t.Fatal(err)
		}
	}
	e.ForgetOld(noon)
	if held := e.Learnt.Held(); held.Samples != 4 || held.Curves != 2 {
		t.Errorf("%+v is left, want 4 series of samples and 2 curves", held)
	}
	if js := e.ByID[50]; js == nil || js.Learnt.Lazy.Curve != nil {
		t.Error("an ended job keeps its curve, or is gone")
	}
	if got := e.Learnt.Recall(e.modelOf(e.ByID[50].Rec)); len(got) != 1 {
		t.Errorf("%d samples found again, want 1", len(got))
	}
}

// TestUnlearnRenamed: a job whose model is renamed in every cycle leaves no samples of earlier names in
// memory, and at most mostAnswers answers.
func TestUnlearnRenamed(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	store := new(journal.Memory)
	e := New(Rules{}, store, func(event.Event) {})
	const token = "0123456789abcdef0123456789abcdef"
	sj := slurm.Job{ID: 1, UID: 1000, State: slurm.Running, Submit: noon, Start: noon}
	other := journal.AnswerKey{UID: 2000, Key: "model/bob's"}
	e.Answers[other] = noon.Add(-time.Hour)
	e.adopt(sj, elastic.Tag{Spec: elastic.Spec{Token: token, Min: 1}}, elastic.Owner{UID: 1000}, noon)
	for i := range 3 * mostAnswers {
		e.Take(sj, elastic.Tag{Spec: elastic.Spec{Token: token, Min: 1, Model: fmt.Sprint("m", i)}}, nil, noon)
		js := e.ByID[1]
		s := speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: 10, Units: 1, At: noon}
		e.Learnt.Keep(e.modelOf(js.Rec), s)
		e.Learnt.Keep(e.Rules.paceOf(js.Rec), s)
		e.Learnt.Fit(e.KeysOf(js.Rec), noon)
		e.Learnt.Foresee(slices.Values([]learn.Keys{e.KeysOf(js.Rec)}), noon)
		e.noteAnswer(js, noon.Add(time.Duration(i)*time.Second))
		if i%100 == 99 {
			e.ForgetOld(noon)
			if err := store.SaveAnswers(t.Context(), journal.SortedAnswers(e.Unsaved)); err != nil {
				t.Fatal(err)
			}
			clear(e.Unsaved)
		}
	}
	e.ForgetOld(noon)
	if held := e.Learnt.Held(); held.Samples > 2 || held.Curves > 1 || held.Series > 1 || held.Foresights > 2 {
		t.Errorf("%+v is left of one job", held)
	}
	kept, err := store.Answers(t.Context())
	if err != nil || len(e.Answers) != mostAnswers+1 || len(kept) != mostAnswers || e.Answers[other].IsZero() {
		t.Errorf("%d answers in memory and %d in the store, want %d of the user, and bob's (%v)", len(e.Answers), len(kept), mostAnswers, err)
	}
}
