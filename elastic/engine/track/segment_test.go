package track

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// run is a run on two GPUs that lasted from and to minutes after noon; to < 0 = it has no end.
func run(restarts int, from, to float64) journal.Segment {
	at := func(m float64) time.Time { return noon.Add(time.Duration(m * float64(time.Minute))) }
	seg := journal.Segment{Token: "t7", Restarts: restarts, Place: nodes.Placement{{Node: "g1", GPUs: 2}}, Started: at(from)}
	if to >= 0 {
		seg.Ended = at(to)
	}
	return seg
}

// TestBegins: a run begins once its placement is known, and once only.
func TestBegins(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   bool
	}{
		{"the first run", func(*Job) {}, true},
		{"its row is open", func(js *Job) { seg := run(1, 0, -1); js.Runs.Seg = &seg }, false},
		{"its row was closed too early", func(js *Job) { seg := run(1, 0, 1); js.Runs.Seg = &seg }, true},
		{"the row is of the run before", func(js *Job) { seg := run(0, 0, -1); js.Runs.Seg = &seg }, true},
		{"it waits", func(js *Job) { js.Shown.Slurm.State = slurm.Pending }, false},
		{"its placement is that of the run before", func(js *Job) { js.Rec.Restarts = 0 }, false},
	} {
		js := killedJob()
		js.Shown.Slurm.State = slurm.Running
		if c.change(js); js.begins() != c.want {
			t.Errorf("%s: %v", c.name, !c.want)
		}
	}
}

