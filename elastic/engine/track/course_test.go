package track

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestCourse: the GPU-seconds at the declared total are interpolated, whatever the job reports beyond
// it. A total that is raised while the job runs does not replace the first one.
func TestCourse(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	js := &Job{Runs: runs{counted: true}, Shown: shown{Slurm: slurm.Job{State: slurm.Running}}}
	js.Rec.FirstRun, js.Rec.Tag.Spec.Total = begin, 10
	js.Runs.Seg = &journal.Segment{Place: nodes.Placement{{Node: "a", GPUs: 2}}, Started: begin}
	at := func(minutes, done float64) course {
		js.Rec.Done, js.Runs.Seg.DoneTo = done, done
		js.foldCourse(begin.Add(time.Duration(minutes * float64(time.Minute))))
		return js.Runs.course
	}
	if c := at(5, 5); c.first != 0 || c.reached != 0 {
		t.Errorf("half way: %+v", c)
	}
	if c := at(10, 10); c.first != 1200 || c.reached != 1200 {
		t.Errorf("at its end: %+v, want 2 GPUs for 600 s", c)
	}
	if c := at(15, 10); c.reached != 1200 {
		t.Errorf("it reports no progress: %+v", c)
	}
	js.Rec.Tag.Spec.Total = 20
	if c := at(16, 16); c.first != 1200 || c.reached != 0 {
		t.Errorf("its total was raised: %+v, want the first end kept", c)
	}
	if c := at(20, 20); c.first != 1200 || c.reached != 2400 {
		t.Errorf("at its second end: %+v", c)
	}
	js.Rec.State = string(slurm.Cancelled)
	if js.noteLength(begin.Add(20 * time.Minute)); js.Rec.Ending.Declared != 1200 || js.Rec.Ending.Had != 2400 {
		t.Errorf("it took %+v, want twice what it declared at first", js.Rec.Ending)
	}
}

// TestCourseOfTrials: the job of a sweep runs trial after trial. The second does not train past a declared
// end, and says nothing of how long its user's jobs are.
func TestCourseOfTrials(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	old := journal.Segment{Place: nodes.Placement{{Node: "a", GPUs: 2}}, Started: begin, Ended: begin.Add(10 * time.Minute), DoneTo: 10}
	for _, history := range []observe.History{{}, {Segments: []journal.Segment{old}}} {
		js := &Job{Shown: shown{Slurm: slurm.Job{State: slurm.Running}}}
		js.Rec.FirstRun, js.Rec.Tag.Spec.Total, js.Rec.Tag.Spec.Sweep = begin, 10, "s"
		js.recount(history)
		js.Runs.Seg = &journal.Segment{Place: old.Place, Started: begin}
		for minutes, done := range []float64{0, 5, 10, 1, 5, 10} {
			js.Rec.Done, js.Runs.Seg.DoneTo = done, done
			js.foldCourse(begin.Add(time.Duration(minutes) * time.Minute))
		}
		js.Shown.Slurm.State = slurm.Completed
		js.noteLength(begin.Add(20 * time.Minute))
		if js.Runs.course != (course{}) || js.Rec.Ending.Declared != 0 || js.Rec.Ending.Had != 0 {
			t.Errorf("%+v, %+v", js.Runs.course, js.Rec.Ending)
		}
	}
}

// TestCourseOfEarlierRuns: a restarted daemon finds when the total was reached in past runs, also in
// the middle of one.
func TestCourseOfEarlierRuns(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	seg := journal.Segment{Place: nodes.Placement{{Node: "a", GPUs: 2}}, Started: begin, Ended: begin.Add(10 * time.Minute), DoneFrom: 5, DoneTo: 15}
	if c := passedBefore(500, seg, seg.Held(time.Time{}), 10); math.Abs(c.reached-1100) > 1e-9 || c.first != c.reached {
		t.Errorf("%+v, want 500 GPU-seconds and half of 1200", c)
	}
	js := &Job{Runs: runs{counted: true, Seg: &seg, had: 500}}
	if at := js.Runs.passed(10, begin.Add(10*time.Minute)); math.Abs(at-1100) > 1e-9 {
		t.Errorf("in the present run: %v, want 1100", at)
	}
}
