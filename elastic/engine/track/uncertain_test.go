package track

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestUnanswered: after a stop or a hold without an answer the job is not released while slurmctld may
// still carry it out; other effects and failures do not delay it.
func TestUnanswered(t *testing.T) {
	unknown := fmt.Errorf("scontrol: %w", slurm.ErrUnknownOutcome)
	for _, c := range []struct {
		a     elastic.Action
		err   error
		waits bool
	}{
		{elastic.RequeueHold{Job: 7}, unknown, true},
		{elastic.Revive{Job: 7}, unknown, true},
		{elastic.Clear{Job: 7}, unknown, true},
		{elastic.HoldPending{Job: 7}, unknown, true},
		{elastic.Release{Job: 7}, unknown, false},
		{elastic.Annotate{Job: 7}, unknown, false},
		{elastic.RequeueHold{Job: 7}, slurm.ErrRefused, false},
		{elastic.RequeueHold{Job: 7}, errors.New("no"), false},
		{elastic.RequeueHold{Job: 7}, nil, false},
		{elastic.RequeueHold{Job: 8}, unknown, false}, // not on record
	} {
		js := killedJob()
		of := Known{7: js}
		of.Unanswered(c.a, c.err, noon.Add(-late), noon)
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

// TestHoldsOfTwoDaemons: a hold soon after the daemon started may be the second one. The job is not
// started before the first must have been carried out.
func TestHoldsOfTwoDaemons(t *testing.T) {
	for _, c := range []struct {
		a     elastic.Action
		began time.Time
		until time.Time
	}{
		{elastic.HoldPending{Job: 7}, noon, noon.Add(late)},
		{elastic.HoldPending{Job: 7}, noon.Add(time.Nanosecond - late), noon.Add(time.Nanosecond)},
		{elastic.HoldPending{Job: 7}, noon.Add(-late), time.Time{}},
		{elastic.Release{Job: 7}, noon, time.Time{}},
	} {
		js := killedJob()
		Known{7: js}.Unanswered(c.a, nil, c.began, noon)
		if got := js.Placing.uncertainUntil; !got.Equal(c.until) {
			t.Errorf("%s, %v after the daemon's start: waits until %v, want %v", c.a, noon.Sub(c.began), got, c.until)
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

// TestPerhapsHolding: jobs without a move are not started right after the daemon starts.
func TestPerhapsHolding(t *testing.T) {
	st := New(Rules{}, nil, nil)
	for id := range elastic.JobID(3) {
		js := &Job{}
		js.Rec.ID, js.Rec.Token = id+1, fmt.Sprint(id)
		st.Remember(js)
	}
	st.ByID[1].Rec.Ended = noon
	st.Open = Moves{{Job: 2}}
	st.PerhapsHolding(noon)
	for id, want := range map[elastic.JobID]bool{1: false, 2: false, 3: true} {
		if got := st.ByID[id].Placing.uncertainUntil.Equal(noon.Add(late)); got != want {
			t.Errorf("job %d waits: %v", id, got)
		}
	}
}
