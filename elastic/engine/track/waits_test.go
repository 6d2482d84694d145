package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestPhaseOf: a pending job waits while it is held or its begin time has not come.
func TestPhaseOf(t *testing.T) {
	for _, c := range []struct {
		sj   slurm.Job
		want elastic.Phase
	}{
		{slurm.Job{State: slurm.Pending, Eligible: noon.Add(time.Second)}, elastic.Waiting},
		{slurm.Job{State: slurm.Pending, Eligible: noon}, elastic.Queued},
		{slurm.Job{State: slurm.Pending}, elastic.Queued},
		{slurm.Job{State: slurm.Pending, Held: true}, elastic.Waiting},
		{slurm.Job{State: slurm.Pending, Completing: true, Eligible: noon.Add(time.Hour)}, elastic.Completing},
		{slurm.Job{State: slurm.Running, Held: true, Eligible: noon.Add(time.Hour)}, elastic.Running},
		{slurm.Job{State: slurm.Pending, Held: true, Completing: true}, elastic.Completing},
		{slurm.Job{State: slurm.Running}, elastic.Running},
		{slurm.Job{State: slurm.Running, Completing: true}, elastic.Completing},
		{slurm.Job{State: slurm.Suspended, Held: true}, elastic.Suspended},
		{slurm.Job{State: slurm.Failed, Completing: true}, elastic.Completing},
		{slurm.Job{State: slurm.Completed, Held: true}, elastic.Ended},
		{slurm.Job{State: slurm.Unknown}, elastic.Ended},
		{slurm.Job{}, elastic.Ended},
		{slurm.Job{State: slurm.Failed, Eligible: noon.Add(time.Hour)}, elastic.Ended},
	} {
		if got := PhaseOf(c.sj, noon); got != c.want {
			t.Errorf("%+v: %s, want %s", c.sj, got, c.want)
		}
	}
}

