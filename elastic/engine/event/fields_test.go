package event_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/nodes"
)

var place = nodes.Placement{{Node: "gpu1", GPUs: 4}, {Node: "gpu2", GPUs: 2}}

// TestOfAct: every action has the name that EVENTS.md promises, and a write its target.
func TestOfAct(t *testing.T) {
	var kind event.Kind
	for _, k := range event.Kinds {
		if k.Name == "act" {
			kind = k
		}
	}
	for _, c := range []struct {
		action elastic.Action
		want   event.Fields
	}{
		{elastic.AskCheckpoint{Job: 7, To: 3}, event.Fields{Act: "ask"}},
		{elastic.WithdrawRequest{Job: 7}, event.Fields{Act: "withdraw"}},
		{elastic.Requeue{Job: 7}, event.Fields{Act: "requeue"}},
		{elastic.RequeueFailed{Job: 7}, event.Fields{Act: "revive"}},
		{elastic.RequeueLingering{Job: 7}, event.Fields{Act: "clear"}},
		{elastic.Defer{Job: 7}, event.Fields{Act: "defer"}},
		{elastic.LetStart{Job: 7}, event.Fields{Act: "start"}},
		{elastic.Hold{Job: 7}, event.Fields{Act: "hold"}},
		{elastic.Release{Job: 7}, event.Fields{Act: "release"}},
		{elastic.Write{Job: 7, To: 3, Target: place}, event.Fields{Act: "write", Incarnation: 3, Target: "gpu1:4+gpu2:2"}},
		{elastic.Annotate{Job: 7}, event.Fields{Act: "annotate"}},
		{elastic.CancelLane{Job: 7}, event.Fields{Act: "cancel"}},
		{elastic.RequestPass{Job: 7}, event.Fields{Act: "pass"}},
	} {
		got := event.OfAct(c.action)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%T: %+v, want %+v", c.action, got, c.want)
		}
		if !strings.Contains(kind.Means, "`"+got.Act+"`") {
			t.Errorf("%q is not in EVENTS.md: %s", got.Act, kind.Means)
		}
	}
	if got := event.OfAct(nil); !reflect.DeepEqual(got, event.Fields{}) {
		t.Errorf("no action: %+v", got)
	}
}

// TestOfMoves: the fields of a move's beginning, steps and end.
func TestOfMoves(t *testing.T) {
	in := elastic.Intent{ID: 1, Job: 7, Kind: elastic.Resize, Step: elastic.Verified, To: 3, Target: place, Checkpoint: "00000004"}
	park := in
	park.Kind, park.Target = elastic.Park, nil
	for name, c := range map[string]struct{ got, want event.Fields }{
		"begins":          {event.OfMove(in), event.Fields{Move: elastic.Resize, Target: "gpu1:4+gpu2:2", Incarnation: 3}},
		"begins, a park":  {event.OfMove(park), event.Fields{Move: elastic.Park, Incarnation: 3}},
		"taken":           {event.OfTaken(in), event.Fields{Move: elastic.Resize, Target: "gpu1:4+gpu2:2", Incarnation: 3, Step: int(elastic.Verified), Checkpoint: "00000004"}},
		"step":            {event.OfStep(resize.Next{Intent: in, Why: reason.StartedBySlurm}), event.Fields{Step: int(elastic.Verified)}},
		"step, verified":  {event.OfStep(resize.Next{Intent: in, Why: reason.CheckpointVerified{Checkpoint: "00000005"}}), event.Fields{Step: int(elastic.Verified), Checkpoint: "00000005"}},
		"done":            {event.OfClose(resize.Next{Intent: in, Close: elastic.Done, Why: reason.Runs{On: place}}), event.Fields{Outcome: elastic.Done, On: "gpu1:4+gpu2:2"}},
		"the job ended":   {event.OfClose(resize.Next{Intent: in, Close: elastic.Lost, Why: reason.JobEnded{State: "FAILED"}}), event.Fields{Outcome: elastic.Lost, State: "FAILED"}},
		"without a cause": {event.OfClose(resize.Next{Intent: in, Close: elastic.Abandoned}), event.Fields{Outcome: elastic.Abandoned}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
}

// TestLog: events are counted and passed on, with the last fields that were given.
func TestLog(t *testing.T) {
	var got []event.Event
	l := event.Log{Sink: func(e event.Event) { got = append(got, e) }}
	at, failed := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), errors.New("timed out")
	l.Tell(at, 7, "run", "text")
	l.Tell(at, 7, "run", "text", event.Fields{Act: "ask"}, event.Fields{AdoptFields: event.AdoptFields{Token: "t"}})
	l.CouldNot(elastic.Release{Job: 7}, 7, failed, at)
	want := []event.Event{
		{At: at, Job: 7, Kind: "run", Text: "text"},
		{At: at, Job: 7, Kind: "run", Text: "text", Fields: event.Fields{AdoptFields: event.AdoptFields{Token: "t"}}},
		{At: at, Job: 7, Kind: "problem", Text: "could not " + elastic.Release{Job: 7}.String() + ": timed out", Err: failed},
	}
	if l.Count != 3 || !slices.EqualFunc(got, want, func(a, b event.Event) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%d events:\n%+v, want\n%+v", l.Count, got, want)
	}
}
