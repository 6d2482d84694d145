package track

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// stateOf formats a whole state, so that two can be compared.
func stateOf(e *State) string {
	var b strings.Builder
	writeState(&b, reflect.ValueOf(e).Elem(), map[uintptr]bool{})
	return b.String()
}

// remembering are the types that only cache results derived from their contents.
var remembering = []reflect.Type{reflect.TypeFor[speed.Curve](), reflect.TypeFor[eligible.Site]()}

// writeState follows pointers, each once, and sorts maps. For caches it writes only their identity.
func writeState(b *strings.Builder, v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		fmt.Fprintf(b, "%x ", v.Pointer())
		if v.IsNil() || seen[v.Pointer()] || slices.Contains(remembering, v.Type().Elem()) {
			return
		}
		seen[v.Pointer()] = true
		writeState(b, v.Elem(), seen)
	case reflect.Interface:
		if !v.IsNil() {
			fmt.Fprintf(b, "%s ", v.Elem().Type())
			writeState(b, v.Elem(), seen)
		}
	case reflect.Struct:
		if slices.Contains(remembering, v.Type()) {
			return
		}
		b.WriteString("{")
		for i := range v.NumField() {
			b.WriteString(v.Type().Field(i).Name + ":")
			writeState(b, v.Field(i), seen)
		}
		b.WriteString("}")
	case reflect.Map:
		writeMap(b, v, seen)
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(b, "%d[", v.Len())
		for i := range v.Len() {
			writeState(b, v.Index(i), seen)
		}
		b.WriteString("]")
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		fmt.Fprintf(b, "%x ", v.Pointer())
	default:
		fmt.Fprintf(b, "%v ", v)
	}
}

