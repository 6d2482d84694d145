package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestEnded: the end of a job is recorded once, with Slurm's and its runner's last status, at the time
// that Slurm gives.
func TestEnded(t *testing.T) {
	var told []event.Event
	st, js := New(Rules{}, nil, func(ev event.Event) { told = append(told, ev) }), killedJob()
	st.Remember(js)
	js.Rec.Submitted = noon.Add(-time.Hour)
	js.Shown.Slurm.End = noon.Add(-time.Second)
	js.Runs.Seg = &journal.Segment{Restarts: 1, Started: noon.Add(-time.Minute)}
	word := observe.Word{OK: true, Runner: checkpoint.Runner{Restarts: 1, State: checkpoint.Exited, Exit: &checkpoint.Exit{Code: 3}}}
	for range 2 {
		st.Ended(js, string(slurm.Failed), word, noon)
	}
	end := noon.Add(-time.Second)
	if !js.Rec.Ended.Equal(end) || !js.Runs.Seg.Ended.Equal(end) || !js.Over.noticed.Equal(noon) || js.Rec.State != string(slurm.Failed) || !js.Dirty {
		t.Errorf("%+v, run %+v, noticed %v", js.Rec, js.Runs.Seg, js.Over.noticed)
	}
	if js.Rec.Ending.How != journal.Failed || js.Rec.Ending.Code != 3 {
		t.Errorf("on record: %+v", js.Rec.Ending)
	}
	if len(told) != 1 || told[0].Kind != "ended" || told[0].Fields.State != string(slurm.Failed) {
		t.Errorf("told %+v", told)
	}
}

// TestForgetOld: a job stays in memory for a day after its end, or after that was noticed. Its number
// may have been given to another job by then.
func TestForgetOld(t *testing.T) {
	for _, c := range []struct {
		name           string
		ended, noticed time.Duration // ago; 0 = it lives
		kept           bool
	}{
		{"lives", 0, 0, true},
		{"ended an hour ago", time.Hour, time.Hour, true},
		{"ended two days ago, noticed now", 48 * time.Hour, time.Second, true},
		{"ended two days ago", 48 * time.Hour, 48 * time.Hour, false},
	} {
		for _, again := range []bool{false, true} {
			st, js := New(Rules{}, new(journal.Memory), func(event.Event) {}), killedJob()
			if c.ended > 0 {
				js.Rec.Ended, js.Over.noticed = noon.Add(-c.ended), noon.Add(-c.noticed)
			}
			st.Remember(js)
			other := &Job{}
			if other.Rec.ID, other.Rec.Token, other.Rec.Submitted = js.Rec.ID, "u", noon; again {
				st.Remember(other)
			}
			st.Ordered()
			st.ForgetOld(noon)
			if _, kept := st.Jobs[js.Rec.Token]; kept != c.kept {
				t.Errorf("%s: kept %v", c.name, kept)
			}
			if again && st.ByID[7] != other || !again && (st.ByID[7] != nil) != c.kept {
				t.Errorf("%s: its number has %v", c.name, st.ByID[7])
			}
			want := 0
			for _, there := range []bool{c.kept, again} {
				if there {
					want++
				}
			}
			if n := len(st.Ordered()); n != want {
				t.Errorf("%s: %d jobs in order, want %d", c.name, n, want)
			}
		}
	}
}

// TestUnsaved: what the journal lacks is returned until it is saved.
func TestUnsaved(t *testing.T) {
	st, js := New(Rules{}, nil, nil), killedJob()
	st.Remember(js)
	js.Runs.past = []journal.Segment{{Restarts: 0}}
	if records, segments := st.UnsavedJobs(); len(records) != 0 || len(segments) != 1 {
		t.Errorf("a past run: %v, %v", records, segments)
	}
	js.Dirty, js.Runs.segNew = true, true
	if _, segments := st.UnsavedJobs(); len(segments) != 1 {
		t.Errorf("no present run: %v", segments)
	}
	js.Runs.Seg = &journal.Segment{Restarts: 1}
	for range 2 { // asking saves nothing
		if records, segments := st.UnsavedJobs(); len(records) != 1 || len(segments) != 2 || segments[1].Restarts != 1 {
			t.Errorf("all: %v, %v", records, segments)
		}
	}
	st.SavedJobs()
	if records, segments := st.UnsavedJobs(); len(records)+len(segments) != 0 {
		t.Errorf("after it was saved: %v, %v", records, segments)
	}
}

// TestPriceOf: a measured cost is blended into the job's known cost, the first one as it is. A park has
// no start, and a move that was measured only in part is not used.
func TestPriceOf(t *testing.T) {
	in := elastic.Intent{Kind: elastic.Resize, AskedAt: noon.Add(-20 * time.Second), SavedAt: noon.Add(-14 * time.Second), PendingAt: noon.Add(-10 * time.Second)}
	for _, c := range []struct {
		name   string
		change func(*Job, *elastic.Intent)
		want   elastic.Price
		paid   elastic.Price // of the run
	}{
		{"a resize", func(*Job, *elastic.Intent) {},
			elastic.Price{Save: 6 * time.Second, Drain: 4 * time.Second, Start: 7 * time.Second, Measured: 1},
			elastic.Price{Save: 6 * time.Second, Drain: 4 * time.Second, Start: 7 * time.Second}},
		{"its run has not begun", func(js *Job, _ *elastic.Intent) { js.Mail.runner.word.FirstLine = time.Time{} },
			elastic.Price{Save: 6 * time.Second, Drain: 4 * time.Second, Measured: 1},
			elastic.Price{Save: 6 * time.Second, Drain: 4 * time.Second}},
		{"a park", func(_ *Job, in *elastic.Intent) { in.Kind = elastic.Park }, elastic.Price{Save: 6 * time.Second, Drain: 4 * time.Second}, elastic.Price{}},
		{"not asked", func(_ *Job, in *elastic.Intent) { in.AskedAt = time.Time{} }, elastic.Price{}, elastic.Price{}},
		{"not saved", func(_ *Job, in *elastic.Intent) { in.SavedAt = time.Time{} }, elastic.Price{}, elastic.Price{}},
		{"not seen pending", func(_ *Job, in *elastic.Intent) { in.PendingAt = time.Time{} }, elastic.Price{}, elastic.Price{}},
	} {
		js, in := killedJob(), in
		js.Runs.Seg = &journal.Segment{Restarts: 1}
		js.Mail.runner.word.FirstLine = noon.Add(-3 * time.Second)
		c.change(js, &in)
		js.priceOf(in)
		if js.Rec.Price != c.want || js.Runs.Seg.Price != c.paid {
			t.Errorf("%s: %+v, the run paid %+v", c.name, js.Rec.Price, js.Runs.Seg.Price)
		}
	}
}
