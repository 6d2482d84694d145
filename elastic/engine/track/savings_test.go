package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// ending is a job that Slurm ends in a minute and that has never saved.
func ending() (*State, *Job) {
	st := New(Rules{Period: 10 * time.Second, Limits: elastic.Limits{Grace: 2 * time.Minute, DeafAfter: 3}}, nil, nil)
	js := killedJob()
	js.Shown.Slurm.State, js.Shown.Slurm.TimeLeft, js.Shown.Slurm.TimeLimit = slurm.Running, time.Minute, time.Hour
	js.Shown.placed, js.Rec.Speaks = js.Shown.Slurm.Start, true
	js.Runs.Seg = &journal.Segment{Restarts: 1, Started: js.Shown.Slurm.Start, DoneFrom: 3, DoneTo: 5}
	st.Remember(js)
	return st, js
}

// TestSavesDue: a job saves before Slurm ends it, once, if it can; a job that is to continue is parked
// instead.
func TestSavesDue(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*State, *Job)
		want   elastic.Kind // "" = nothing
	}{
		{"ends soon", func(*State, *Job) {}, elastic.Save},
		{"ends later", func(_ *State, js *Job) { js.Shown.Slurm.TimeLeft = 30 * time.Minute }, ""},
		{"has no end", func(_ *State, js *Job) { js.Shown.Slurm.TimeLeft = 0 }, ""},
		{"was asked", func(_ *State, js *Job) { js.Placing.saving = noon.Add(-time.Second) }, ""},
		{"was asked before its limit was put off", func(_ *State, js *Job) { js.Placing.saving = noon.Add(-time.Hour) }, elastic.Save},
		{"does not run", func(_ *State, js *Job) { js.Shown.Slurm.State = slurm.Suspended }, ""},
		{"where it runs is not known", func(_ *State, js *Job) { js.Shown.placed = time.Time{} }, ""},
		{"cannot save", func(_ *State, js *Job) { js.Rec.Speaks = false }, ""},
		{"saves at a signal", func(_ *State, js *Job) { js.Rec.Speaks, js.Rec.Tag.Spec.Signal = false, "USR1" }, elastic.Save},
		{"saves by its own habit", func(_ *State, js *Job) { js.Rec.Tag.Spec.Habit = true }, ""},
		{"never answers", func(_ *State, js *Job) { js.Rec.Deaf = 3 }, ""},
		{"its folder does not answer", func(_ *State, js *Job) { js.Mail.unread = noon }, ""},
		{"its user took the tag away", func(_ *State, js *Job) { js.Shown.Disown = true }, ""},
		{"goes on", func(_ *State, js *Job) { js.Rec.Tag.Spec.Again = true }, elastic.Park},
		{"would go on, and is held", func(_ *State, js *Job) { js.Rec.Tag.Spec.Again, js.Rec.Tag.Directive.Hold = true, true }, elastic.Save},
		{"would go on, and its user holds it through Slurm", func(_ *State, js *Job) { js.Rec.Tag.Spec.Again, js.Shown.Slurm.Held = true, true }, elastic.Save},
		{"would go on, and this run brought it no further", func(_ *State, js *Job) { js.Rec.Tag.Spec.Again, js.Runs.Seg.DoneTo = true, 3 }, elastic.Save},
		{"would go on, and its work is done", func(_ *State, js *Job) {
			js.Rec.Tag.Spec.Again, js.Rec.Tag.Spec.Total, js.Rec.Done = true, 5, 5
		}, elastic.Save},
		{"the reservation that it is in ends first", func(st *State, js *Job) {
			js.Rec.Tag.Spec.Again, js.Shown.Slurm.TimeLeft = true, 30*time.Minute
			st.Site = eligible.Site{Limits: slurm.Limits{Reserved: map[slurm.JobID]string{7: "r"}, Reservations: []slurm.Reservation{{Name: "r", End: noon.Add(time.Minute)}}}}
		}, elastic.Save},
		{"its limit ends it before its reservation", func(st *State, js *Job) {
			st.Site = eligible.Site{Limits: slurm.Limits{Reserved: map[slurm.JobID]string{7: "r"}, Reservations: []slurm.Reservation{{Name: "r", End: noon.Add(90 * time.Second)}}}}
		}, elastic.Save},
		{"another's reservation ends", func(st *State, js *Job) {
			js.Shown.Slurm.TimeLeft = 30 * time.Minute
			st.Site = eligible.Site{Limits: slurm.Limits{Reserved: map[slurm.JobID]string{7: "r"}, Reservations: []slurm.Reservation{{Name: "s", End: noon.Add(time.Minute)}}}}
		}, ""},
	} {
		st, js := ending()
		c.change(st, js)
		got := st.savesDue(noon)
		if len(got) == 0 && c.want == "" {
			continue
		}
		if len(got) != 1 || got[0].Kind != c.want {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
			continue
		}
		if why, ok := got[0].Cause.(reason.EndsSoon); !ok || why.Again != (c.want == elastic.Park) || why.In != 60 || (why.Reservation != "") != (c.name == "the reservation that it is in ends first") {
			t.Errorf("%s: because of %+v", c.name, got[0].Cause)
		}
		if stays := len(got[0].Target) > 0; stays != (c.want == elastic.Save) {
			t.Errorf("%s: its target is %v", c.name, got[0].Target)
		}
	}
}

