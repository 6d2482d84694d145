package usage

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// at is a time this many minutes after noon.
func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

// run is a run from one minute to another on GPUs of one node; to < 0: its end was not seen.
func run(from, to float64, gpus int) journal.Segment {
	g := journal.Segment{Started: at(from), Place: nodes.Placement{{Node: "n", GPUs: gpus}}, Cause: reason.UserAskedRequeue}
	if to >= 0 {
		g.Ended = at(to)
	}
	return g
}

// job is a job that was submitted at noon, ran first at the minute and ended at another, if these
// are not negative, with a minimum of 2 GPUs.
func job(first, ended float64) journal.JobRecord {
	j := journal.JobRecord{Life: journal.Life{Submitted: noon, State: "RUNNING"}, Tag: elastic.Tag{Spec: elastic.Spec{Min: 2}}}
	if first >= 0 {
		j.FirstRun = at(first)
	}
	if ended >= 0 {
		j.Ended, j.State = at(ended), "COMPLETED"
	}
	return j
}

// TestGPUSeconds: GPUs times the time held, cut at the ends of the range.
func TestGPUSeconds(t *testing.T) {
	hour := Range{at(60), at(120)}
	for _, c := range []struct {
		name         string
		job          journal.JobRecord
		runs         []journal.Segment
		want, beyond float64 // GPU-minutes
	}{
		{"waits", job(-1, -1), nil, 0, 0},
		{"within", job(70, 80), []journal.Segment{run(70, 80, 4)}, 40, 20},
		{"over the whole of it", job(0, 200), []journal.Segment{run(0, 200, 3)}, 180, 60},
		{"ended before", job(0, 60), []journal.Segment{run(0, 60, 3)}, 0, 0},
		{"began after", job(120, -1), []journal.Segment{run(120, -1, 3)}, 0, 0},
		{"goes on", job(110, -1), []journal.Segment{run(110, -1, 1)}, 10, 0},
		{"resized", job(60, -1), []journal.Segment{run(60, 70, 2), run(71, -1, 8)}, 20 + 49*8, 49 * 6},
		{"an end was not seen", job(60, -1), []journal.Segment{run(60, -1, 2), run(70, 80, 2)}, 40, 0},
		{"an end was seen late", job(60, -1), []journal.Segment{run(60, 75, 2), run(70, 80, 2)}, 40, 0},
		{"the last end was not seen", job(60, 90), []journal.Segment{run(60, -1, 2)}, 60, 0},
		{"a clock that was set back", job(100, 90), []journal.Segment{run(100, 90, 2)}, 0, 0},
	} {
		got := Of(c.job, c.runs, hour)
		if got.GPUSeconds != 60*c.want || got.Beyond != 60*c.beyond {
			t.Errorf("%s: %v GPU-minutes, %v beyond the minimum, want %v and %v", c.name, got.GPUSeconds/60, got.Beyond/60, c.want, c.beyond)
		}
	}
}

// TestStates: a job of the range is ended in it, or has GPUs at its end, or waits then.
func TestStates(t *testing.T) {
	hour := Range{at(60), at(120)}
	for _, c := range []struct {
		name                    string
		job                     journal.JobRecord
		runs                    []journal.Segment
		ended, running, waiting int
	}{
		{"waits", job(-1, -1), nil, 0, 0, 1},
		{"cancelled while it waited", job(-1, 70), nil, 1, 0, 0},
		{"ended at the beginning", job(0, 60), []journal.Segment{run(0, 60, 1)}, 1, 0, 0},
		{"ended at the end", job(0, 120), []journal.Segment{run(0, 120, 1)}, 0, 1, 0},
		{"ended before", job(0, 59), []journal.Segment{run(0, 59, 1)}, 0, 0, 0},
		{"runs", job(0, -1), []journal.Segment{run(0, -1, 1)}, 0, 1, 0},
		{"is between two runs", job(0, -1), []journal.Segment{run(0, 110, 1)}, 0, 0, 1},
		{"ran on after the end", job(0, 300), []journal.Segment{run(0, 90, 1), run(100, 300, 1)}, 0, 1, 0},
		{"started after the end", job(130, 300), []journal.Segment{run(130, 300, 1)}, 0, 0, 1},
		{"submitted at the end", func() journal.JobRecord { j := job(-1, -1); j.Submitted = at(120); return j }(), nil, 0, 0, 0},
	} {
		got := Of(c.job, c.runs, hour)
		if got.Ended != c.ended || got.Running != c.running || got.Waiting != c.waiting {
			t.Errorf("%s: ended %d, running %d, waiting %d", c.name, got.Ended, got.Running, got.Waiting)
		}
	}
}

