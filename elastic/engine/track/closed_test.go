package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestClosed: what the end of a move changes in its job.
func TestClosed(t *testing.T) {
	resized := elastic.Intent{Job: 7, Kind: elastic.Resize, Step: elastic.Released}
	asked := elastic.Intent{Job: 7, Kind: elastic.Resize, Step: elastic.Asked, Request: "r"}
	for _, c := range []struct {
		name   string
		next   resize.Next
		change func(*Job)
		check  func(*Job) bool
	}{
		{"a resize ends the rest after refusals", resize.Next{Intent: resized, Close: elastic.Done}, nil,
			func(js *Job) bool { return js.Placing.Refused.Start.Times == 0 && js.Rec.Moved.Equal(noon) }},
		{"one that fell back does not", resize.Next{Intent: elastic.Intent{Job: 7, Kind: elastic.Resize, Fallbacks: 1}, Close: elastic.Done}, nil,
			func(js *Job) bool { return js.Placing.Refused.Start.Times == 1 }},
		{"a start does not count as a move", resize.Next{Intent: elastic.Intent{Job: 7, Kind: elastic.Start}, Close: elastic.Done}, nil,
			func(js *Job) bool { return js.Rec.Moved.IsZero() }},
		{"nor does a save, and it tells how long one takes", resize.Next{Intent: elastic.Intent{Job: 7, Kind: elastic.Save, AskedAt: noon.Add(-time.Minute), SavedAt: noon}, Close: elastic.Done}, nil,
			func(js *Job) bool { return js.Rec.Moved.IsZero() && js.Placing.took == time.Minute }},
		{"what it cost is known, however it came to run", resize.Next{Intent: elastic.Intent{Job: 7, Kind: elastic.Resize, AskedAt: noon.Add(-9 * time.Second), SavedAt: noon.Add(-5 * time.Second), PendingAt: noon}, Close: elastic.Fellback}, nil,
			func(js *Job) bool { return js.Rec.Price.Save == 4*time.Second && js.Placing.Fell == 1 }},
		{"it was refused, and does not count twice", resize.Next{Intent: resized, Close: elastic.Fellback, Refused: true}, nil,
			func(js *Job) bool { return js.Placing.Fell == 0 }},
		{"one that was given up cost nothing that is known", resize.Next{Intent: elastic.Intent{Job: 7, Kind: elastic.Resize, AskedAt: noon.Add(-9 * time.Second), SavedAt: noon.Add(-5 * time.Second), PendingAt: noon}, Close: elastic.Abandoned}, nil,
			func(js *Job) bool { return js.Rec.Price.Save == 0 }},
		{"a save that was given up tells nothing", resize.Next{Intent: elastic.Intent{Job: 7, Kind: elastic.Save, AskedAt: noon.Add(-time.Minute), SavedAt: noon}, Close: elastic.Abandoned}, nil,
			func(js *Job) bool { return js.Placing.took == 0 }},
		{"a request without an answer counts", resize.Next{Intent: asked, Close: elastic.Abandoned}, nil,
			func(js *Job) bool { return js.Rec.Deaf == 1 }},
		{"not where its folder does not answer", resize.Next{Intent: asked, Close: elastic.Abandoned}, func(js *Job) { js.Mail.silent = noon.Add(-time.Minute) },
			func(js *Job) bool { return js.Rec.Deaf == 0 }},
		{"nor where it was answered", resize.Next{Intent: asked, Close: elastic.Abandoned},
			func(js *Job) { js.Mail.runner.word.Answer = &checkpoint.Answer{Request: "r", Checkpoint: "00000005"} },
			func(js *Job) bool { return js.Rec.Deaf == 0 }},
		{"an answer that it could not save counts", resize.Next{Intent: asked, Close: elastic.Abandoned},
			func(js *Job) { js.Mail.runner.word.Answer = &checkpoint.Answer{Request: "r", Error: "disk full"} },
			func(js *Job) bool { return js.Rec.Deaf == 1 }},
		{"nor where the user won", resize.Next{Intent: asked, Close: elastic.UserWon, Why: reason.TagRemoved}, nil,
			func(js *Job) bool { return js.Rec.Deaf == 0 && !js.Rec.Tag.Directive.Hold }},
		{"a park tells why it is waiting", resize.Next{Intent: elastic.Intent{Job: 7, Kind: elastic.Park, Cause: reason.UserAskedRequeue}, Close: elastic.Done}, nil,
			func(js *Job) bool { return js.Tells.parked == reason.Reason(reason.UserAskedRequeue) }},
	} {
		st, js := New(Rules{}, nil, func(event.Event) {}), killedJob()
		js.Shown.Slurm.State = slurm.Running
		st.Remember(js)
		js.Tells.Problem["move"] = "no"
		js.Placing.Refused.Start.Times = 1
		js.Runs.Seg = &journal.Segment{Restarts: 1}
		if c.change != nil {
			c.change(js)
		}
		st.Closed(c.next, noon)
		if !c.check(js) || !js.Dirty || js.Tells.Last == nil {
			t.Errorf("%s: %+v, %+v, %+v", c.name, js.Rec, js.Placing, js.Tells)
		}
		if _, told := js.Tells.Problem["move"]; told != (c.next.Close != elastic.Done) {
			t.Errorf("%s: the move's problem is shown: %v", c.name, told)
		}
	}
}

// TestThreeFallsAreARefusal: after three failed moves in a row the next one is delayed as after a
// refusal. Moves that failed because of the job's folder do not count.
func TestThreeFallsAreARefusal(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Job)
		refused bool
	}{
		{"held", func(js *Job) { js.Shown.Slurm.State, js.Shown.Slurm.Held = slurm.Pending, true }, true},
		{"it runs meanwhile", func(js *Job) { js.Shown.Slurm.State = slurm.Running }, false},
		{"its folder does not answer", func(js *Job) { js.Shown.Slurm.State, js.Mail.silent = slurm.Pending, noon }, false},
	} {
		st, js := New(Rules{}, nil, func(event.Event) {}), killedJob()
		c.change(js)
		st.Remember(js)
		for n := range mostFallen {
			if js.Placing.Refused.Start.Times > 0 {
				t.Errorf("%s: refused after %d", c.name, n)
			}
			st.Closed(resize.Next{Intent: elastic.Intent{Job: 7, Kind: elastic.Start}, Close: elastic.Fellback, Why: reason.NoMoveBehind}, noon)
		}
		if refused := js.Placing.Refused.Start.Times > 0; refused != c.refused {
			t.Errorf("%s: refused: %v", c.name, refused)
		}
	}
}