// writeMap writes the entries in the order of their keys.
func writeMap(b *strings.Builder, v reflect.Value, seen map[uintptr]bool) {
	type entry struct {
		key string
		at  reflect.Value
	}
	var all []entry
	for _, k := range v.MapKeys() {
		var key strings.Builder
		writeState(&key, k, seen)
		all = append(all, entry{key.String(), v.MapIndex(k)})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	fmt.Fprintf(b, "%d(", len(all))
	for _, e := range all {
		b.WriteString(e.key + "=")
		writeState(b, e.at, seen)
	}
	b.WriteString(")")
}

// TestStateOf: every change of a job changes the formatted state.
func TestStateOf(t *testing.T) {
	e, _, _ := crowded()
	was := stateOf(e)
	for what, change := range map[string]func(){
		"a flag":    func() { e.ByID[1].Dirty = !e.ByID[1].Dirty },
		"a time":    func() { e.ByID[2].Placing.rest = e.ByID[2].Placing.rest.Add(time.Nanosecond) },
		"a message": func() { e.ByID[3].Tells.Problem["move"] = "no" },
		"a move":    func() { e.Open[0].Step++ },
		"a count":   func() { e.ByID[1].Rec.Tag.Spec.Array.Count++ },
		"a sample":  func() { e.Learnt.Keep("x/epoch", speed.Sample{}) },
	} {
		change()
		is := stateOf(e)
		if is == was {
			t.Errorf("%s does not show", what)
		}
		was = is
	}
}

// crowded is a state with jobs of every kind, and an observation.
func crowded() (*State, observe.Look, time.Time) { return crowdedAt(noon) }

// crowdedAt is crowded at another time.
func crowdedAt(now time.Time) (*State, observe.Look, time.Time) {
	store := new(journal.Memory)
	e := New(Rules{
		Period: 30 * time.Second, Parts: Parts{Edge: map[string]bool{"lab": true}}, Limits: elastic.Limits{Grace: time.Minute, DeafAfter: 3},
	}, store, func(event.Event) {})
	e.HasLimiter = true
	v := observe.Look{Nodes: []slurm.Node{
		{Name: "g1", GPUs: 4, GPUType: "red", GPUsUsed: 3, Partitions: []string{"gpu"}, States: []string{"MIXED"}},
		{Name: "g2", GPUs: 4, GPUType: "blue", Partitions: []string{"gpu"}, States: []string{"IDLE", "DRAIN"}},
		{Name: "l1", GPUs: 2, Partitions: []string{"lab"}, States: []string{"IDLE"}},
	}}
	e.Site = eligible.Read(slurm.Limits{
		Partitions:   []slurm.Partition{{Name: "gpu", Up: true, MaxNodes: 1}, {Name: "lab", Up: true}},
		Reservations: []slurm.Reservation{{Name: "r", Maint: true, Start: now.Add(time.Minute), End: now.Add(time.Hour), Nodes: []string{"g1"}}},
		Reserved:     map[slurm.JobID]string{4: "r"},
	}, e.Rules.Edge)
	add := func(id slurm.JobID, state slurm.State, change func(*Job)) {
		sj := slurm.Job{ID: id, UID: 7, Partition: "gpu,lab", State: state, Held: state == slurm.Pending, Submit: now.Add(-time.Hour), TimeLimit: time.Hour}
		js := &Job{Shown: shown{Seen: true}, Rec: journal.JobRecord{
			Token: fmt.Sprint("t", id), Identity: journal.Identity{ID: elastic.JobID(id), Owner: elastic.Owner{UID: 7}, SlurmUID: 7, Partition: "gpu,lab"}, Life: journal.Life{Submitted: now.Add(-time.Hour)},
		}}
		js.Rec.Tag.Spec = elastic.Spec{Min: 1, Max: 4, Total: 100, Unit: elastic.Epochs}
		if state == slurm.Running {
			sj.GPUs, sj.Nodes, sj.Start, sj.TimeLeft, sj.Partition = 2, []string{"g1"}, now.Add(-time.Hour), 10*time.Second, "gpu"
			js.Rec.Place, js.Rec.FirstRun, js.Shown.placed, js.Rec.Speaks = nodes.Placement{{Node: "g1", GPUs: 2}}, sj.Start, sj.Start, true
			js.Runs.Seg = &journal.Segment{Started: sj.Start, Place: js.Rec.Place, DoneTo: 3}
			js.Mail.runner = runnerWord{word: checkpoint.Runner{State: checkpoint.Training, Beat: now, Every: 60}, ok: true}
		}
		js.Shown.Slurm = sj
		e.Remember(js)
		change(js)
		v.Jobs = append(v.Jobs, js.Shown.Slurm)
	}
	for i, change := range []func(*Job){
		func(js *Job) { js.Shown.Slurm.Constraint = "fast*2" },
		func(js *Job) { js.Shown.Slurm.Dependency = "afterok:6(unfulfilled)" },
		func(js *Job) { js.Rec.Tag.Spec.Array = elastic.Array{Count: 1, Open: true} },
		func(js *Job) {
			js.Placing.Refused.Start = js.Placing.Refused.Start.And(nodes.Placement{{Node: "g1", GPUs: 1}}, reason.SlurmSaid{Text: "no"}, now)
			js.Placing.Refused.Obstacle = js.Placing.Refused.Obstacle.AndNoNodes(nil, reason.SlurmSaid{Text: "Licenses"}, now)
		},
		func(js *Job) { js.Mail.silent = now.Add(-time.Minute) },
	} {
		add(slurm.JobID(i+1), slurm.Pending, change)
	}
	add(6, slurm.Running, func(js *Job) { js.Learnt.Gauged = gauged{idle: 0.8, at: speed.Shape{GPUs: 2, Nodes: 1}} })
	add(7, slurm.Failed, func(js *Job) { js.Rec.Speaks, js.Shown.Slurm.ExitSignal, js.Rec.Tag.Spec.Again = true, 9, true })
	e.Learnt.Keep(e.modelOf(e.ByID[6].Rec), speed.Sample{Shape: speed.Shape{GPUs: 2, Nodes: 1}, Seconds: 10, Units: 1, At: now, Kind: "red"})
	ordinary := slurm.Job{ID: 99, UID: 8, State: slurm.Running, GPUs: 1, Nodes: []string{"g1"}, Partition: "gpu", TimeLeft: time.Hour}
	v.Jobs = append(v.Jobs, ordinary, slurm.Job{ID: 98, UID: 8, State: slurm.Pending, GPUs: 2, Partition: "gpu", Constraint: "fast"})
	e.Open = []elastic.Intent{{ID: 1, Job: 6, Kind: elastic.Resize, Step: elastic.Asked, From: e.ByID[6].Rec.Place, Target: e.ByID[6].Rec.Place}}
	e.Seen.Jobs, e.Seen.Nodes, e.Lost["l1"] = v.Jobs, v.Nodes, now.Add(-time.Second)
	return e, v, now
}

// TestASnapshotChangesNothing: after prepare, a snapshot depends only on the state and the observation,
// and changes neither.
func TestASnapshotChangesNothing(t *testing.T) {
	e, v, now := crowded()
	e.prepare(now)
	state, seen := stateOf(e), fmt.Sprintf("%+v", v)
	first, _ := e.build(v, now)
	if is := stateOf(e); is != state {
		t.Errorf("the state was\n%s\nand is\n%s", state, is)
	}
	if is := fmt.Sprintf("%+v", v); is != seen {
		t.Errorf("the view was\n%s\nand is\n%s", seen, is)
	}
	second, doubted := e.build(v, now)
	if fmt.Sprintf("%+v", plain(first)) != fmt.Sprintf("%+v", plain(second)) {
		t.Errorf("a snapshot is\n%+v\nand another of the same\n%+v", plain(first), plain(second))
	}
	note(e.ByID, &second, doubted)
	if third, again := e.build(v, now); !reflect.DeepEqual(second, third) || len(doubted) != 1 || len(again) != 0 {
		t.Errorf("after it was noted a snapshot is\n%+v\nand was\n%+v; %d and %d curves were made", third, second, len(doubted), len(again))
	}
	if e.ByID[1].Tells.Problem["constraint"] == "" || e.ByID[2].Placing.blocked.Code != elastic.Depends || e.ByID[3].Rec.Tag.Spec.Array.Open || len(first.Due) == 0 || len(first.Tenants) == 0 || len(first.Caps) == 0 {
		t.Errorf("something is missing in %+v", first)
	}
}

// plain is a snapshot without curves, which are new in each.
func plain(s elastic.Snapshot) elastic.Snapshot {
	s.Jobs = slices.Clone(s.Jobs)
	for i := range s.Jobs {
		s.Jobs[i].Curve = nil
	}
	return s
}
