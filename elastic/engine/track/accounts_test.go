package track

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// forgottenJobs are n jobs on record as forgotten; the first has been asked about longest ago.
func forgottenJobs(n int) (*State, []*Job) {
	st := New(Rules{}, nil, func(event.Event) {})
	jobs := make([]*Job, n)
	for i := range jobs {
		js := &Job{}
		js.Rec.ID, js.Rec.Token, js.Rec.Ended, js.Rec.State = elastic.JobID(i+1), "t"+string(rune('a'+i)), noon, ForgottenState
		js.Over.looked = noon.Add(time.Duration(i) * time.Minute)
		st.Remember(js)
		jobs[i] = js
	}
	return st, jobs
}

// TestAskedAbout: accounting is asked again only about jobs of which it told nothing: at once if it has
// not answered or there were too many for one query, else after a minute.
func TestAskedAbout(t *testing.T) {
	_, jobs := forgottenJobs(3)
	for _, c := range []struct {
		name  string
		asked int
		told  int
		late  bool
		want  time.Time
	}{
		{"it told of all", 3, 3, false, time.Time{}},
		{"it lacks one", 3, 2, false, noon.Add(time.Minute)},
		{"it has not answered", 3, 0, true, noon},
		{"there are too many for one query", 2, 2, false, noon},
	} {
		st := New(Rules{}, nil, nil)
		if st.AskedAbout(jobs, jobs[:c.asked], c.told, c.late, noon); !st.accounts.next.Equal(c.want) {
			t.Errorf("%s: asked again at %v, want %v", c.name, st.accounts.next, c.want)
		}
	}
}

// TestAskAgain: an earlier query stays.
func TestAskAgain(t *testing.T) {
	st := New(Rules{}, nil, nil)
	for _, c := range []struct{ at, want time.Duration }{{time.Hour, time.Hour}, {2 * time.Hour, time.Hour}, {time.Minute, time.Minute}} {
		if st.AskAgain(noon.Add(c.at)); !st.accounts.next.Equal(noon.Add(c.want)) {
			t.Errorf("after %s: %v", c.at, st.accounts.next)
		}
	}
}

// TestForgottenDue: when the query is due, the jobs asked about longest ago come first.
func TestForgottenDue(t *testing.T) {
	st, jobs := forgottenJobs(3)
	jobs[0].Over.looked = noon.Add(time.Hour)
	jobs[2].Rec.State = "COMPLETED"
	if left, _ := st.ForgottenDue(noon); left != nil {
		t.Errorf("without a query: %d jobs", len(left))
	}
	st.AskAgain(noon)
	if left, _ := st.ForgottenDue(noon.Add(-1)); left != nil {
		t.Errorf("before it is due: %d jobs", len(left))
	}
	left, asked := st.ForgottenDue(noon)
	if len(left) != 2 || left[0] != jobs[1] || left[1] != jobs[0] || !slices.Equal(left, asked) {
		t.Errorf("%d jobs, %d asked about", len(left), len(asked))
	}
	if left, _ := st.ForgottenDue(noon); left != nil {
		t.Error("due twice")
	}
}

// TestLookedUp: while accounting lacks jobs it is asked after pauses that double from a minute to an hour;
// jobs that it was never asked about come at once.
func TestLookedUp(t *testing.T) {
	st, jobs := forgottenJobs(3)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		st.accounts.next = time.Time{}
		if st.LookedUp(jobs, jobs, 1, noon); !st.accounts.next.Equal(noon.Add(want * time.Minute)) {
			t.Errorf("asked again at %v, want after %d minutes", st.accounts.next, want)
		}
	}
	st.accounts.next = time.Time{}
	if st.LookedUp(jobs, jobs, 3, noon); !st.accounts.next.IsZero() {
		t.Errorf("it told of all, and is asked at %v", st.accounts.next)
	}
	jobs[2].Over.looked = time.Time{}
	if st.LookedUp(jobs, jobs[:2], 2, noon); !st.accounts.next.Equal(noon) {
		t.Errorf("one was never asked about, and is at %v", st.accounts.next)
	}
}

