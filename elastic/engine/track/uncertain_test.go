package track

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestUnanswered: after a stop without an answer the job is not started while slurmctld may
// still carry it out; other effects and failures do not delay it.
func TestUnanswered(t *testing.T) {
	unknown := fmt.Errorf("scontrol: %w", slurm.ErrUnknownOutcome)
	for _, c := range []struct {
		a     elastic.Action
		err   error
		waits bool
	}{
		{elastic.Requeue{Job: 7}, unknown, true},
		{elastic.RequeueFailed{Job: 7}, unknown, true},
		{elastic.RequeueLingering{Job: 7}, unknown, true},
		{elastic.Defer{Job: 7}, unknown, false},
		{elastic.LetStart{Job: 7}, unknown, false},
		{elastic.Release{Job: 7}, unknown, false},
		{elastic.Annotate{Job: 7}, unknown, false},
		{elastic.Requeue{Job: 7}, slurm.ErrRefused, false},
		{elastic.Requeue{Job: 7}, errors.New("no"), false},
		{elastic.Requeue{Job: 7}, nil, false},
		{elastic.Requeue{Job: 8}, unknown, false}, // not on record
	} {
		js := killedJob()
		of := Known{7: js}
		of.Unanswered(c.a, c.err, noon)
		stopped := elastic.Intent{Job: 7, Step: elastic.Requeued}
		if of.Unsure(stopped, noon) != c.waits || of.Unsure(stopped, noon.Add(late)) {
			t.Errorf("%s, %v: waits until %v", c.a, c.err, js.Placing.uncertainUntil)
		}
		if written := (elastic.Intent{Job: 7, Step: elastic.Written}); of.Unsure(written, noon) {
			t.Errorf("%s, %v: a move that is past its stop waits", c.a, c.err)
		}
		in := PerhapsDone(stopped, c.a, c.err, noon)
		if done := in.RequeuedAt.Equal(noon); done != (errors.Is(c.err, slurm.ErrUnknownOutcome) && StopsRun(c.a)) {
			t.Errorf("%s, %v: counts as asked: %v", c.a, c.err, done)
		}
	}
}

// TestPerhapsAsked: a starting daemon assumes that moves about to stop their job have already sent the
// stop.
func TestPerhapsAsked(t *testing.T) {
	before := noon.Add(-late)
	for _, c := range []struct {
		in   elastic.Intent
		want bool
	}{
		{elastic.Intent{Kind: elastic.Resize, Step: elastic.Verified}, true},
		{elastic.Intent{Kind: elastic.Park, Step: elastic.Verified}, true},
		{elastic.Intent{Kind: elastic.Revival, Step: elastic.Verified}, false},
		{elastic.Intent{Kind: elastic.Save, Step: elastic.Verified}, false},
		{elastic.Intent{Kind: elastic.Resize, Step: elastic.Asked}, false},
		{elastic.Intent{Kind: elastic.Resize, Step: elastic.Requeued}, false},
		{elastic.Intent{Kind: elastic.Resize, Step: elastic.Verified, RequeuedAt: before}, false},
	} {
		open := []elastic.Intent{c.in}
		PerhapsAsked(open, noon)
		if got := open[0].RequeuedAt.Equal(noon); got != c.want {
			t.Errorf("%s at R%d: %v", c.in.Kind, c.in.Step, got)
		}
	}
}

// TestPerhapsStopping: jobs that ran and have no move are not started right after the daemon starts.
func TestPerhapsStopping(t *testing.T) {
	st := New(Rules{}, nil, nil)
	for id := range elastic.JobID(4) {
		js := &Job{}
		js.Rec.ID, js.Rec.Token, js.Rec.FirstRun = id+1, fmt.Sprint(id), noon.Add(-time.Hour)
		st.Remember(js)
	}
	st.ByID[1].Rec.Ended, st.ByID[4].Rec.FirstRun = noon, time.Time{}
	st.Open = Moves{{Job: 2}}
	st.PerhapsStopping(noon)
	for id, want := range map[elastic.JobID]bool{1: false, 2: false, 3: true, 4: false} {
		if got := st.ByID[id].Placing.uncertainUntil.Equal(noon.Add(late)); got != want {
			t.Errorf("job %d waits: %v", id, got)
		}
	}
}