// TestCauseOf: a run has the cause of its open move, and otherwise that of a start outside of sluice.
func TestCauseOf(t *testing.T) {
	plan, parked := reason.SlurmSaid{Text: "plan"}, reason.SlurmSaid{Text: "parked"}
	start := elastic.Intent{Job: 7, Kind: elastic.Start, Cause: plan}
	for _, c := range []struct {
		name     string
		open     Moves
		outside  bool
		parked   reason.Reason
		restarts int
		want     reason.Reason
	}{
		{"its start", Moves{start}, false, nil, 0, plan},
		{"after a park", Moves{start}, false, parked, 1, reason.ResumesAfter{After: parked, Because: plan}},
		{"after its user requeued it", Moves{start}, true, nil, 1, reason.OutsideSluice{Because: plan}},
		{"after its user requeued it, once parked", Moves{start}, true, parked, 1, reason.OutsideSluice{Because: plan}},
		{"its resize", Moves{{Job: 7, Kind: elastic.Resize, Cause: plan}}, true, parked, 1, plan},
		{"another job's start", Moves{{Job: 8, Kind: elastic.Start, Cause: plan}}, false, nil, 0, reason.StartedBySlurm},
		{"without a move", nil, false, nil, 0, reason.StartedBySlurm},
		{"requeued without a move", nil, false, parked, 2, reason.RequeuedOutside},
	} {
		js := killedJob()
		js.Shown.outside, js.Tells.parked, js.Shown.Slurm.Restarts = c.outside, c.parked, c.restarts
		if got := c.open.causeOf(js); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestBeginSegment: a new run closes the row of the last one and counts its GPU-seconds; a run that the
// journal has is continued, and counted once.
func TestBeginSegment(t *testing.T) {
	const minute = 2 * 60 // GPU-seconds
	for _, c := range []struct {
		name    string
		start   float64 // of the run in Slurm, minutes after noon
		last    *journal.Segment
		had     float64
		old     []journal.Segment
		started float64
		want    float64 // GPU-seconds of the runs before
		rows    int     // of earlier runs to be saved
	}{
		{"the first run", 3, nil, 0, nil, 3, 0, 0},
		{"the run before ended in between", 3, new(run(0, 0, -1)), minute, nil, 3, 4 * minute, 1},
		{"... and its end was seen", 3, new(run(0, 0, 2)), 0, nil, 3, 2 * minute, 0},
		{"Slurm's clock is ahead", 9, nil, 0, nil, 5, 0, 0},
		{"... and the run before lasts until now", 9, new(run(0, 0, -1)), 0, nil, 5, 5 * minute, 1},
		{"the journal has it", 3, nil, 2 * minute, []journal.Segment{run(0, 0, 2), run(1, 3, -1)}, 3, 2 * minute, 0},
		{"the journal has it, with an end", 3, nil, 3 * minute, []journal.Segment{run(0, 0, 2), run(1, 3, 4)}, 3, 2 * minute, 0},
		{"the journal has another", 3, nil, 2 * minute, []journal.Segment{run(0, 0, 2)}, 3, 2 * minute, 0},
	} {
		js := killedJob()
		js.Shown.Slurm.State, js.Shown.Slurm.Start = slurm.Running, run(0, c.start, -1).Started
		js.Runs.Seg, js.Runs.had, js.Rec.Deaf, js.Tells.parked = c.last, c.had, 2, reason.StartedBySlurm
		(Moves)(nil).beginSegment(js, observe.History{Segments: c.old}, noon.Add(5*time.Minute))
		seg := js.Runs.Seg
		if seg.Restarts != 1 || !seg.Ended.IsZero() || !seg.Started.Equal(run(0, c.started, -1).Started) || !js.Runs.segNew || js.Rec.Deaf != 0 {
			t.Errorf("%s: run %d from %v to %v, deaf %d", c.name, seg.Restarts, seg.Started, seg.Ended, js.Rec.Deaf)
		}
		if js.Runs.had != c.want || len(js.Runs.past) != c.rows {
			t.Errorf("%s: %g GPU-seconds before it in %d rows, want %g in %d", c.name, js.Runs.had, len(js.Runs.past), c.want, c.rows)
		}
	}
}

// TestRecount: the GPU-seconds of the runs before this daemon started are summed once. A run whose end
// was not seen lasted until the next one at most.
func TestRecount(t *testing.T) {
	const minute = 2 * 60 // GPU-seconds
	for _, c := range []struct {
		name    string
		change  func(*Job)
		old     observe.History
		want    float64
		counted bool
	}{
		{"it never ran", func(js *Job) { js.Rec.FirstRun = time.Time{} }, observe.History{Segments: []journal.Segment{run(0, 0, 2)}}, 0, true},
		{"two runs", func(*Job) {}, observe.History{Segments: []journal.Segment{run(0, 0, 2), run(1, 3, 4)}}, 3 * minute, true},
		{"the end of the first was not seen", func(*Job) {}, observe.History{Segments: []journal.Segment{run(0, 0, -1), run(1, 3, 4)}}, 4 * minute, true},
		{"the end of the last was not seen", func(*Job) {}, observe.History{Segments: []journal.Segment{run(0, 0, 2), run(1, 3, -1)}}, 2 * minute, true},
		{"the last is the present one", func(js *Job) { js.Runs.Seg = new(run(1, 3, -1)) }, observe.History{Segments: []journal.Segment{run(0, 0, 2), run(1, 3, 4)}}, 2 * minute, true},
		{"the history cannot be read", func(*Job) {}, observe.History{Err: errors.New("locked")}, 0, false},
		{"it was counted", func(js *Job) { js.Runs.had, js.Runs.counted = 9, true }, observe.History{Segments: []journal.Segment{run(0, 0, 2)}}, 9, true},
		{"no rows", func(*Job) {}, observe.History{}, 0, true},
	} {
		js := killedJob()
		c.change(js)
		for range 2 {
			if js.recount(c.old); js.Runs.had != c.want || js.Runs.counted != c.counted {
				t.Errorf("%s: %g GPU-seconds, counted %v", c.name, js.Runs.had, js.Runs.counted)
			}
		}
	}
}

// TestChanged: a run ended at the latest when the next one started, if that is credible.
func TestChanged(t *testing.T) {
	now := noon.Add(10 * time.Minute)
	for _, c := range []struct {
		name string
		seg  *journal.Segment
		next time.Time
		want time.Time
	}{
		{"between", new(run(0, 0, -1)), noon.Add(time.Minute), noon.Add(time.Minute)},
		{"at its own start", new(run(0, 0, -1)), noon, now},
		{"now", new(run(0, 0, -1)), now, now},
		{"ahead", new(run(0, 0, -1)), now.Add(1), now},
		{"not known", new(run(0, 0, -1)), time.Time{}, now},
		{"no run before", nil, noon.Add(time.Minute), now},
	} {
		r := runs{Seg: c.seg}
		if got := r.changed(c.next, now); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestWhyParked: of a decision to stop a job only its reason is kept.
func TestWhyParked(t *testing.T) {
	inner := reason.SlurmSaid{Text: "x"}
	for _, c := range []struct{ cause, want reason.Reason }{
		{reason.Stops{Because: inner}, inner}, {reason.Stops{}, reason.Stops{}}, {inner, inner}, {nil, nil},
	} {
		if got := whyParked(c.cause); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.cause, got, c.want)
		}
	}
}

// TestRowWaitsForItsHistory: a run that is met while the history cannot be read does not replace its row in the
// journal, of which it keeps what cannot be known again.
func TestRowWaitsForItsHistory(t *testing.T) {
	plan, unread := reason.SlurmSaid{Text: "plan"}, observe.History{Err: errors.New("locked")}
	kept := run(1, 3, -1)
	kept.DoneFrom, kept.DoneTo, kept.Cause, kept.Price.Save = 4, 6, plan, time.Second
	start := func(restarts int) (*State, *Job) {
		st := New(Rules{}, nil, func(event.Event) {})
		js := killedJob()
		js.Shown.Slurm.State, js.Shown.Slurm.Restarts, js.Rec.Restarts, js.Mail.runner.word.Restarts = slurm.Running, restarts, restarts, restarts
		js.Rec.Done = 7
		js.Shown.Slurm.Start = run(0, 6, -1).Started
		st.Jobs["t7"], st.ByID[7] = js, js
		return st, js
	}
	fold := func(st *State, old observe.History, minutes int) (rows []journal.Segment) {
		st.Fold(map[string]observe.History{"t7": old}, nil, noon.Add(time.Duration(minutes)*time.Minute))
		_, rows = st.UnsavedJobs()
		st.SavedJobs()
		return rows
	}
	for name, c := range map[string]struct {
		restarts int
		old      []journal.Segment
		want     journal.Segment
		had      float64
	}{
		"its row is there":   {1, []journal.Segment{run(0, 0, 2), kept}, kept, 4 * 60},
		"it is a new run":    {2, []journal.Segment{run(0, 0, 2), kept}, run(2, 6, -1), 4 * 60},
		"nothing is kept":    {1, nil, run(1, 6, -1), 0},
		"the first was open": {1, []journal.Segment{run(0, 0, -1), kept}, kept, 6 * 60},
	} {
		st, js := start(c.restarts)
		for minute := 7; minute < 10; minute++ {
			if rows := fold(st, unread, minute); len(rows) > 0 || !st.WantsHistory(js) {
				t.Errorf("%s: saves %+v before the history is read", name, rows)
			}
		}
		rows := fold(st, observe.History{Segments: c.old}, 10)
		if len(rows) != 1 || !rows[0].Started.Equal(c.want.Started) || rows[0].Restarts != c.restarts || rows[0].Price != c.want.Price || rows[0].DoneTo != 7 ||
			(c.want.Cause != nil && (rows[0].Cause != c.want.Cause || rows[0].DoneFrom != c.want.DoneFrom)) {
			t.Errorf("%s: saves %+v, want %+v", name, rows, c.want)
		}
		if js.Runs.had != c.had || !js.Runs.counted || st.WantsHistory(js) {
			t.Errorf("%s: %g GPU-seconds before it, want %g", name, js.Runs.had, c.had)
		}
	}

	st, js := start(1) // it ends before the history is read
	fold(st, unread, 7)
	js.Shown.Slurm.State, js.Shown.Slurm.End = slurm.Completed, run(0, 8, -1).Started
	if rows := fold(st, unread, 9); len(rows) > 0 || js.Rec.Ended.IsZero() {
		t.Errorf("at its end: saves %+v before the history is read", rows)
	}
	if rows := fold(st, observe.History{Segments: []journal.Segment{kept}}, 10); len(rows) != 1 || !rows[0].Started.Equal(kept.Started) || rows[0].Ended.IsZero() {
		t.Errorf("after its end: saves %+v", rows)
	}
}
