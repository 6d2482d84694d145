package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestHadRun: a run that began and ended between two looks has a history row; one that is on record, or
// that had no nodes, does not get another.
func TestHadRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
		rows   int // of the journal
		had    float64
	}{
		{"no run was seen", func(js *Job) { js.Rec.FirstRun = time.Time{} }, 1, 0},
		{"the run before was seen", func(js *Job) { js.Runs.Seg = new(run(0, -10, -1)) }, 2, 2 * 9 * 60},
		{"it is on record", func(js *Job) { js.Runs.Seg = new(run(1, -1, -1)) }, 0, 0},
		{"a later one is on record", func(js *Job) { js.Runs.Seg = new(run(2, -1, -1)) }, 0, 0},
		{"it has not ended", func(js *Job) { js.Shown.Slurm.State = slurm.Running }, 0, 0},
		{"it did not start", func(js *Job) { js.Shown.Slurm.Start = time.Time{} }, 0, 0},
		{"it had no nodes", func(js *Job) { js.Shown.Slurm.Nodes = nil }, 0, 0},
	} {
		js := killedJob()
		c.change(js)
		was := js.Runs.Seg
		if was != nil {
			js.Runs.segNew = c.rows > 0
		}
		(Moves)(nil).hadRun(js, noon)
		rows := len(js.Runs.past)
		if js.Runs.segNew {
			rows++
		}
		if rows != c.rows || js.Runs.had != c.had {
			t.Errorf("%s: %d rows, %g GPU-seconds before, want %d and %g", c.name, rows, js.Runs.had, c.rows, c.had)
		}
		if c.rows == 0 {
			continue
		}
		if seg := js.Runs.Seg; seg == was || seg.Restarts != 1 || !seg.Started.Equal(noon.Add(-time.Minute)) || seg.Place.GPUs() != 2 || js.Rec.FirstRun.IsZero() || !js.Dirty {
			t.Errorf("%s: %+v", c.name, seg)
		}
	}
}