// TestMargin: a job is asked two periods and the expected save before its end, at most a quarter of its
// time limit.
func TestMargin(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   time.Duration
	}{
		{"not known: all that is granted", func(*Job) {}, 20*time.Second + 2*time.Minute},
		{"its user grants more", func(js *Job) { js.Rec.Tag.Spec.Grace = 5 * time.Minute }, 20*time.Second + 5*time.Minute},
		{"of its moves", func(js *Job) { js.Rec.Price = elastic.Price{Measured: 1, Save: 10 * time.Second} }, 20*time.Second + 30*time.Second + moment},
		{"of such a save", func(js *Job) {
			js.Placing.took, js.Rec.Price = 4*time.Second, elastic.Price{Measured: 1, Save: 10 * time.Second}
		}, 20*time.Second + 12*time.Second + moment},
		{"a short limit", func(js *Job) { js.Shown.Slurm.TimeLimit = 4 * time.Minute }, time.Minute},
	} {
		st, js := ending()
		js.Shown.Slurm.TimeLimit = 0
		c.change(js)
		if got := st.Rules.margin(js); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestSavesAt: the next cycle is no later than the time at which a running job has to save.
func TestSavesAt(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   time.Time
	}{
		{"a quarter of its limit before", func(js *Job) { js.Shown.Slurm.TimeLeft, js.Shown.Slurm.TimeLimit = 10*time.Minute, 4*time.Minute }, noon.Add(9 * time.Minute)},
		{"it has no end", func(js *Job) { js.Shown.Slurm.TimeLeft = 0 }, time.Time{}},
		{"it waits", func(js *Job) { js.Shown.Slurm.State = slurm.Pending }, time.Time{}},
		{"Slurm did not show it", func(js *Job) { js.Shown.Seen = false }, time.Time{}},
		{"its user took the tag away", func(js *Job) { js.Shown.Disown = true }, time.Time{}},
	} {
		st, js := ending()
		c.change(js)
		if got := st.savesAt(js, noon); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		latest := noon.Add(time.Hour)
		want := latest
		if !c.want.IsZero() {
			want = c.want
		}
		if got := st.NextTry(noon, latest); !got.Equal(want) {
			t.Errorf("%s: the next look is at %v, want %v", c.name, got, want)
		}
	}
}

// TestLead: a job is asked to leave a node as long before maintenance as its move takes.
func TestLead(t *testing.T) {
	st, js := ending()
	js.Shown.Slurm.TimeLimit, js.Rec.Price.Drain = 4*time.Minute, 5*time.Second
	if got, want := st.Rules.lead(js), time.Minute+5*time.Second+time.Minute+settleBefore; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestOpenedToSave: a save or a park is opened once for the same end.
func TestOpenedToSave(t *testing.T) {
	for kind, want := range map[elastic.Kind]bool{elastic.Save: true, elastic.Park: true, elastic.Resize: false} {
		st, js := ending()
		if st.Opened(js, kind, noon); js.Placing.saving.Equal(noon) != want {
			t.Errorf("%s: %v", kind, js.Placing.saving)
		}
	}
}