// TestHeldIsByAUser: priority 0 means that its user or an administrator holds the job, except where
// Slurm itself took the job out of its queue.
func TestHeldIsByAUser(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   bool
	}{
		{"held by its user", func(*Job) {}, true},
		{"held by an administrator", func(js *Job) { js.Shown.Slurm.Reason = "JobHeldAdmin" }, true},
		{"held while it ran", func(js *Job) { js.Shown.Slurm.State, js.Shown.Slurm.Reason = slurm.Running, "None" }, true},
		{"not held", func(js *Job) { js.Shown.Slurm.Held = false }, false},
		{"its size cannot be allocated", func(js *Job) { js.Shown.Slurm.Reason = setAside }, false},
		{"its dependency cannot be satisfied", func(js *Job) { js.Shown.Slurm.Reason, js.Rec.Barred = "JobHeldAdmin", true }, false},
	} {
		st, js := New(Rules{}, nil, func(event.Event) {}), killedJob()
		js.Shown.Slurm.State, js.Shown.Slurm.Held, js.Shown.Slurm.Reason = slurm.Pending, true, "JobHeldUser"
		c.change(js)
		if got := st.JobOf(js, noon).UserHold; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestWaitingTag: what a comment says about waiting, completed from the record and from Slurm.
func TestWaitingTag(t *testing.T) {
	at := noon.Add(3 * time.Hour)
	pending := slurm.Job{State: slurm.Pending, Eligible: at}
	held := slurm.Job{State: slurm.Pending, Held: true, Reason: "JobHeldUser", Eligible: at}
	new, begins := elastic.Tag{Deferred: true}, elastic.Tag{Deferred: true, Begin: at}
	for _, c := range []struct {
		name             string
		known, tag, want elastic.Tag
		sj               slurm.Job
		moves, writes    bool
	}{
		{"a new job", new, new, new, pending, false, false},
		{"held by an older sluice", elastic.Tag{}, elastic.Tag{}, elastic.Tag{}, held, false, false},
		{"... and released since", elastic.Tag{}, elastic.Tag{}, new, pending, false, true},
		{"... and the comment was not written yet", new, elastic.Tag{}, new, held, false, true},
		{"requeued by an older sluice", elastic.Tag{}, elastic.Tag{}, elastic.Tag{}, slurm.Job{State: slurm.Pending, Held: true, Reason: "job requeued in held state"}, false, false},
		{"held by an administrator", elastic.Tag{}, elastic.Tag{}, new, slurm.Job{State: slurm.Pending, Held: true, Reason: "JobHeldAdmin"}, false, true},
		{"set aside by Slurm", elastic.Tag{}, elastic.Tag{}, new, slurm.Job{State: slurm.Pending, Held: true, Reason: "BadConstraints"}, false, true},
		{"stopped by an older sluice, and cleaned up", elastic.Tag{}, elastic.Tag{}, elastic.Tag{}, slurm.Job{State: slurm.Pending, Held: true, Completing: true}, false, false},
		{"an older sluice may just have stopped it", elastic.Tag{}, elastic.Tag{}, elastic.Tag{}, slurm.Job{State: slurm.Running}, true, false},
		{"it runs", elastic.Tag{}, elastic.Tag{}, new, slurm.Job{State: slurm.Running}, false, true},
		{"it runs, and its user held it", elastic.Tag{}, elastic.Tag{}, new, slurm.Job{State: slurm.Running, Held: true}, false, true},
		{"its user ordered an older sluice to hold it", elastic.Tag{}, elastic.Tag{Directive: elastic.Directive{Hold: true}}, elastic.Tag{Deferred: true, Directive: elastic.Directive{Hold: true}}, held, false, true},
		{"its user gave sbatch a begin time", elastic.Tag{Deferred: true, SbatchBegin: true}, elastic.Tag{Deferred: true, SbatchBegin: true}, begins, pending, false, true},
		{"... which Slurm does not show yet", elastic.Tag{Deferred: true, SbatchBegin: true}, elastic.Tag{Deferred: true, SbatchBegin: true}, elastic.Tag{Deferred: true, SbatchBegin: true}, slurm.Job{State: slurm.Pending}, false, false},
		{"... and the comment was not written yet", begins, elastic.Tag{Deferred: true, SbatchBegin: true}, begins, slurm.Job{State: slurm.Pending, Eligible: at.Add(time.Hour)}, false, true},
		{"its user set one through Slurm, and the comment was not written yet", begins, new, begins, pending, false, true},
		{"its user ended that, and the comment was not written yet", new, begins, new, pending, false, true},
	} {
		if got, writes := waitingTag(c.tag, c.known, c.sj, c.moves); !got.Equal(c.want) || writes != c.writes {
			t.Errorf("%s: %+v, to be written: %v", c.name, got, writes)
		}
	}
}

// waiting returns a state with n jobs that were submitted at once, with begin times 2 h ahead.
func waiting(n int) *State {
	st := New(Rules{}, nil, func(event.Event) {})
	for id := range elastic.JobID(n) {
		js := &Job{}
		js.Rec.ID, js.Rec.Token, js.Rec.Tag.Deferred = id+1, fmt.Sprint(id), true
		js.Shown.Seen, js.Shown.Slurm = true, slurm.Job{ID: slurm.JobID(id + 1), State: slurm.Pending, Eligible: noon.Add(DefaultAbandon)}
		st.Remember(js)
	}
	return st
}

// TestRenewals: the begin time of every waiting job stays in the future, each is renewed seldom, and
// never all of them in one cycle.
func TestRenewals(t *testing.T) {
	const jobs, hours, period = 2000, 24, 30 * time.Second
	st := waiting(jobs)
	renewed, most := map[elastic.JobID]int{}, 0
	for now := noon; now.Before(noon.Add(hours * time.Hour)); now = now.Add(period) {
		actions := Renewals(st.Ordered(), st.Open, 0, now)
		most = max(most, len(actions))
		for _, a := range actions {
			d, js := a.(elastic.Defer), st.ByID[a.About()]
			if left := js.Shown.Slurm.Eligible.Sub(now); left < DefaultAbandon/4-10*period || left > DefaultAbandon/2 {
				t.Fatalf("job %d is renewed %s before its begin time", js.Rec.ID, left)
			}
			js.Shown.Slurm.Eligible = d.Until
			renewed[js.Rec.ID]++
		}
	}
	for id := range st.ByID {
		if n := renewed[id]; n < hours/2 || n > hours {
			t.Errorf("job %d was renewed %d times in %d h", id, n, hours)
		}
	}
	if most > fewRenewals+jobs/8 || most == 0 {
		t.Errorf("%d were renewed at once", most)
	}
}

// TestRenewalsAfterAnAbsence: if all begin times are due at once, a part of them is renewed each cycle,
// the soonest first.
func TestRenewalsAfterAnAbsence(t *testing.T) {
	const jobs = 800
	st := waiting(jobs)
	for id, js := range st.ByID {
		js.Shown.Slurm.Eligible = noon.Add(20*time.Minute - time.Duration(id)*time.Second)
	}
	actions := Renewals(st.Ordered(), st.Open, 0, noon)
	if len(actions) != fewRenewals+jobs/8 || actions[0].About() != jobs || actions[1].About() != jobs-1 {
		t.Errorf("%d are renewed, the first are %v", len(actions), actions[:2])
	}
}

// TestRenewed: whose begin time is renewed, and until when.
func TestRenewed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*State, *Job)
		until  time.Duration // from noon; 0 = not renewed
	}{
		{"it begins soon", func(*State, *Job) {}, DefaultAbandon},
		{"it begins later", func(_ *State, js *Job) { js.Shown.Slurm.Eligible = noon.Add(90 * time.Minute) }, 0},
		{"the site's own time", func(st *State, _ *Job) { st.Rules.Limits.Abandon = 10 * time.Minute }, 10 * time.Minute},
		{"its user's own begin time is later", func(_ *State, js *Job) { js.Rec.Tag.Begin = noon.Add(5 * time.Hour) }, 5 * time.Hour},
		{"its user's own begin time is sooner", func(_ *State, js *Job) { js.Rec.Tag.Begin = noon.Add(time.Hour) }, DefaultAbandon},
		{"held by its user", func(_ *State, js *Job) { js.Shown.Slurm.Held, js.Shown.Slurm.Reason = true, "JobHeldUser" }, DefaultAbandon},
		{"held by an older sluice", func(_ *State, js *Job) {
			js.Shown.Slurm.Held, js.Shown.Slurm.Reason, js.Rec.Tag.Deferred = true, "JobHeldUser", false
		}, 0},
		{"Slurm may start it", func(_ *State, js *Job) { js.Shown.Slurm.Eligible = noon }, 0},
		{"it runs", func(_ *State, js *Job) { js.Shown.Slurm.State = slurm.Running }, 0},
		{"its last run is cleaned up", func(_ *State, js *Job) { js.Shown.Slurm.Completing = true }, 0},
		{"it moves", func(st *State, _ *Job) { st.Open = Moves{{Job: 1}} }, 0},
		{"its user took the tag away", func(_ *State, js *Job) { js.Shown.Disown = true }, 0},
		{"Slurm does not show it", func(_ *State, js *Job) { js.Shown.Seen = false }, 0},
	} {
		st := waiting(1)
		js := st.ByID[1]
		js.Shown.Slurm.Eligible = noon.Add(time.Minute)
		c.change(st, js)
		got := Renewals(st.Ordered(), st.Open, st.Rules.Limits.Abandon, noon)
		switch {
		case c.until == 0 && len(got) == 0:
		case len(got) != 1 || got[0] != elastic.Action(elastic.Defer{Job: 1, Until: noon.Add(c.until)}):
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
