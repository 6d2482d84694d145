package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestLostNodes: a node is kept from when it was last seen lost until Slurm sends it no kill request any
// more.
func TestLostNodes(t *testing.T) {
	for _, c := range []struct {
		states []string
		known  time.Duration // ago; 0 = not known
		lost   bool
		at     time.Duration // ago
	}{
		{[]string{"DOWN"}, 0, true, 0},
		{[]string{"IDLE", "NOT_RESPONDING"}, time.Minute, true, 0},
		{[]string{"DRAIN", "IDLE"}, 0, false, 0},
		{[]string{"IDLE"}, time.Minute, true, time.Minute},
		{[]string{"IDLE"}, owed, false, 0},
	} {
		l := lostNodes{}
		if c.known > 0 {
			l["g1"] = noon.Add(-c.known)
		}
		l.Note([]slurm.Node{{Name: "g1", States: c.states}}, noon)
		at, lost := l["g1"]
		if lost != c.lost || lost && !at.Equal(noon.Add(-c.at)) {
			t.Errorf("%v, lost %s ago: %v at %v", c.states, c.known, lost, at)
		}
	}
}

// TestDelayUnexplained: if a run ended without an exit status and sluice did not stop it, the next start
// of its job is delayed.
func TestDelayUnexplained(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job) Moves
		rests  bool
	}{
		{"without a word", func(*Job) Moves { return nil }, true},
		{"its move stopped it", func(*Job) Moves { return Moves{{Job: 7, RequeuedAt: noon}} }, false},
		{"its move has not stopped it yet", func(*Job) Moves { return Moves{{Job: 7}} }, true},
		{"another's move did", func(*Job) Moves { return Moves{{Job: 8, RequeuedAt: noon}} }, true},
		{"it said that it ended", func(js *Job) Moves { js.Mail.runner.word.State = checkpoint.Exited; return nil }, false},
		{"it never spoke", func(js *Job) Moves { js.Mail.runner.word.State = ""; return nil }, false},
		{"it spoke of another run", func(js *Job) Moves { js.Mail.runner.word.Restarts = 0; return nil }, false},
		{"it had ended before", func(js *Job) Moves { js.Runs.Seg.Ended = noon; return nil }, false},
		{"it never ran", func(js *Job) Moves { js.Runs.Seg = nil; return nil }, false},
	} {
		js := killedJob()
		js.Runs.Seg = &journal.Segment{Restarts: 1, Started: noon.Add(-time.Minute)}
		c.change(js).delayUnexplained(js, noon)
		if rests := js.Placing.rest.Equal(noon.Add(settling)); rests != c.rests {
			t.Errorf("%s: rests until %v", c.name, js.Placing.rest)
		}
	}
}

// TestReviving: a failed or cancelled job has not ended while an open move requeues it.
func TestReviving(t *testing.T) {
	for _, c := range []struct {
		name  string
		state slurm.State
		in    elastic.Intent
		spoke bool
		want  bool
	}{
		{"a revival", slurm.Failed, elastic.Intent{Job: 7, Kind: elastic.Revival, Step: elastic.Verified}, true, true},
		{"a revival, and it was cancelled", slurm.Cancelled, elastic.Intent{Job: 7, Kind: elastic.Revival, Step: elastic.Verified}, true, false},
		{"a clearing", slurm.Cancelled, elastic.Intent{Job: 7, Kind: elastic.Clearing, Step: elastic.Verified}, true, true},
		{"a clearing, and it completed", slurm.Completed, elastic.Intent{Job: 7, Kind: elastic.Clearing, Step: elastic.Verified}, true, false},
		{"another's revival", slurm.Failed, elastic.Intent{Job: 8, Kind: elastic.Revival, Step: elastic.Verified}, true, false},
		{"a resize that stopped this run", slurm.Failed, elastic.Intent{Job: 7, Kind: elastic.Resize, Step: elastic.Verified, RequeuedAt: noon, Restarts: 1}, true, true},
		{"a resize that stopped the run before", slurm.Failed, elastic.Intent{Job: 7, Kind: elastic.Resize, Step: elastic.Released, RequeuedAt: noon, Restarts: 0}, true, false},
		{"a resize that only asked", slurm.Failed, elastic.Intent{Job: 7, Kind: elastic.Resize, Step: elastic.Asked, Restarts: 1}, true, false},
		{"a run of a resize that never spoke", slurm.Failed, elastic.Intent{Job: 7, Kind: elastic.Resize, Step: elastic.Released, Restarts: 0}, false, true},
		{"a run after a fallback", slurm.Failed, elastic.Intent{Job: 7, Kind: elastic.Resize, Step: elastic.Released, Fallbacks: 1}, true, true},
	} {
		js := killedJob()
		js.Shown.Slurm.State, js.Mail.runner.ok = c.state, c.spoke
		if got := (Moves{c.in}).reviving(js); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestLostBeforeAnOutage: what slurmctld owes to a lost node and to the job that ran there counts from the
// end of an outage, and only what it still owed when it was last seen.
func TestLostBeforeAnOutage(t *testing.T) {
	for _, c := range []struct {
		name     string
		outage   func(*State)
		rest     time.Duration // the job rests until then, from the last look
		requeues bool
		rests    bool
	}{
		{"slurmctld was away", func(st *State) { st.NoteBlind() }, -time.Minute, true, true},
		{"its answer came late", func(st *State) { st.NoteAway(noon.Add(-10*time.Minute), noon) }, -time.Minute, true, true},
		{"the job was lost long before", func(st *State) { st.NoteBlind() }, settling - owed, true, false},
		{"there was no outage", func(*State) {}, -time.Minute, false, false},
	} {
		st, js := New(Rules{}, nil, nil), killedJob()
		st.Remember(js)
		st.Last.Now = noon.Add(-10 * time.Minute)
		st.Lost["g1"] = st.Last.Now.Add(-time.Minute)
		js.Placing.rest = st.Last.Now.Add(c.rest)
		c.outage(st)
		EndOutage(st, noon)
		st.Lost.Note([]slurm.Node{{Name: "g1", States: []string{"IDLE"}}}, noon)
		if rests := js.Placing.rest.After(noon); rests != c.rests {
			t.Errorf("%s: rests until %v", c.name, js.Placing.rest)
		}
		js.Placing.rest = time.Time{}
		if got := st.mayRequeue(js, noon.Add(time.Minute)); got != c.requeues {
			t.Errorf("%s: requeued: %v", c.name, got)
		}
		EndOutage(st, noon.Add(time.Hour)) // an outage is over once
		if at, ok := st.Lost["g1"]; ok && !at.Equal(noon) {
			t.Errorf("%s: lost at %v", c.name, at)
		}
	}
}
