package track

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestNoteBeat: the time without a new heartbeat starts at each heartbeat and each run, and not at all
// while Slurm does not run the job.
func TestNoteBeat(t *testing.T) {
	start, before := noon.Add(-time.Minute), noon.Add(-10*time.Second)
	was := quiet{run: start, beat: before, since: before}
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   time.Time // since
	}{
		{"no new heartbeat", func(*Job) {}, before},
		{"a new heartbeat", func(js *Job) { js.Mail.runner.word.Beat = noon }, noon},
		{"an older one, as after the node's clock was set back", func(js *Job) { js.Mail.runner.word.Beat = noon.Add(-time.Hour) }, noon},
		{"another run", func(js *Job) { js.Shown.Slurm.Start = noon }, noon},
		{"its status is of another run", func(js *Job) { js.Mail.runner.ok = false }, noon},
		{"it completes", func(js *Job) { js.Shown.Slurm.Completing = true }, time.Time{}},
		{"it is suspended", func(js *Job) { js.Shown.Slurm.State = slurm.Suspended }, time.Time{}},
		{"it was not running before", func(js *Job) { js.Mail.quiet = quiet{} }, noon},
	} {
		js := killedJob()
		js.Shown.Slurm.State, js.Mail.runner.word.Beat, js.Mail.quiet = slurm.Running, before, was
		c.change(js)
		if js.noteBeat(noon); !js.Mail.quiet.since.Equal(c.want) {
			t.Errorf("%s: quiet since %v, want %v", c.name, js.Mail.quiet.since, c.want)
		}
	}
}

