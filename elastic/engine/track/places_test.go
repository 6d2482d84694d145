package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestPlaceIsOfTheRunThatSlurmShows: the recorded placement is that of the present run only if restart
// count, start, nodes and GPUs all agree.
func TestPlaceIsOfTheRunThatSlurmShows(t *testing.T) {
	start := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		change func(*slurm.Job)
		want   bool
	}{
		{"the same run", func(*slurm.Job) {}, true},
		{"a later restart count", func(sj *slurm.Job) { sj.Restarts++ }, false},
		{"the same count, given to a later run", func(sj *slurm.Job) { sj.Start = start.Add(time.Minute) }, false},
		{"other nodes", func(sj *slurm.Job) { sj.Nodes = []string{"g3"} }, false},
		{"another number of GPUs", func(sj *slurm.Job) { sj.GPUs = 4 }, false},
	} {
		js := &Job{Rec: journal.JobRecord{LastRun: journal.LastRun{Restarts: 1, Place: nodes.Placement{{Node: "g1", GPUs: 2}, {Node: "g2", GPUs: 1}}}}}
		js.Shown.placed = start
		js.Shown.Slurm = slurm.Job{ID: 5, State: slurm.Running, Restarts: 1, Start: start, Nodes: []string{"g1", "g2"}, GPUs: 3}
		c.change(&js.Shown.Slurm)
		if is := js.placeKnown(); is != c.want {
			t.Errorf("%s: place known: %t, want %t", c.name, is, c.want)
		}
	}
}

// TestPlaceIsAskedAgainAfterAnOutage: the time for which a placement may stay unknown starts again after
// an outage, since slurmctld could not be queried meanwhile. A move of the job does not end
// before that.
func TestPlaceIsAskedAgainAfterAnOutage(t *testing.T) {
	e, _, now := crowded()
	e.Rules.Limits.Confirm = time.Minute
	js := e.ByID[6]
	js.Shown.Slurm.Restarts++ // a run whose place has not been read
	js.Shown.placeless = now.Add(-10 * time.Minute)
	in := elastic.Intent{Job: 6, Kind: elastic.Resize, Step: elastic.Released}
	if e.Unread(in, now) {
		t.Fatal("without an outage the place is waited for without end")
	}
	e.SeenAgain(now)
	if !e.Unread(in, now) {
		t.Error("right after the outage the place of the run before counts as this run's")
	}
	if e.Unread(in, now.Add(e.Rules.Limits.Confirm)) {
		t.Error("after Confirm the place is still waited for")
	}
}
