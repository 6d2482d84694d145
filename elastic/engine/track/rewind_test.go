package track

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// setTimes sets every time that v contains, also in fields that are not exported.
func setTimes(v reflect.Value, to time.Time) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		*(*time.Time)(v.Addr().UnsafePointer()) = to
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			setTimes(v.Field(i), to)
		}
	}
}

// timesAfter returns the names of the times that v contains after at.
func timesAfter(v reflect.Value, at time.Time, name string) (out []string) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		if (*(*time.Time)(v.Addr().UnsafePointer())).After(at) {
			out = append(out, strings.TrimPrefix(name, "."))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			out = append(out, timesAfter(v.Field(i), at, name+"."+v.Type().Field(i).Name)...)
		}
	}
	return out
}

// staysAhead are the times of a job that Rewind leaves as they are.
var staysAhead = []string{
	// What Slurm, the job's user or its runner gave. Slurm and runners are read again in each cycle.
	"Shown.Slurm.Submit", "Shown.Slurm.Start", "Shown.Slurm.End", "Shown.Slurm.Eligible", "Shown.Slurm.Deadline", "Shown.doubt.other", "Shown.placed",
	"Rec.Tag.Spec.Deadline", "Rec.Tag.Begin", "Shown.commented.Spec.Deadline", "Shown.commented.Begin", "Mail.runner", "Mail.begun", "Mail.freed", "Mail.quiet.run", "Mail.quiet.beat",
	// What is compared with times of the same kind only, or shown to people.
	"Rec.Life.Submitted", "Rec.Life.FirstRun", "Mail.folder.unread", "Placing.Refused.Start.First", "Placing.Refused.Resize.First", "Placing.Refused.Obstacle.First",
	// Of the last decision; each cycle makes it anew.
	"Placing.blocked", "Tells.Said",
	// Evidence about speeds: a witness notices by itself that the clock was set back.
	"Learnt.witness",
}

// TestRewindReachesEveryTime: after the clock was set back by years no time that a job remembers stays
// ahead for longer than its own wait, apart from the times that do not delay anything.
func TestRewindReachesEveryTime(t *testing.T) {
	st := New(Rules{}, nil, nil)
	js := killedJob()
	setTimes(reflect.ValueOf(js).Elem(), noon.AddDate(10, 0, 0))
	st.Remember(js)
	setTimes(reflect.ValueOf(&st.Moments).Elem(), noon.AddDate(10, 0, 0))
	st.Open = Moves{{Job: 7}}
	setTimes(reflect.ValueOf(&st.Open[0]).Elem(), noon.AddDate(10, 0, 0))
	st.Rewind(noon)
	latest := noon.Add(shortMost)
	for _, name := range timesAfter(reflect.ValueOf(js).Elem(), latest, "") {
		if !slices.ContainsFunc(staysAhead, func(known string) bool { return name == known || strings.HasPrefix(name, known+".") }) {
			t.Errorf("%s of a job stays ahead", name)
		}
	}
	for _, name := range timesAfter(reflect.ValueOf(&st.Moments).Elem(), latest, "") {
		if name != "ahead" { // by which the begin times of jobs are judged
			t.Errorf("%s of the moments stays ahead", name)
		}
	}
	if late := timesAfter(reflect.ValueOf(&st.Open[0]).Elem(), noon, ""); len(late) > 0 {
		t.Errorf("%v of a move stay ahead", late)
	}
}

// TestReadAgainAfterTheClockWasSetBack: a file that became shorter while the clock was ahead is read after
// its pause, and a run that was reported as over is not awaited for years.
func TestReadAgainAfterTheClockWasSetBack(t *testing.T) {
	st := New(Rules{Listen: true}, nil, nil)
	js := killedJob()
	ahead := noon.AddDate(10, 0, 0)
	js.Shown.Slurm.State, js.Mail.runner.word.State, js.Mail.runner.word.Beat = slurm.Running, checkpoint.Exited, noon
	js.Mail.shortened, js.Mail.Exited = shortened{times: 1, next: ahead.Add(shortPause)}, exited{Of: 2, seen: ahead}
	st.Remember(js)
	st.Rewind(noon)
	if jobs, _ := Readings([]*Job{js}, noon.Add(shortMost)); len(jobs) != 1 {
		t.Errorf("its progress is not read before %v", js.Mail.shortened.next)
	}
	if !st.Ending(noon.Add(exitLook - 1)) {
		t.Error("its end is not awaited")
	}
	if st.Ending(noon.Add(exitLook)) {
		t.Error("its end is awaited for longer than exitLook")
	}
}

// TestRewindKeepsWhatIsPast: times that are not ahead stay as they are, and records that did not change
// are not written.
func TestRewindKeepsWhatIsPast(t *testing.T) {
	st := New(Rules{}, nil, nil)
	js := killedJob()
	setTimes(reflect.ValueOf(js).Elem(), noon)
	st.Remember(js)
	st.Open, st.Lost["g1"] = Moves{{Job: 7, RequeuedAt: noon}}, noon
	before := *js
	st.Rewind(noon)
	if !reflect.DeepEqual(before, *js) {
		t.Errorf("%+v, want %+v", *js, before)
	}
	if want := (elastic.Intent{Job: 7, RequeuedAt: noon}); !reflect.DeepEqual(st.Open[0], want) || !st.Lost["g1"].Equal(noon) {
		t.Errorf("%+v, lost %v", st.Open, st.Lost)
	}
}