// TestQuietSince: a runner is quiet from quietAfter on, and not while its folder does not answer.
func TestQuietSince(t *testing.T) {
	for _, c := range []struct {
		name   string
		since  time.Time
		silent time.Time
		quiet  bool
	}{
		{"exactly quietAfter", noon.Add(-quietAfter), time.Time{}, true},
		{"a moment less", noon.Add(-quietAfter + 1), time.Time{}, false},
		{"its folder does not answer", noon.Add(-time.Hour), noon, false},
		{"no heartbeat is expected", time.Time{}, time.Time{}, false},
		{"the clock was set back", noon.Add(time.Hour), time.Time{}, false},
	} {
		m := mail{quiet: quiet{since: c.since}, folder: folder{silent: c.silent}}
		want := time.Time{}
		if c.quiet {
			want = c.since
		}
		if got := m.quietSince(noon); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

// TestRetryAt: an announced retry counts while it is ahead, and less than retryAhead.
func TestRetryAt(t *testing.T) {
	for ahead, counts := range map[time.Duration]bool{0: false, 1: true, retryAhead - 1: true, retryAhead: false, -time.Second: false} {
		m := mail{runner: runnerWord{word: checkpoint.Runner{RetryAt: noon.Add(ahead)}}}
		if got := m.retryAt(noon); got.IsZero() == counts || counts && !got.Equal(noon.Add(ahead)) {
			t.Errorf("in %s: %v", ahead, got)
		}
	}
	if got := new(mail).retryAt(noon); !got.IsZero() {
		t.Errorf("none announced: %v", got)
	}
}

// TestCurrent: a status is of the present run if it was not written before the run's start and does not
// have a smaller restart count. A larger one is right: slurmctld may have lost its last minutes.
func TestCurrent(t *testing.T) {
	for _, c := range []struct {
		restarts int
		beat     time.Duration // after the start
		want     bool
	}{{1, 0, true}, {1, -1, false}, {1, time.Hour, true}, {0, time.Hour, false}, {2, 0, true}, {2, -1, false}} {
		word := checkpoint.Runner{Restarts: c.restarts, Beat: noon.Add(c.beat)}
		if got := current(word, slurm.Job{Restarts: 1, Start: noon}); got != c.want {
			t.Errorf("of run %d, %s after the start of run 1: %v", c.restarts, c.beat, got)
		}
	}
}

// TestHeardRunner: a status that cannot be read is unknown at once; one that does not arrive is kept until
// the job is Unread, if it is about the present run.
func TestHeardRunner(t *testing.T) {
	word := checkpoint.Runner{Restarts: 1, State: checkpoint.Training, Beat: noon, Note: "disk", Answer: &checkpoint.Answer{Checkpoint: "00000009"}}
	hangs := func(since time.Duration) observe.Word {
		return observe.Word{Err: &observe.Unanswered{Since: noon.Add(-since)}}
	}
	for _, c := range []struct {
		name    string
		restart int // of the present run
		w       observe.Word
		ok      bool
		state   checkpoint.RunnerState
		problem string // the source
		silent  bool
	}{
		{"a status", 1, observe.Word{Runner: word, OK: true}, true, checkpoint.Training, "note", false},
		{"a status of the run before", 2, observe.Word{Runner: word, OK: true}, false, checkpoint.Training, "", false},
		{"no status", 1, observe.Word{}, false, "", "", false},
		{"it cannot be read", 1, observe.Word{Err: errors.New("not JSON")}, false, "", "runner", false},
		{"it does not arrive", 1, hangs(unreadAfter - 1), true, checkpoint.Starting, "", true},
		{"it does not arrive, and the job runs again", 3, hangs(unreadAfter - 1), false, checkpoint.Starting, "", true},
		{"it does not arrive for too long", 1, hangs(unreadAfter), false, "", "", true},
	} {
		js := killedJob()
		js.Tells.Problem, js.Shown.Slurm.State, js.Shown.Slurm.Restarts = map[string]string{}, slurm.Running, c.restart
		js.Mail.runner = runnerWord{ok: true, word: checkpoint.Runner{Restarts: 2, State: checkpoint.Starting, Beat: noon}}
		js.heardRunner(c.w, noon)
		if js.Mail.runner.ok != c.ok || js.Mail.runner.word.State != c.state || js.Mail.silent.IsZero() == c.silent {
			t.Errorf("%s: %+v, silent since %v", c.name, js.Mail.runner, js.Mail.silent)
		}
		if len(js.Tells.Problem) != min(1, len(c.problem)) || c.problem != "" && js.Tells.Problem[c.problem] == "" {
			t.Errorf("%s: problems %v, want %q", c.name, js.Tells.Problem, c.problem)
		}
		if kept := js.Mail.Kept != nil; kept != (c.problem == "note") {
			t.Errorf("%s: its checkpoint is kept: %v", c.name, kept)
		}
	}
}

// TestAnswersBy: a folder is silent since the earliest read or write that hangs, and answers with any
// other result.
func TestAnswersBy(t *testing.T) {
	hang := func(ago time.Duration) error { return &observe.Unanswered{Since: noon.Add(-ago)} }
	var m mail
	for _, c := range []struct {
		name    string
		err     error
		answers bool
		silent  time.Duration // ago; 0 = it answers
	}{
		{"a read", nil, true, 0},
		{"a read hangs", hang(3 * time.Second), false, 3 * time.Second},
		{"a later one hangs", hang(time.Second), false, 3 * time.Second},
		{"an earlier one hangs", hang(5 * time.Second), false, 5 * time.Second},
		{"an error is an answer", errors.New("no such file"), true, 0},
		{"a read hangs again", errors.Join(errors.New("write"), hang(time.Second)), false, time.Second},
		{"it is read", nil, true, 0},
	} {
		if got := m.AnswersBy(c.err); got != c.answers {
			t.Errorf("%s: answers %v", c.name, got)
		}
		if want := noon.Add(-c.silent); c.silent == 0 && !m.silent.IsZero() || c.silent > 0 && !m.silent.Equal(want) {
			t.Errorf("%s: silent since %v", c.name, m.silent)
		}
	}
}

// TestTellUnread: a folder that hangs is reported once, and once when it answers again; not for a job that
// has ended or whose tag was removed.
func TestTellUnread(t *testing.T) {
	told := 0
	st := New(Rules{}, nil, func(event.Event) { told++ })
	js := killedJob()
	st.Remember(js)
	for _, c := range []struct {
		name   string
		silent time.Time
		change func()
		unread bool
		told   int
	}{
		{"for less than unreadAfter", noon.Add(-unreadAfter + 1), func() {}, false, 0},
		{"for unreadAfter", noon.Add(-unreadAfter), func() {}, true, 1},
		{"still", noon.Add(-unreadAfter), func() {}, true, 1},
		{"it answers", time.Time{}, func() {}, false, 2},
		{"again", noon.Add(-time.Hour), func() {}, true, 3},
		{"its tag was removed: it is not managed", noon.Add(-time.Hour), func() { js.Shown.Disown = true }, false, 4},
		{"it is managed again", noon.Add(-time.Hour), func() { js.Shown.Disown = false }, true, 5},
		{"it ended", noon.Add(-time.Hour), func() { js.Rec.Ended = noon }, false, 5},
	} {
		js.Mail.silent = c.silent
		c.change()
		st.TellUnread(noon)
		if unread := !js.Mail.unread.IsZero(); unread != c.unread || (js.Tells.Problem["folder"] != "") != c.unread || told != c.told {
			t.Errorf("%s: unread %v, problems %v, %d messages, want %d", c.name, unread, js.Tells.Problem, told, c.told)
		}
	}
}

// TestNoteAway: a cycle that begins more than stalled after it was due follows an outage.
func TestNoteAway(t *testing.T) {
	for _, c := range []struct {
		name string
		due  time.Time
		late time.Duration
		away bool
	}{
		{"in time", noon, 0, false}, {"at the limit", noon, stalled, false}, {"beyond it", noon, stalled + 1, true},
		{"early", noon, -time.Hour, false}, {"the first cycle", time.Time{}, 0, false},
	} {
		var mo Moments
		if mo.NoteAway(c.due, noon.Add(c.late)); mo.away.IsZero() == c.away {
			t.Errorf("%s: away %v", c.name, mo.away)
		}
	}
}
