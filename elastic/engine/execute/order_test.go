package execute

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestUpdateFor: an even placement is written as GPUs per node, another as a total on named nodes. Nodes
// are named unless Slurm may choose them, and always if the job accepts several types of GPU.
func TestUpdateFor(t *testing.T) {
	even := nodes.Placement{{Node: "g1", GPUs: 2}, {Node: "g2", GPUs: 2}}
	uneven := nodes.Placement{{Node: "g1", GPUs: 3}, {Node: "g2", GPUs: 1}}
	one := even[:1]
	named := []string{"g1", "g2"}
	for _, c := range []struct {
		name   string
		target nodes.Placement
		any    bool
		spec   elastic.Spec
		want   slurm.Update
	}{
		{"even", even, false, elastic.Spec{}, slurm.Update{Nodes: named, GPUsPerNode: 2, CPUs: 2}},
		{"uneven", uneven, false, elastic.Spec{}, slurm.Update{Nodes: named, GPUsTotal: 4, CPUs: 2}},
		{"one node", one, false, elastic.Spec{}, slurm.Update{Nodes: []string{"g1"}, GPUsPerNode: 2, CPUs: 1}},
		{"with CPUs", even, false, elastic.Spec{CPUsPerGPU: 3}, slurm.Update{Nodes: named, GPUsPerNode: 2, CPUs: 12}},
		{"of a type", even, false, elastic.Spec{Types: []string{"h100"}}, slurm.Update{Nodes: named, GPUsPerNode: 2, CPUs: 2, GPUType: "h100"}},
		{"of two types", even, false, elastic.Spec{Types: []string{"h100", "a100"}}, slurm.Update{Nodes: named, GPUsPerNode: 2, CPUs: 2}},
		{"anywhere", even, true, elastic.Spec{}, slurm.Update{AnyNodes: true, NodeCount: 2, GPUsPerNode: 2, CPUs: 2}},
		{"anywhere, of a type", even, true, elastic.Spec{Types: []string{"h100"}}, slurm.Update{AnyNodes: true, NodeCount: 2, GPUsPerNode: 2, CPUs: 2, GPUType: "h100"}},
		{"anywhere, of two types", even, true, elastic.Spec{Types: []string{"h100", "a100"}}, slurm.Update{Nodes: named, GPUsPerNode: 2, CPUs: 2}},
	} {
		if got := updateFor(elastic.Write{Job: 7, Target: c.target, AnyNodes: c.any}, c.spec); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestChanged: the journal records a step, a stop, a release and another target, and nothing else.
func TestChanged(t *testing.T) {
	was := elastic.Intent{ID: 1, Job: 7, Step: elastic.Asked, Target: nodes.Placement{{Node: "g1", GPUs: 2}}}
	for _, c := range []struct {
		name   string
		change func(*elastic.Intent)
		want   bool
	}{
		{"nothing", func(*elastic.Intent) {}, false},
		{"a step", func(in *elastic.Intent) { in.Step = elastic.Verified }, true},
		{"the stop", func(in *elastic.Intent) { in.RequeuedAt = noon }, true},
		{"the release", func(in *elastic.Intent) { in.ReleasedAt = noon }, true},
		{"any nodes", func(in *elastic.Intent) { in.AnyNodes = true }, true},
		{"another size", func(in *elastic.Intent) { in.Target = nodes.Placement{{Node: "g1", GPUs: 1}} }, true},
		{"another node", func(in *elastic.Intent) { in.Target = nodes.Placement{{Node: "g2", GPUs: 2}} }, true},
		{"an equal target", func(in *elastic.Intent) { in.Target = slices.Clone(in.Target) }, false},
	} {
		is := was
		if c.change(&is); changed(was, is) != c.want {
			t.Errorf("%s: %v", c.name, !c.want)
		}
	}
	stopped, again := was, was
	stopped.RequeuedAt, again.RequeuedAt = noon, noon.In(time.FixedZone("", 3600))
	if changed(stopped, again) {
		t.Error("the same moment in another time zone is a change")
	}
}

// TestOnlyWithdraws: a move is closed before its effects only if all of them withdraw requests.
func TestOnlyWithdraws(t *testing.T) {
	withdraw, hold := elastic.WithdrawRequest{Job: 7}, elastic.Hold{Job: 7}
	for _, c := range []struct {
		do   []elastic.Action
		want bool
	}{
		{nil, true},
		{[]elastic.Action{withdraw}, true},
		{[]elastic.Action{withdraw, withdraw}, true},
		{[]elastic.Action{hold}, false},
		{[]elastic.Action{withdraw, hold}, false},
	} {
		if got := onlyWithdraws(c.do); got != c.want {
			t.Errorf("%v: %v", c.do, got)
		}
	}
}

// TestReplaced: the move is replaced by its number, in a copy.
func TestReplaced(t *testing.T) {
	was := []elastic.Intent{{ID: 1, Job: 7}, {ID: 2, Job: 7}, {ID: 3, Job: 8}}
	got := replaced(was, elastic.Intent{ID: 2, Job: 7, Step: elastic.Written})
	want := []elastic.Intent{{ID: 1, Job: 7}, {ID: 2, Job: 7, Step: elastic.Written}, {ID: 3, Job: 8}}
	if !reflect.DeepEqual(got, want) || was[1].Step != 0 {
		t.Errorf("%+v, and the snapshot's %+v", got, was)
	}
}

// TestDirect: a directive is in force once the journal has it; it is written into the comment later, and
// what was refused or left unanswered before is tried again.
func TestDirect(t *testing.T) {
	for name, fails := range map[string]error{"recorded": nil, "the journal fails": errors.New("the disk is full")} {
		x, w, _ := executor(t)
		js := x.ByID[7]
		js.Rec.Deaf, js.Placing.Refused.Start.Times = 3, 2
		w.fails["savejobs"] = fails
		err := x.Direct(t.Context(), js, elastic.Directive{Pin: 2})
		done := fails == nil
		if !errors.Is(err, fails) || (js.Rec.Tag.Directive.Pin == 2) != done || js.PendingTag != done || (js.Rec.Deaf == 0) != done || (js.Placing.Refused.Start.Times == 0) != done {
			t.Errorf("%s: %v; %+v, to be written %v", name, err, js.Rec, js.PendingTag)
		}
	}
}

// TestRecord: no move is open that the journal lacks. A save is remembered, so that it is not ordered twice.
func TestRecord(t *testing.T) {
	for name, fails := range map[string]error{"recorded": nil, "the journal fails": errors.New("the disk is full")} {
		x, w, _ := executor(t)
		w.fails["intend"] = fails
		opened, err := x.Record(t.Context(), elastic.Plan{Open: []elastic.Intent{{Job: 7, Kind: elastic.Save, Step: elastic.Intended}, {Job: 9, Kind: elastic.Start, Step: elastic.Intended}}}, noon)
		want := map[bool]int{true: 2}[fails == nil]
		if !errors.Is(err, fails) || len(opened) != want || len(x.Open) != want {
			t.Errorf("%s: %v; %d moves are open, want %d", name, err, len(x.Open), want)
		}
		if w.did = nil; fails == nil {
			if none, err := x.Record(t.Context(), elastic.Plan{}, noon); none != nil || err != nil || len(w.did) > 0 {
				t.Errorf("%s: without a new move the journal did %v", name, w.did)
			}
		}
	}
}

// TestSave: what could not be saved fails the save, and is saved by the next one.
func TestSave(t *testing.T) {
	for name, op := range map[string]string{"jobs": "savejobs", "runs": "savesegments", "speeds": "addsamples", "answers": "saveanswers", "health": "savehealth", "books of shares": "savecredits"} {
		x, w, _ := executor(t)
		js := x.ByID[7]
		js.Rec.Place, js.Runs.Seg = nodes.Placement{{Node: "g1", GPUs: 1}}, &journal.Segment{Token: "t7", Place: nodes.Placement{{Node: "g1", GPUs: 1}}}
		line := checkpoint.Progress{Event: "progress", Done: 1, Epoch: 1, Seconds: 1, GPUs: 1, Nodes: 1}
		x.HeardLines([]*track.Job{js}, []observe.Lines{{Read: true, Lines: []checkpoint.Progress{line}, Next: 1}}, noon)
		x.Unsaved[journal.AnswerKey{UID: 5, Key: "script/s"}] = noon
		x.Health = elastic.Health{{Sighting: elastic.Sighting{Node: "g1", GPU: "0", Unfit: "ECC"}, First: noon, Last: noon}}
		had := journal.Credit{CreditKey: journal.CreditKey{Account: "gone", User: "ann"}, Seconds: 3600, At: noon}
		x.Shares.TookShares([]slurm.Share{{Account: "root"}}, nil, noon)
		x.Shares.RecallCredits([]journal.Credit{had})
		x.Snapshot(observe.Look{}, noon)
		w.fails[op] = errors.New("the disk is full")
		if err := x.Save(t.Context()); !errors.Is(err, w.fails[op]) {
			t.Errorf("%s: the save ends with %v", name, err)
		}
		w.fails[op], w.did = nil, nil
		if err := x.Save(t.Context()); err != nil || !slices.Contains(w.did, op) {
			t.Errorf("%s: the next save ends with %v and did %v", name, err, w.did)
		}
		w.did = nil
		if err := x.Save(t.Context()); err != nil || len(w.did) > 0 {
			t.Errorf("%s: with nothing to save it ends with %v and did %v", name, err, w.did)
		}
	}
}