// TestAccountsAnswered: only the first failure in a row is reported.
func TestAccountsAnswered(t *testing.T) {
	told := 0
	st := New(Rules{}, nil, func(event.Event) { told++ })
	for i, c := range []struct {
		err  error
		told int
	}{{nil, 0}, {errors.New("no slurmdbd"), 1}, {errors.New("still none"), 1}, {nil, 1}, {errors.New("no slurmdbd"), 2}} {
		if st.AccountsAnswered(c.err, noon); told != c.told {
			t.Errorf("answer %d: %d messages, want %d", i, told, c.told)
		}
	}
}

// TestLastKnown: a job was last known in Slurm at the latest time on record. The end of a forgotten job's
// run is only when that was found.
func TestLastKnown(t *testing.T) {
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   time.Time
	}{
		{"submitted", func(*Job) {}, at(1)},
		{"ran", func(js *Job) { js.Rec.FirstRun = at(2) }, at(2)},
		{"moved", func(js *Job) { js.Rec.Moved = at(3) }, at(3)},
		{"requeued", func(js *Job) { js.Shown.Slurm.Submit = at(4) }, at(4)},
		{"runs", func(js *Job) { js.Runs.Seg = new(run(0, 5, -1)) }, at(5)},
		{"its run ended", func(js *Job) { js.Runs.Seg = new(run(0, 5, 6)) }, at(6)},
		{"its run ended, and it is forgotten", func(js *Job) {
			js.Runs.Seg, js.Rec.Ended, js.Rec.State = new(run(0, 5, 6)), at(7), ForgottenState
		}, at(5)},
	} {
		js := &Job{}
		js.Rec.Submitted = at(1)
		if c.change(js); !js.lastKnown().Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, js.lastKnown(), c.want)
		}
	}
}

// TestShowPast: accounting's last run of a job is the one on record, or a later one. A job that did not
// run has no nodes.
func TestShowPast(t *testing.T) {
	past := func(start time.Duration, nodes ...string) slurm.PastRun {
		return slurm.PastRun{ID: 7, State: slurm.Failed, Start: noon.Add(start), End: noon.Add(time.Hour), Nodes: nodes, GPUs: 2, ExitCode: 3, Limit: time.Hour}
	}
	for _, c := range []struct {
		name     string
		seg      *journal.Segment
		recorded int
		past     slurm.PastRun
		restarts int
		ran      bool
		open     bool // the row on record is open again
	}{
		{"the run on record", new(run(2, 0, 5)), 2, past(0, "g1"), 2, true, true},
		{"the run on record, with a rounded start", new(run(2, 0, 5)), 2, past(slurm.PastGrain, "g1"), 2, true, true},
		{"a later run", new(run(2, 0, 5)), 2, past(slurm.PastGrain+1, "g1"), 3, true, false},
		{"no row on record", nil, 2, past(0, "g1"), 2, true, false},
		{"a job that never ran", nil, -1, past(0), 0, false, false},
		{"cancelled while it waited", new(run(2, 0, 5)), 2, past(time.Minute), 2, false, false},
	} {
		js := &Job{Runs: runs{Seg: c.seg}}
		js.Rec.ID, js.Rec.SlurmUID, js.Rec.Restarts = 7, 5, c.recorded
		js.ShowPast(c.past)
		sj := js.Shown.Slurm
		if sj.ID != 7 || sj.UID != 5 || sj.State != slurm.Failed || sj.ExitCode != 3 || sj.Restarts != c.restarts || sj.Start.IsZero() == c.ran || (sj.GPUs == 2) != c.ran {
			t.Errorf("%s: %+v, want run %d", c.name, sj, c.restarts)
		}
		if open := c.seg != nil && c.seg.Ended.IsZero(); open != c.open {
			t.Errorf("%s: its row is open: %v", c.name, open)
		}
	}
}
