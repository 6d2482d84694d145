package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
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

// scattered is job id, running on two nodes at a placement that has not been queried.
func scattered(id elastic.JobID, at time.Time) *Job {
	js := &Job{Shown: shown{Seen: true}}
	js.Rec.ID, js.Rec.Token, js.Rec.Restarts = id, fmt.Sprint("t", id), -1
	js.Shown.Slurm = slurm.Job{ID: slurm.JobID(id), State: slurm.Running, Start: at, Nodes: []string{"g1", "g2"}, GPUs: 3}
	return js
}

// TestManyUnknownPlacements: at most MaxLookups placements are queried in a cycle. The jobs after them
// are noted all the same: one on a single node needs no query, and the move of one on several nodes
// is not judged by the placement of its last run.
func TestManyUnknownPlacements(t *testing.T) {
	st := New(Rules{Limits: elastic.Limits{Confirm: time.Minute}}, nil, func(event.Event) {})
	const last = MaxLookups + 3
	for id := range elastic.JobID(last) {
		st.Remember(scattered(id+1, noon))
	}
	one := st.ByID[last-1]
	one.Shown.Slurm.Nodes = []string{"g3"}
	if asked := st.Placeless(noon); len(asked) != MaxLookups || asked[0].Rec.ID != 1 {
		t.Errorf("%d placements are queried, want %d", len(asked), MaxLookups)
	}
	if want := (nodes.Placement{{Node: "g3", GPUs: 3}}); !one.placeKnown() || !one.Rec.Place.Equal(want) {
		t.Errorf("the job on one node is at %v, want %v", one.Rec.Place, want)
	}
	moved := elastic.Intent{Job: last, Kind: elastic.Resize, Step: elastic.Released}
	for after, waits := range map[time.Duration]bool{0: true, time.Minute - 1: true, time.Minute: false} {
		if got := st.Unread(moved, noon.Add(after)); got != waits {
			t.Errorf("%s after it was first seen the move of the last job waits for its placement: %v, want %v", after, got, waits)
		}
	}
}

// TestManyUnansweredPlacements: placements whose query has no answer do not keep the others from being
// queried.
func TestManyUnansweredPlacements(t *testing.T) {
	st := New(Rules{}, nil, func(event.Event) {})
	for id := range elastic.JobID(MaxLookups + 1) {
		st.Remember(scattered(id+1, noon))
	}
	asked := map[elastic.JobID]int{}
	for cycle := range 4 {
		jobs := st.Placeless(noon.Add(time.Duration(cycle) * time.Second))
		for _, js := range jobs {
			asked[js.Rec.ID]++
		}
		HeardSplits(jobs, nil)
	}
	for id := range elastic.JobID(MaxLookups + 1) {
		if asked[id+1] < 2 {
			t.Errorf("job %d is queried %d times in 4 cycles", id+1, asked[id+1])
		}
	}
}
