package track

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestIs: a job is the recorded one if number and user agree, and it was not submitted later without
// one more restart, compared with when it was last seen or else with the record.
func TestIs(t *testing.T) {
	first := time.Unix(1000, 0)
	hour := func(n int) time.Time { return first.Add(time.Duration(n) * time.Hour) }
	seen := slurm.Job{ID: 7, UID: 5, Submit: hour(1), Restarts: 2}
	for name, c := range map[string]struct {
		last, now slurm.Job
		want      bool
		forgotten time.Time // when the recorded job ended as one that Slurm forgot
	}{
		"as on record":                            {now: slurm.Job{ID: 7, UID: 5, Submit: first}, want: true},
		"requeued since the record":               {now: slurm.Job{ID: 7, UID: 5, Submit: hour(1), Restarts: 1}, want: true},
		"submitted later":                         {now: slurm.Job{ID: 7, UID: 5, Submit: hour(1)}},
		"forgotten before it was submitted":       {now: slurm.Job{ID: 7, UID: 5, Submit: hour(2), Restarts: 1}, forgotten: hour(1)},
		"forgotten at its requeue":                {now: slurm.Job{ID: 7, UID: 5, Submit: hour(1), Restarts: 1}, forgotten: hour(1), want: true},
		"another number":                          {now: slurm.Job{ID: 8, UID: 5, Submit: first}},
		"another user":                            {now: slurm.Job{ID: 7, UID: 6, Submit: first}},
		"as it was seen":                          {last: seen, now: seen, want: true},
		"requeued since it was seen":              {last: seen, now: slurm.Job{ID: 7, UID: 5, Submit: hour(2), Restarts: 3}, want: true},
		"submitted later than seen":               {last: seen, now: slurm.Job{ID: 7, UID: 5, Submit: hour(2), Restarts: 2}},
		"seen without a time, and as on record":   {last: slurm.Job{ID: 7}, now: slurm.Job{ID: 7, UID: 5, Submit: first}, want: true},
		"seen without a time, and later than rec": {last: slurm.Job{ID: 7}, now: slurm.Job{ID: 7, UID: 5, Submit: hour(1)}},
	} {
		rec := journal.JobRecord{Identity: journal.Identity{ID: 7, Owner: elastic.Owner{UID: 5}, SlurmUID: 5}, Life: journal.Life{Submitted: first}, LastRun: journal.LastRun{Restarts: -1}}
		if rec.Ended = c.forgotten; !c.forgotten.IsZero() {
			rec.State = ForgottenState
		}
		js := &Job{Rec: rec, Shown: shown{Slurm: c.last}}
		if got := js.is(c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRewrittenIsSaid: a changed id is logged once and shown from then on, and an ended job that was
// requeued is live again whatever its comment says.
func TestRewrittenIsSaid(t *testing.T) {
	var said []string
	e := New(Rules{}, nil, func(ev event.Event) { said = append(said, ev.Text) })
	js := &Job{Rec: journal.JobRecord{Identity: journal.Identity{ID: 7, Owner: elastic.Owner{UID: 5}, SlurmUID: 5}, Life: journal.Life{Ended: time.Unix(1, 0)}}, Tells: tells{Problem: map[string]string{}}}
	sj := slurm.Job{ID: 7, UID: 5, State: slurm.Running}
	for range 2 {
		e.rewritten(js, sj, time.Unix(2, 0))
	}
	if !js.Rec.Ended.IsZero() || !js.Shown.Seen {
		t.Errorf("ended %v, seen %v", js.Rec.Ended, js.Shown.Seen)
	}
	if got := strings.Join(said, "; "); strings.Count(got, "lives again") != 1 || strings.Count(got, "the id in its comment was changed") != 1 {
		t.Errorf("said %q", got)
	}
	if js.Tells.Problem["comment"] == "" {
		t.Error("nothing is shown of it")
	}
	over := &Job{Rec: journal.JobRecord{Identity: journal.Identity{ID: 8, Owner: elastic.Owner{UID: 5}, SlurmUID: 5}, Life: journal.Life{Ended: time.Unix(1, 0)}}, Tells: tells{Problem: map[string]string{}}}
	said = nil
	e.rewritten(over, slurm.Job{ID: 8, UID: 5, State: slurm.Completed}, time.Unix(2, 0))
	if len(said) != 0 {
		t.Errorf("of one that is over: %q", said)
	}
}