// TestPlaceOfEnded: the last run was where its open move put it, if the nodes agree; otherwise its GPUs
// are taken to be spread evenly.
func TestPlaceOfEnded(t *testing.T) {
	uneven := nodes.Placement{{Node: "g1", GPUs: 1}, {Node: "g2", GPUs: 4}}
	move := elastic.Intent{Job: 7, Step: elastic.Written, Target: uneven}
	early, other, elsewhere, wider := move, move, move, move
	early.Step, other.Job = elastic.Requeued, 8
	elsewhere.Target = nodes.Placement{{Node: "g1", GPUs: 1}, {Node: "g3", GPUs: 4}}
	wider.Target = append(nodes.Placement{{Node: "g3", GPUs: 1}}, uneven...)
	for _, c := range []struct {
		name string
		open Moves
		gpus int
		want string
	}{
		{"its move", Moves{other, move}, 5, "g1:1+g2:4"},
		{"its move has not written the target", Moves{early}, 5, "g1:3+g2:2"},
		{"another job's move", Moves{other}, 5, "g1:3+g2:2"},
		{"its move has other nodes", Moves{elsewhere}, 5, "g1:3+g2:2"},
		{"its move has more nodes", Moves{wider}, 5, "g1:3+g2:2"},
		{"no move", nil, 4, "g1:2+g2:2"},
	} {
		js := killedJob()
		js.Shown.Slurm.Nodes, js.Shown.Slurm.GPUs = []string{"g1", "g2"}, c.gpus
		if got := c.open.placeOfEnded(js).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestEndTimes: a job and its run ended when Slurm says so, if that lies within what is known.
func TestEndTimes(t *testing.T) {
	hour := noon.Add(-time.Hour)
	for _, c := range []struct {
		name     string
		state    slurm.State
		end      time.Time
		job, run time.Time
	}{
		{"between", slurm.Failed, noon.Add(-time.Second), noon.Add(-time.Second), noon.Add(-time.Second)},
		{"Slurm gives none", slurm.Failed, time.Time{}, noon, noon},
		{"Slurm's clock is ahead", slurm.Failed, noon.Add(1), noon, noon},
		{"at the start of the run", slurm.Failed, hour, hour, hour},
		{"before the run", slurm.Failed, hour.Add(-1), hour.Add(-1), noon},
		{"when it was submitted", slurm.Failed, hour.Add(-time.Hour), noon, noon},
		{"it runs: this is when its limit ends it", slurm.Running, noon.Add(-time.Second), noon, noon},
	} {
		js := killedJob()
		js.Rec.Submitted, js.Runs.Seg = hour.Add(-time.Hour), &journal.Segment{Started: hour}
		js.Shown.Slurm.State, js.Shown.Slurm.End = c.state, c.end
		if job, run := js.endedAt(noon), js.endOfRun(noon); !job.Equal(c.job) || !run.Equal(c.run) {
			t.Errorf("%s: the job ended at %v, its run at %v, want %v and %v", c.name, job, run, c.job, c.run)
		}
	}
	if got := killedJob().endOfRun(noon); !got.Equal(noon) {
		t.Errorf("without a run: %v", got)
	}
}

// TestNoteLength: how long a job was is known if it completed or reached its total.
func TestNoteLength(t *testing.T) {
	for _, c := range []struct {
		name          string
		change        func(*Job)
		declared, had float64
	}{
		{"it completed", func(*Job) {}, 1200, 1200},
		{"it failed", func(js *Job) { js.Shown.Slurm.State = slurm.Failed }, 0, 0},
		{"it failed beyond its total", func(js *Job) { js.Shown.Slurm.State, js.Runs.course.first = slurm.Failed, 900 }, 900, 1200},
		{"its total is later than its end", func(js *Job) { js.Runs.course.first = 1300 }, 1200, 1200},
		{"it declared none", func(js *Job) { js.Rec.Tag.Spec.Total = 0 }, 0, 0},
		{"its earlier runs are not known", func(js *Job) { js.Runs.counted = false }, 0, 0},
		{"it used nothing", func(js *Job) { js.Runs.Seg = nil }, 0, 0},
	} {
		js := killedJob()
		js.Rec.Tag.Spec.Total, js.Shown.Slurm.State = 10, slurm.Completed
		js.Runs = runs{counted: true, Seg: new(run(1, 0, 10))}
		c.change(js)
		js.noteLength(noon.Add(time.Hour))
		if e := js.Rec.Ending; e.Declared != c.declared || e.Had != c.had {
			t.Errorf("%s: %g of %g GPU-seconds, want %g of %g", c.name, e.Declared, e.Had, c.declared, c.had)
		}
	}
}

// TestFoldLoad: the time from the start of the script to the first line of the program is measured once
// for each run.
func TestFoldLoad(t *testing.T) {
	for _, c := range []struct {
		name   string
		line   float64 // seconds after the first line of the script
		change func(*Job)
		want   time.Duration
		known  time.Duration
	}{
		{"the first line", 6, func(*Job) {}, 6 * time.Second, 6 * time.Second},
		{"a later run", 6, func(js *Job) { js.Rec.Price = elastic.Price{Measured: 1, Load: 10 * time.Second} }, 6 * time.Second, 8 * time.Second},
		{"measured in this run", 6, func(js *Job) { js.Runs.Seg.Price.Load = time.Second }, time.Second, 0},
		{"before the script", -1, func(*Job) {}, 0, 0},
		{"an hour later", 3600, func(*Job) {}, time.Hour, time.Hour},
		{"more than that", 3601, func(*Job) {}, 0, 0},
		{"of another run", 6, func(js *Job) { js.Runs.Seg.Restarts = 0 }, 0, 0},
		{"the status is of another run", 6, func(js *Job) { js.Mail.runner.ok = false }, 0, 0},
		{"the start is not known", 6, func(js *Job) { js.Mail.runner.word.FirstLine = time.Time{} }, 0, 0},
	} {
		js := killedJob()
		js.Mail.runner.word.FirstLine, js.Runs.Seg = noon, new(run(1, 0, -1))
		c.change(js)
		js.foldLoad(checkpoint.Progress{Restarts: 1, Time: float64(noon.Unix()) + c.line})
		if got := js.Runs.Seg.Price.Load; (got-c.want).Abs() > time.Microsecond || (js.Rec.Price.Load-c.known).Abs() > time.Microsecond {
			t.Errorf("%s: %s, and of the job %s, want %s and %s", c.name, got, js.Rec.Price.Load, c.want, c.known)
		}
	}
}

// TestPlaceOf: a speed counts for a placement if the line is of its run and reports its GPUs.
func TestPlaceOf(t *testing.T) {
	for _, c := range []struct {
		name string
		line checkpoint.Progress
		seg  *journal.Segment
		want bool
	}{
		{"the present run", checkpoint.Progress{Restarts: 1, GPUs: 2}, new(run(1, 0, -1)), true},
		{"a run without a row yet", checkpoint.Progress{Restarts: 1, GPUs: 2}, new(run(0, 0, -1)), true},
		{"without any row", checkpoint.Progress{Restarts: 1, GPUs: 2}, nil, true},
		{"the run before", checkpoint.Progress{Restarts: 0, GPUs: 2}, new(run(1, 0, -1)), false},
		{"other GPUs", checkpoint.Progress{Restarts: 1, GPUs: 4}, new(run(1, 0, -1)), false},
		{"no GPUs", checkpoint.Progress{Restarts: 1}, &journal.Segment{Restarts: 1}, false},
	} {
		js := killedJob()
		js.Runs.Seg = c.seg
		if _, ok := js.placeOf(c.line); ok != c.want {
			t.Errorf("%s: %v", c.name, ok)
		}
	}
}
