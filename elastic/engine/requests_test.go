package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestPinnable: a job can be pinned to each size that its options allow, and that the cluster or its own
// minimum has.
func TestPinnable(t *testing.T) {
	for _, c := range []struct {
		name          string
		spec          elastic.Spec
		gpus, cluster int
		ok            bool
	}{
		{"no pin", elastic.Spec{Min: 2, Max: 4}, 0, 8, true},
		{"its minimum", elastic.Spec{Min: 2, Max: 4}, 2, 8, true},
		{"less", elastic.Spec{Min: 2, Max: 4}, 1, 8, false},
		{"its maximum", elastic.Spec{Min: 2, Max: 4}, 4, 8, true},
		{"more", elastic.Spec{Min: 2, Max: 4}, 5, 8, false},
		{"all GPUs", elastic.Spec{Min: 2}, 8, 8, true},
		{"more than all", elastic.Spec{Min: 2}, 9, 8, false},
		{"between two steps", elastic.Spec{Min: 2, Max: 8, Step: 2}, 5, 8, false},
		{"a listed size", elastic.Spec{Min: 1, Max: 8, Sizes: []int{1, 3}}, 3, 8, true},
		{"a size between", elastic.Spec{Min: 1, Max: 8, Sizes: []int{1, 3}}, 2, 8, false},
		{"negative", elastic.Spec{Min: 1, Max: 8}, -1, 8, false},
		{"the nodes are not known yet", elastic.Spec{Min: 2, Max: 4}, 2, 0, true},
	} {
		if err := pinnable(c.spec, c.gpus, c.cluster); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// engineWith returns an engine that knows job 7 of user 5, running on two GPUs.
func engineWith(change func(*Engine, *track.Job)) *Engine {
	kept := new(journal.Memory)
	e := New(Config{Seams: Seams{Journal: kept, Samples: kept}})
	js := &track.Job{}
	js.Rec = journal.JobRecord{Token: "t7", Identity: journal.Identity{ID: 7, Owner: elastic.Owner{UID: 5}, SlurmUID: 5}, LastRun: journal.LastRun{Place: nodes.Placement{{Node: "g1", GPUs: 2}}}}
	js.Rec.Tag.Spec = elastic.Spec{Min: 1, Max: 4}
	js.Shown.Seen, js.Shown.Slurm = true, slurm.Job{ID: 7, UID: 5, State: slurm.Running}
	e.Remember(js)
	change(e, js)
	return e
}

// TestOrder: a user's save or requeue is opened once, and only for a job that runs and has no other move.
func TestOrder(t *testing.T) {
	open := func(kind elastic.Kind, step elastic.Step) func(*Engine, *track.Job) {
		return func(e *Engine, _ *track.Job) { e.Open = track.Moves{{ID: 1, Job: 7, Kind: kind, Step: step}} }
	}
	for _, c := range []struct {
		name   string
		change func(*Engine, *track.Job)
		kind   elastic.Kind
		err    error
		opened bool
	}{
		{"a save", func(*Engine, *track.Job) {}, elastic.Save, nil, true},
		{"a requeue", func(*Engine, *track.Job) {}, elastic.Park, nil, true},
		{"of another job", func(e *Engine, _ *track.Job) { delete(e.ByID, 7) }, elastic.Save, ErrNoJob, false},
		{"its tag was removed", func(_ *Engine, js *track.Job) { js.Shown.Disown = true }, elastic.Save, ErrNoJob, false},
		{"it has ended", func(_ *Engine, js *track.Job) { js.Rec.Ended = time.Unix(1, 0) }, elastic.Save, ErrEnded, false},
		{"it waits", func(_ *Engine, js *track.Job) { js.Shown.Slurm.State = slurm.Pending }, elastic.Save, ErrBusy, false},
		{"it completes", func(_ *Engine, js *track.Job) { js.Shown.Slurm.Completing = true }, elastic.Park, ErrBusy, false},
		{"a save, repeated", open(elastic.Save, elastic.Asked), elastic.Save, nil, false},
		{"a save while it saves for a resize", open(elastic.Resize, elastic.Verified), elastic.Save, nil, false},
		{"a save after that", open(elastic.Resize, elastic.Requeued), elastic.Save, ErrBusy, false},
		{"a requeue while it saves", open(elastic.Save, elastic.Asked), elastic.Park, ErrBusy, false},
		{"a requeue, repeated", open(elastic.Park, elastic.Requeued), elastic.Park, nil, false},
		{"a requeue of a held job", func(_ *Engine, js *track.Job) { js.Rec.Tag.Directive.Hold = true }, elastic.Park, ErrBusy, false},
		{"a save of a held job", func(_ *Engine, js *track.Job) { js.Rec.Tag.Directive.Hold = true }, elastic.Save, nil, true},
		{"a requeue of a job that its user holds through Slurm", func(_ *Engine, js *track.Job) { js.Shown.Slurm.Held = true }, elastic.Park, ErrBusy, false},
	} {
		e := engineWith(c.change)
		before := len(e.Open)
		err := e.Order(t.Context(), 7, c.kind, time.Unix(100, 0))
		if !errors.Is(err, c.err) || (len(e.Open) > before) != c.opened {
			t.Errorf("%s: %v; %d moves are open", c.name, err, len(e.Open))
			continue
		}
		if c.opened {
			if in := e.Open[0]; in.Kind != c.kind || in.Step != elastic.Intended || in.Request == "" || (in.Target.GPUs() == 2) != (c.kind == elastic.Save) {
				t.Errorf("%s: %+v", c.name, in)
			}
		}
	}
}

// TestDirectIsChecked: a directive is refused for a job that is not managed or has ended, and if its
// options exclude the pin. The record stays as it was.
func TestDirectIsChecked(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Engine, *track.Job)
		pin    int
		err    error
		ok     bool
	}{
		{"a size that it accepts", func(*Engine, *track.Job) {}, 4, nil, true},
		{"one that it does not", func(*Engine, *track.Job) {}, 5, nil, false},
		{"of another job", func(e *Engine, _ *track.Job) { delete(e.ByID, 7) }, 4, ErrNoJob, false},
		{"its tag was removed", func(_ *Engine, js *track.Job) { js.Shown.Disown = true }, 4, ErrNoJob, false},
		{"it has ended", func(_ *Engine, js *track.Job) { js.Rec.Ended = time.Unix(1, 0) }, 4, ErrEnded, false},
	} {
		var js *track.Job
		e := engineWith(func(e *Engine, of *track.Job) { js = of; c.change(e, of) })
		e.Last.Nodes = []nodes.Node{{GPUs: 4}, {GPUs: 4}}
		err := e.Direct(context.Background(), 7, func(d elastic.Directive) elastic.Directive { d.Pin = c.pin; return d })
		if (err == nil) != c.ok || c.err != nil && !errors.Is(err, c.err) || (js.Rec.Tag.Directive.Pin == c.pin) != c.ok {
			t.Errorf("%s: %v, pinned to %d", c.name, err, js.Rec.Tag.Directive.Pin)
		}
	}
}

