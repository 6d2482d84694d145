package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestUsersBeginTimes: a begin time that is neither sluice's nor that of a requeue is its user's, also if it
// is sooner than sluice's own would be.
func TestUsersBeginTimes(t *testing.T) {
	const period = 30 * time.Second
	was := slurm.Job{ID: 7, State: slurm.Pending, Submit: noon.Add(-time.Hour), Eligible: noon.Add(time.Hour)}
	with := func(changes ...func(*slurm.Job)) slurm.Job {
		sj := was
		for _, change := range changes {
			change(&sj)
		}
		return sj
	}
	at := func(in time.Duration) func(*slurm.Job) { return func(sj *slurm.Job) { sj.Eligible = noon.Add(in) } }
	requeued := func(sj *slurm.Job) { sj.Submit, sj.Restarts = noon.Add(-10*time.Second), 1 }
	runs := func(sj *slurm.Job) { sj.State = slurm.Running }
	wrote := func(a elastic.Action, ago time.Duration) func(*State, *begins) {
		return func(_ *State, b *begins) { b.Wrote(a, noon.Add(-ago)) }
	}
	plain := func(*State, *begins) {}
	for _, c := range []struct {
		name   string
		before slurm.Job
		now    slurm.Job
		change func(*State, *begins)
		user   bool
	}{
		{"nothing new", was, was, plain, false},
		{"sooner", was, with(at(40 * time.Minute)), plain, true},
		{"later", was, with(at(26 * time.Hour)), plain, true},
		{"now", was, with(at(-period)), plain, true},
		{"it is not known when", was, with(func(sj *slurm.Job) { sj.Eligible = time.Time{} }), plain, false},
		{"as another sluiced defers it", was, with(at(DefaultAbandon - period)), plain, false},
		{"as another sluiced does between two sizes", was, with(at(resize.Between)), plain, false},
		{"as a site with other settings would", was, with(at(DefaultAbandon)), func(st *State, _ *begins) { st.Rules.Limits.Abandon = time.Hour }, true},
		{"as this site does", was, with(at(20 * time.Minute)), func(st *State, _ *begins) { st.Rules.Limits.Abandon = 20 * time.Minute }, false},
		{"it has a move", was, with(at(40 * time.Minute)), func(st *State, _ *begins) { st.Open = Moves{{Job: 7}} }, false},
		{"the daemon has just started", was, with(at(40 * time.Minute)), func(st *State, _ *begins) { st.Began = noon.Add(-late) }, false},
		{"it was not looked at before", was, with(at(40 * time.Minute)), func(_ *State, b *begins) { *b = begins{} }, false},
		{"sluice deferred it a moment ago", was, with(at(40 * time.Minute)), wrote(elastic.Defer{Job: 7}, late), false},
		{"sluice started it since the last look", was, with(at(40 * time.Minute)), wrote(elastic.LetStart{Job: 7}, period), false},
		{"sluice deferred it long ago", was, with(at(40 * time.Minute)), wrote(elastic.Defer{Job: 7}, period+time.Nanosecond), true},
		{"sluice wrote its comment", was, with(at(40 * time.Minute)), wrote(elastic.Annotate{Job: 7}, 0), true},
		{"an earlier one again", was, with(at(50 * time.Minute)), func(_ *State, b *begins) { b.known = append([]time.Time{noon.Add(50 * time.Minute)}, b.known...) }, false},
		{"it was requeued", with(runs), with(requeued, at(111*time.Second)), plain, false},
		{"it was requeued between two looks", was, with(requeued, at(111*time.Second)), plain, false},
		{"it was requeued, and its user put it off", with(runs), with(requeued, at(70*time.Minute)), plain, true},
		{"it completes", with(runs), with(requeued, at(70*time.Minute), func(sj *slurm.Job) { sj.Completing = true }), plain, false},
	} {
		st := New(Rules{}, nil, func(event.Event) {})
		st.Began = noon.Add(-time.Hour)
		js := &Job{}
		js.Rec.ID, js.Shown.Slurm = 7, c.before
		js.Shown.Begins = begins{known: []time.Time{was.Eligible}, looked: noon.Add(-period), wrote: noon.Add(-time.Hour)}
		c.change(st, &js.Shown.Begins)
		tag := elastic.Tag{Begin: noon.Add(3 * time.Hour)}
		got, changed := withUsersBegin(js, tag, c.now, sight{now: noon, began: st.Began, abandon: st.Rules.Limits.Abandon, moves: st.Open.has(7)})
		want := tag.Begin
		if c.user {
			if want = c.now.Eligible; !want.After(noon) {
				want = time.Time{}
			}
		}
		if changed != c.user || !got.Begin.Equal(want) {
			t.Errorf("%s: changed %v, begins %v, want %v", c.name, changed, got.Begin, want)
		}
		if _, again := withUsersBegin(js, got, c.now, sight{now: noon.Add(period), began: st.Began}); again {
			t.Errorf("%s: it is new again in the next look", c.name)
		}
	}
}