// TestMoves: a move costs what 'sluice history' shows of the run that it led to.
func TestMoves(t *testing.T) {
	before, after := run(60, 80, 2), run(81, 120, 4)
	after.Price = elastic.Price{Save: 10 * time.Second, Drain: 2 * time.Second, Start: 5 * time.Second, Load: 20 * time.Second}
	before.DoneTo, before.Seconds = 3, 30
	with := func(change func(b, a *journal.Segment)) []journal.Segment {
		b, a := before, after
		change(&b, &a)
		return []journal.Segment{b, a}
	}
	hour := Range{at(60), at(120)}
	for _, c := range []struct {
		name       string
		runs       []journal.Segment
		in         Range
		moves      int
		dead, lost float64 // GPU-seconds, seconds
	}{
		{"only the first run", []journal.Segment{after}, hour, 0, 0, 0},
		{"nothing repeated", with(func(_, a *journal.Segment) { a.DoneFrom = 3 }), hour, 1, 12*2 + 25*4, 37},
		{"half a unit repeated", with(func(_, a *journal.Segment) { a.DoneFrom = 2.5 }), hour, 1, 124, 37 + 15},
		{"more than the run repeated", with(func(b, a *journal.Segment) { b.Seconds = 1e9 }), hour, 1, 124, 37 + 20*60},
		{"no speed", with(func(b, _ *journal.Segment) { b.Seconds = math.NaN() }), hour, 1, 124, 37},
		{"its cost was not measured", with(func(_, a *journal.Segment) { a.Price, a.DoneFrom = elastic.Price{}, 3 }), hour, 1, 0, 0},
		{"began in the next range", with(func(_, _ *journal.Segment) {}), Range{at(0), at(81)}, 0, 0, 0},
		{"began at the beginning", with(func(_, a *journal.Segment) { a.DoneFrom = 3 }), Range{at(81), at(120)}, 1, 124, 37},
		{"requeued by its user", with(func(_, a *journal.Segment) { a.Cause = reason.RequeuedOutside }), hour, 0, 0, 0},
		{"started by Slurm", with(func(_, a *journal.Segment) { a.Cause = reason.StartedBySlurm }), hour, 0, 0, 0},
		{"after a lost node", with(func(_, a *journal.Segment) { a.Cause = reason.OutsideSluice{Because: reason.UserAskedRequeue} }), hour, 0, 0, 0},
		{"cause of an older release", with(func(_, a *journal.Segment) { a.Cause, a.DoneFrom = nil, 3 }), hour, 1, 124, 37},
	} {
		got := Of(job(60, -1), c.runs, c.in)
		if got.Moves != c.moves || got.Dead != c.dead || math.Abs(got.Lost-c.lost) > 1e-9 {
			t.Errorf("%s: %d moves, %v GPU-seconds dead, %v s lost, want %d, %v, %v", c.name, got.Moves, got.Dead, got.Lost, c.moves, c.dead, c.lost)
		}
	}
}

// TestDeadlines: an admitted deadline counts once, when it is met or missed.
func TestDeadlines(t *testing.T) {
	hour := Range{at(60), at(120)}
	due := func(minutes float64, j journal.JobRecord, change ...func(*journal.JobRecord)) journal.JobRecord {
		j.Promised, j.Tag.Spec.Deadline = true, at(minutes)
		for _, c := range change {
			c(&j)
		}
		return j
	}
	state := func(word string) func(*journal.JobRecord) { return func(j *journal.JobRecord) { j.State = word } }
	for _, c := range []struct {
		name           string
		job            journal.JobRecord
		promised, kept int
	}{
		{"no deadline", job(0, 70), 0, 0},
		{"met", due(90, job(0, 70)), 1, 1},
		{"met to the second", due(90, job(0, 90)), 1, 1},
		{"met, and due later than the range", due(500, job(0, 70)), 1, 1},
		{"met before the range", due(90, job(0, 50)), 0, 0},
		{"missed", due(90, job(0, 100)), 1, 0},
		{"missed, and it runs on", due(90, job(0, -1)), 1, 0},
		{"missed before the range", due(50, job(0, 70)), 0, 0},
		{"not due yet", due(130, job(0, -1)), 0, 0},
		{"not admitted", due(90, job(0, 70), func(j *journal.JobRecord) { j.Promised = false }), 0, 0},
		{"cancelled in time", due(90, job(0, 70), state("CANCELLED")), 0, 0},
		{"failed in time", due(90, job(0, 70), state("FAILED")), 0, 0},
		{"cancelled too late", due(90, job(0, 100), state("CANCELLED")), 1, 0},
	} {
		if got := Of(c.job, nil, hour); got.Promised != c.promised || got.Kept != c.kept {
			t.Errorf("%s: %d of %d kept", c.name, got.Kept, got.Promised)
		}
	}
}