// TestDirectHold: an order to hold is one unless a person holds the job through Slurm already. Priority 0 of
// a job that Slurm took out of its queue by itself is none.
func TestDirectHold(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason string
		held   bool
		want   bool
	}{
		{"it waits", "BeginTime", false, true},
		{"its user holds it through Slurm", "JobHeldUser", true, false},
		{"an administrator holds it", "JobHeldAdmin", true, false},
		{"Slurm cannot allocate its size", "BadConstraints", true, true},
	} {
		var js *track.Job
		e := engineWith(func(_ *Engine, of *track.Job) {
			js = of
			js.Shown.Slurm.State, js.Shown.Slurm.Held, js.Shown.Slurm.Reason = slurm.Pending, c.held, c.reason
		})
		if err := e.Direct(t.Context(), 7, func(d elastic.Directive) elastic.Directive { d.Hold = true; return d }); err != nil || js.Rec.Tag.Directive.Hold != c.want {
			t.Errorf("%s: %v, the order is %v", c.name, err, js.Rec.Tag.Directive.Hold)
		}
	}
}

// TestPostponed: a resize that waits only for the end of its job's cooldown is foretold, with that end;
// not of a job that has rested or waits, nor one that the plan opens anyway.
func TestPostponed(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	grow := policy.Policy{Name: "grow", Allocate: func(s elastic.Snapshot) elastic.Allocation {
		out := elastic.Allocation{}
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if out[j.ID] = (elastic.Decision{GPUs: j.GPUs(), Place: j.Place}); !s.Resting(j) {
				out[j.ID] = elastic.Decision{GPUs: 4}
			}
		}
		return out
	}}
	for _, c := range []struct {
		name  string
		moved time.Duration // ago
		phase elastic.Phase
		plan  elastic.Plan
		want  bool
	}{
		{"its last moment", time.Minute - 1, elastic.Running, elastic.Plan{}, true},
		{"over", time.Minute, elastic.Running, elastic.Plan{}, false},
		{"its first moment", 0, elastic.Running, elastic.Plan{}, true},
		{"it waits", 0, elastic.Waiting, elastic.Plan{}, false},
		{"the plan moves it", 0, elastic.Running, elastic.Plan{Open: []elastic.Intent{{Job: 7}}}, false},
		{"the plan moves another", 0, elastic.Running, elastic.Plan{Open: []elastic.Intent{{Job: 8}}}, true},
	} {
		place := nodes.Placement{{Node: "g1", GPUs: 2}}
		j := elastic.Job{ID: 7, Partition: "gpu", Phase: c.phase, Place: place, Spec: elastic.Spec{Min: 1, Max: 4}, Speaks: true, Moved: now.Add(-c.moved)}
		s := elastic.Snapshot{Now: now, Limits: elastic.Limits{Cooldown: time.Minute, DeafAfter: 3}, Jobs: []elastic.Job{j}, Nodes: []nodes.Node{{Name: "g1", Partitions: []string{"gpu"}, GPUs: 4, Used: 2, Usable: true}}}
		got := postponed(grow, s, c.plan)
		if (len(got) == 1) != c.want {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		if c.want && (!got[0].Until.Equal(j.Moved.Add(time.Minute)) || !got[0].From.Equal(place) || got[0].Intent.Target.GPUs() != 4) {
			t.Errorf("%s: %+v", c.name, got[0])
		}
		if s.Limits.Cooldown != time.Minute {
			t.Fatalf("%s: the snapshot's cooldown was changed", c.name)
		}
	}
}
