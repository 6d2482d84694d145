package track

import (
	"reflect"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// seenAs returns the job as policies see it, after change, under limits of a minute of grace and 3
// unanswered requests.
func seenAs(change func(*State, *Job)) elastic.Job {
	st := New(Rules{Limits: elastic.Limits{Grace: time.Minute, DeafAfter: 3}}, new(journal.Memory), func(event.Event) {})
	js := killedJob()
	js.Shown.Slurm.State, js.Rec.Tag.Spec = slurm.Running, elastic.Spec{Min: 1, Max: 4}
	st.Remember(js)
	change(st, js)
	return st.JobOf(js, noon)
}

// TestADeafJobIsAskedAgain: a job that left DeafAfter requests unanswered counts as deaf for ten grace
// periods after its last move, and for twice as long after each further request, up to 64 times.
func TestADeafJobIsAskedAgain(t *testing.T) {
	const rest = 10 * time.Minute
	for _, c := range []struct {
		name  string
		deaf  int
		moved time.Duration // ago
		want  int
	}{
		{"it answers", 0, time.Hour, 0},
		{"one request less than the limit", 2, 1000 * time.Hour, 2},
		{"at the limit, exactly ten grace periods later", 3, rest, 3},
		{"... and a moment after", 3, rest + 1, 2},
		{"one more, after the first pause", 4, rest + 1, 4},
		{"... and after twice that", 4, 2*rest + 1, 2},
		{"six more, after 64 times", 9, 64*rest + 1, 2},
		{"... and just before", 9, 64 * rest, 9},
		{"any more do not wait longer", 100, 64*rest + 1, 2},
		{"the clock was set back", 3, -time.Hour, 3},
	} {
		got := seenAs(func(_ *State, js *Job) { js.Rec.Deaf, js.Rec.Moved = c.deaf, noon.Add(-c.moved) })
		if got.Deaf != c.want {
			t.Errorf("%s: deaf %d, want %d", c.name, got.Deaf, c.want)
		}
	}
	if got := seenAs(func(st *State, js *Job) { js.Rec.Deaf, js.Rec.Moved = 3, time.Time{} }); got.Deaf != 2 {
		t.Errorf("a job that never moved: deaf %d, want 2", got.Deaf)
	}
}

// TestPlaceOfAJob: a job has a placement only while it is on its nodes: Slurm counts the GPUs of a
// completing job as free already.
func TestPlaceOfAJob(t *testing.T) {
	for _, c := range []struct {
		name       string
		state      slurm.State
		completing bool
		want       int
	}{
		{"it runs", slurm.Running, false, 2},
		{"it is suspended", slurm.Suspended, false, 2},
		{"it completes", slurm.Running, true, 0},
		{"it waits", slurm.Pending, false, 0},
		{"it failed", slurm.Failed, false, 0},
	} {
		if got := seenAs(func(_ *State, js *Job) { js.Shown.Slurm.State, js.Shown.Slurm.Completing = c.state, c.completing }); got.GPUs() != c.want {
			t.Errorf("%s: on %d GPUs, want %d", c.name, got.GPUs(), c.want)
		}
	}
}

// TestHoldsOfAJob: a job with priority 0 is held by its user or an administrator, whether it runs or waits,
// unless Slurm itself took it out of its queue. One that waits is held like by a directive.
func TestHoldsOfAJob(t *testing.T) {
	for _, c := range []struct {
		name       string
		change     func(*Job)
		user, hold bool
	}{
		{"it runs", func(*Job) {}, false, false},
		{"it runs, and its user held it", func(js *Job) { js.Shown.Slurm.Held = true }, true, false},
		{"it waits, and its user held it", func(js *Job) { js.Shown.Slurm.State, js.Shown.Slurm.Held = slurm.Pending, true }, true, true},
		{"it waits, and Slurm cannot allocate its size", func(js *Job) {
			js.Shown.Slurm.State, js.Shown.Slurm.Held, js.Shown.Slurm.Reason = slurm.Pending, true, setAside
		}, false, false},
		{"it waits, and an administrator held it", func(js *Job) {
			js.Shown.Slurm.State, js.Shown.Slurm.Held, js.Shown.Slurm.Reason = slurm.Pending, true, "JobHeldAdmin"
		}, true, true},
		{"it waits, and Slurm held it", func(js *Job) {
			js.Shown.Slurm.State, js.Shown.Slurm.Held, js.Shown.Slurm.Reason, js.Rec.Barred = slurm.Pending, true, "JobHeldAdmin", true
		}, false, false},
		{"it runs with an administrator's reason", func(js *Job) { js.Shown.Slurm.Reason = "JobHeldAdmin" }, false, false},
		{"its directive is a hold", func(js *Job) { js.Rec.Tag.Directive.Hold = true }, false, true},
	} {
		if got := seenAs(func(_ *State, js *Job) { c.change(js) }); got.UserHold != c.user || got.Directive.Hold != c.hold {
			t.Errorf("%s: held by its user %v, held %v", c.name, got.UserHold, got.Directive.Hold)
		}
	}
}

// TestUnprovenJobsStartAtTheirMinimum: a held job of which no checkpoint was seen has only its minimum
// size; one that runs, or that its user pinned, has all.
func TestUnprovenJobsStartAtTheirMinimum(t *testing.T) {
	hold := func(js *Job) { js.Shown.Slurm.State, js.Shown.Slurm.Held = slurm.Pending, true }
	for _, c := range []struct {
		name     string
		change   func(*State, *Job)
		unproven bool
		most     int
		grown    int
	}{
		{"it is held", func(_ *State, js *Job) { hold(js) }, true, 1, 4},
		{"it runs", func(*State, *Job) {}, true, 4, 0},
		{"it is queued", func(_ *State, js *Job) { js.Shown.Slurm.State = slurm.Pending }, true, 4, 0},
		{"it is held and pinned", func(_ *State, js *Job) { hold(js); js.Rec.Tag.Directive.Pin = 3 }, true, 4, 0},
		{"it answered", func(_ *State, js *Job) { hold(js); js.Mail.answer = "00000001" }, false, 4, 0},
		{"a move of it was measured", func(_ *State, js *Job) { hold(js); js.Rec.Price.Measured = 1 }, false, 4, 0},
		{"its user's script answered", func(st *State, js *Job) {
			hold(js)
			js.Rec.Tag.Spec.Script, st.Answers[journal.AnswerKey{UID: 5, Key: "script/s"}] = "s", noon
		}, false, 4, 0},
		{"its user's model answered", func(st *State, js *Job) {
			hold(js)
			js.Rec.Tag.Spec.Model, st.Answers[journal.AnswerKey{UID: 5, Key: "model/m"}] = "m", noon
		}, false, 4, 0},
		{"another user's script answered", func(st *State, js *Job) {
			hold(js)
			js.Rec.Tag.Spec.Script, st.Answers[journal.AnswerKey{UID: 6, Key: "script/s"}] = "s", noon
		}, true, 1, 4},
		{"a model of the script's name answered", func(st *State, js *Job) {
			hold(js)
			js.Rec.Tag.Spec.Script, st.Answers[journal.AnswerKey{UID: 5, Key: "model/s"}] = "s", noon
		}, true, 1, 4},
		{"every job counts as proven", func(st *State, js *Job) { hold(js); st.Rules.Proven = true }, false, 4, 0},
	} {
		got := seenAs(c.change)
		if got.Unproven != c.unproven || got.Spec.Max != c.most || got.Grown.Max != c.grown {
			t.Errorf("%s: unproven %v, at most %d GPUs, later %d", c.name, got.Unproven, got.Spec.Max, got.Grown.Max)
		}
	}
}

// TestReport: what a runner reports counts only if it is about the present run; whether it ever spoke is
// known all the same.
func TestReport(t *testing.T) {
	word := checkpoint.Runner{
		State: checkpoint.Training, Restarts: 1, Incarnation: 3, Beat: noon, Resumed: "00000004", Rhythm: 1.5, Every: 60, Cost: .25, RetryAt: noon.Add(time.Minute),
		Answer: &checkpoint.Answer{Request: "7.4", Checkpoint: "00000005", Error: "e", Committed: noon},
	}
	m := mail{runner: runnerWord{word: word, ok: true}}
	var got elastic.Job
	m.report(&got, noon)
	want := elastic.Job{
		Spoke: true, Heartbeat: noon, Resumed: "00000004", RunnerOf: 3, RetryAt: noon.Add(time.Minute),
		Rhythm: 1500 * time.Millisecond, SavesEvery: time.Minute, SaveCost: 250 * time.Millisecond,
		Saved: elastic.Saved{Request: "7.4", Checkpoint: "00000005", Error: "e", Committed: noon},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("of the present run:\n%+v, want\n%+v", got, want)
	}
	m.runner.ok, got = false, elastic.Job{}
	if m.report(&got, noon); !reflect.DeepEqual(got, elastic.Job{Spoke: true}) {
		t.Errorf("of another run: %+v", got)
	}
	m.runner, got = runnerWord{}, elastic.Job{}
	if m.report(&got, noon); !reflect.DeepEqual(got, elastic.Job{}) {
		t.Errorf("without a status: %+v", got)
	}
}

// TestRestOfAJob: a job rests until the later of its two pauses.
func TestRestOfAJob(t *testing.T) {
	early, late := noon.Add(time.Second), noon.Add(time.Minute)
	for _, c := range []struct{ rest, uncertain, want time.Time }{
		{early, late, late}, {late, early, late}, {late, time.Time{}, late}, {time.Time{}, early, early}, {},
	} {
		if got := seenAs(func(_ *State, js *Job) { js.Placing.rest, js.Placing.uncertainUntil = c.rest, c.uncertain }); !got.Rest.Equal(c.want) {
			t.Errorf("%v and %v: rests until %v", c.rest, c.uncertain, got.Rest)
		}
	}
}
