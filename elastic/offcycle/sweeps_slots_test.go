package offcycle_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// slotOf is a slot of the only lane of a site.
type slotOf struct {
	*sweepSite
	slot int
	ask  sweep.Ask
}

func (x *sweepSite) of(slot int) *slotOf { return &slotOf{sweepSite: x, slot: slot} }

func (s *slotOf) asks(leaves bool) {
	s.ask = sweep.NewAsk(s.sweep.Token, 7, 0, s.now)
	s.ask.Leaves = leaves
	s.put(filepath.Join(s.lane(), sweep.SlotFile(sweep.AskFile, s.slot)), s.ask)
}

func (s *slotOf) told() (sweep.Tell, bool) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.paths.Outbox, laneOfSweep, sweep.SlotFile(sweep.TellFile, s.slot)))
	if os.IsNotExist(err) {
		return sweep.Tell{}, false
	}
	s.must(err)
	tell, ok, err := s.ask.Open(data)
	s.must(err)
	return tell, ok
}

func (s *slotOf) writes(e sweep.Event) {
	s.t.Helper()
	text, err := json.Marshal(e)
	s.must(err)
	f, err := os.OpenFile(filepath.Join(s.lane(), sweep.SlotFile(sweep.EventFile, s.slot)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	s.must(err)
	_, err = f.Write(append(text, '\n'))
	s.must(err)
	s.must(f.Close())
}

// TestSweepsSlots: the slots of a lane are told trials of their own, through restarts; one that leaves gives its trial
// back, one whose lane's job is over does too, and what a lane measured counts for how many lanes are wanted.
func TestSweepsSlots(t *testing.T) {
	x := newSweepSite(t)
	x.sweep.PerGPU, x.sweep.Parallel = 2, 3
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	first, second, third := x.of(1), x.of(2), x.of(3)
	first.asks(false)
	second.asks(false)
	third.asks(false) // beyond what the sweep has
	x.look()
	one, _ := first.told()
	two, ok := second.told()
	if _, told := third.told(); !ok || one.Trial != 1 || two.Trial != 2 || told {
		t.Fatalf("%+v, %+v", one, two)
	}
	if s := x.s.Standings()[x.sweep.Token]; s.Wants != 3 {
		t.Errorf("before a lane has measured: wants %d lanes", s.Wants)
	}
	first.writes(sweep.Event{Kind: sweep.Began, Trial: 1, Start: 1, Ask: first.ask.ID, Point: one.Point})
	second.writes(sweep.Event{Kind: sweep.Began, Trial: 2, Start: 1, Ask: second.ask.ID, Point: two.Point})
	second.writes(sweep.Event{Kind: sweep.Reported, Trial: 2, Start: 1, Epoch: 3, Value: .5})
	x.put(filepath.Join(x.folder(), sweep.SharingFile(1, "")), sweep.Sharing{Version: 1, GPUs: 1, Trials: 2})
	x.restart()
	x.look()
	if again, ok := second.told(); !ok || again.Trial != 2 || again.Start != 1 || again.Stop {
		t.Errorf("%+v, %v", again, ok)
	}
	standing := x.s.Standings()[x.sweep.Token]
	if standing.Wants != 2 || len(standing.Lanes) != 1 || !reflect.DeepEqual(standing.Lanes[laneOfSweep], offcycle.LaneTrial{Trial: 1, Beside: []offcycle.LaneTrial{{Trial: 2, Epoch: 3, Value: .5, Known: true}}}) {
		t.Errorf("%+v", standing)
	}
	if shown := x.s.Shown()[x.sweep.Token]; len(shown.Running) != 1 || !slices.Equal(shown.Running[laneOfSweep], []int{1, 2}) {
		t.Errorf("%+v", shown.Running)
	}
	second.asks(true) // killed without a word
	x.look()
	if _, ok := second.told(); ok {
		t.Error("a slot that leaves is told something")
	}
	first.writes(sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
	first.asks(false)
	x.look()
	if next, ok := first.told(); !ok || next.Trial != 2 || next.Start != 2 {
		t.Errorf("the first slot is told %+v, %v", next, ok)
	}
	second.asks(false)
	x.look()
	if next, ok := second.told(); !ok || next.Trial != 3 {
		t.Errorf("the second slot is told %+v, %v", next, ok)
	}
	x.live.Lanes[0].Waits, x.live.Lanes[0].Restarts = true, 1 // requeued
	x.look()
	first.ask = sweep.NewAsk(x.sweep.Token, 7, 1, x.now)
	x.put(filepath.Join(x.lane(), sweep.AskFile), first.ask)
	x.live.Lanes[0].Waits = false
	x.look()
	if next, ok := first.told(); !ok || next.Trial != 2 || next.Start != 3 || len(x.said) > 0 {
		t.Errorf("in its next run it is told %+v, %v; %q", next, ok, x.said)
	}
}

// TestSweepsSlotsRecordLost: a daemon without its record finds the trials of all slots.
func TestSweepsSlotsRecordLost(t *testing.T) {
	x := newSweepSite(t)
	x.sweep.PerGPU = 2
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	first, second := x.of(1), x.of(2)
	first.asks(false)
	second.asks(false)
	x.look()
	for _, s := range []*slotOf{first, second} {
		tell, _ := s.told()
		s.writes(sweep.Event{Kind: sweep.Began, Trial: tell.Trial, Start: 1, Ask: s.ask.ID, Point: tell.Point})
	}
	x.must(os.RemoveAll(x.paths.Record))
	x.restart()
	second.writes(sweep.Event{Kind: sweep.EndedAs, Trial: 2, Start: 1, How: sweep.Done})
	second.asks(false)
	x.look()
	if tell, ok := second.told(); ok {
		t.Fatalf("told at once: %+v", tell)
	}
	x.now = x.now.Add(11 * time.Second)
	x.look()
	if tell, ok := second.told(); !ok || tell.Trial != 3 {
		t.Errorf("%+v, %v", tell, ok)
	}
	if tell, ok := first.told(); !ok || tell.Trial != 1 || tell.Stop {
		t.Errorf("%+v, %v", tell, ok)
	}
}
