package resize_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/nodes"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// circumstance is one way in which a job can be observed.
type circumstance struct {
	name string
	job  func(*elastic.Job)
	snap func(*elastic.Snapshot)
	in   func(*elastic.Intent)
}

// TestAdvanceTable prints the whole protocol: every step in every circumstance.
func TestAdvanceTable(t *testing.T) {
	var b strings.Builder
	steps := []elastic.Step{elastic.Intended, elastic.Asked, elastic.Verified, elastic.Requeued, elastic.Written, elastic.Released}
	for _, kind := range []elastic.Kind{elastic.Resize, elastic.Start, elastic.Park, elastic.Revival, elastic.Clearing, elastic.Save} {
		for _, step := range steps {
			if kind == elastic.Start && step < elastic.Requeued || kind == elastic.Park && step > elastic.Requeued || kind == elastic.Save && step > elastic.Asked ||
				(kind == elastic.Revival || kind == elastic.Clearing) && step != elastic.Verified && step != elastic.Requeued {
				continue
			}
			fmt.Fprintf(&b, "%s at R%d\n", kind, step)
			for _, c := range circumstances() {
				in, job, snap := scene(kind, step)
				c.apply(&in, &job, &snap)
				fmt.Fprintf(&b, "  %-34s %s\n", c.name, describe(in, resize.Advance(in, job, snap)))
			}
		}
	}
	golden(t, "advance.txt", b.String())
}

func (c circumstance) apply(in *elastic.Intent, job *elastic.Job, snap *elastic.Snapshot) {
	if c.job != nil {
		c.job(job)
	}
	if c.snap != nil {
		c.snap(snap)
	}
	if c.in != nil {
		c.in(in)
	}
}

// scene returns a job of 2 GPUs on gpu1 that should get 3 on gpu2.
func scene(kind elastic.Kind, step elastic.Step) (elastic.Intent, elastic.Job, elastic.Snapshot) {
	in := elastic.Intent{
		ID: 1, Job: 7, Kind: kind, Step: step, To: 4, Restarts: 1, Request: "7.4.1", Cause: reason.Text{Text: "grows"},
		From: nodes.Placement{{Node: "gpu1", GPUs: 2}}, Target: nodes.Placement{{Node: "gpu2", GPUs: 3}},
		Opened: noon.Add(-time.Minute), AskedAt: noon.Add(-10 * time.Second), ReleasedAt: noon.Add(-10 * time.Second),
	}
	if step >= elastic.Verified && kind != elastic.Start {
		in.Checkpoint = "00000005"
	}
	if kind == elastic.Park || kind == elastic.Revival || kind == elastic.Clearing {
		in.Target = nil
	}
	if kind == elastic.Save {
		in.Target = in.From // it stays where it is
	}
	job := elastic.Job{ID: 7, Restarts: 1, Spec: elastic.Spec{Min: 1}}
	snap := elastic.Snapshot{
		Now: noon, Before: noon.Add(-time.Second),
		Nodes: []nodes.Node{
			{Name: "gpu1", GPUs: 4, Used: 2, Usable: true}, {Name: "gpu2", GPUs: 4, Usable: true},
		},
		Limits: elastic.Limits{Grace: time.Minute, Confirm: time.Minute},
	}
	return in, job, snap
}

// on is a place on one node.
func on(node string, gpus int) nodes.Placement { return nodes.Placement{{Node: node, GPUs: gpus}} }

func circumstances() []circumstance {
	running := func(j *elastic.Job) { j.Phase, j.Place, j.Heartbeat = elastic.Running, on("gpu1", 2), noon }
	with := func(fs ...func(*elastic.Job)) func(*elastic.Job) {
		return func(j *elastic.Job) {
			for _, f := range fs {
				f(j)
			}
		}
	}
	phase := func(p elastic.Phase) func(*elastic.Job) { return func(j *elastic.Job) { j.Phase = p } }
	deferred := func(j *elastic.Job) { j.Phase, j.Eligible = elastic.Waiting, noon.Add(100*time.Second) }
	saved := func(j *elastic.Job) { j.Saved = elastic.Saved{Request: "7.4.1", Checkpoint: "00000005"} }
	again := func(j *elastic.Job) {
		j.Phase, j.Restarts, j.Place, j.Heartbeat = elastic.Running, 2, on("gpu2", 3), noon
	}
	unread := func(j *elastic.Job) { j.Unread = noon.Add(-time.Minute) }
	resumed := func(j *elastic.Job) { j.Resumed = "00000005" }
	late := func(in *elastic.Intent) {
		in.AskedAt, in.ReleasedAt = noon.Add(-time.Hour), noon.Add(-time.Hour)
	}
	queuedFor := func(reason string) func(*elastic.Job) {
		return func(j *elastic.Job) { j.Phase, j.Reason = elastic.Queued, reason }
	}
	settled := func(in *elastic.Intent) { in.ReleasedAt = noon.Add(-12 * time.Second) }
	failed := func(j *elastic.Job) { j.Phase, j.State, j.Restarts, j.Spoke = elastic.Ended, "FAILED", 2, true }
	revived := func(since, asked time.Duration) func(*elastic.Intent) {
		return func(in *elastic.Intent) {
			in.Fallbacks, in.Moved, in.RequeuedAt = 1, noon.Add(-since), noon.Add(-asked)
		}
	}
	ofStop := func(j *elastic.Job) { j.Phase, j.State, j.Heartbeat = elastic.Ended, "FAILED", noon }
	afterStop := func(in *elastic.Intent) { // the step is recorded, and Slurm is to be asked
		in.Fallbacks, in.Moved, in.RequeuedAt = 1, noon, noon.Add(-5*time.Second)
	}
	stoppedAgo := func(d time.Duration) func(*elastic.Intent) {
		return func(in *elastic.Intent) { in.RequeuedAt, in.Moved = noon.Add(-d), noon.Add(-d) }
	}
	roomOn := func(gone, used int) func(*elastic.Snapshot) { // gpu3 has room; on gpu2 this many are used, or it is drained
		return func(s *elastic.Snapshot) {
			s.Nodes[1].Usable, s.Nodes[1].Used = gone == 0, used
			s.Nodes = append(s.Nodes, nodes.Node{Name: "gpu3", GPUs: 4, Usable: true})
		}
	}
	return []circumstance{
		{"running, no answer", running, nil, nil},
		{"running, no answer, late", running, nil, late},
		{"running, saved", with(running, saved), nil, nil},
		{"running, saved, just requeued", with(running, saved), nil, func(in *elastic.Intent) { in.RequeuedAt = noon.Add(-time.Second) }},
		{"running, saved between", with(running, saved, func(j *elastic.Job) { j.Saved.Committed = noon.Add(-5 * time.Second) }), nil, nil},
		{"running, saved by a clock ahead", with(running, saved, func(j *elastic.Job) { j.Saved.Committed = noon.Add(time.Minute) }), nil, nil},
		{"running, saved by a clock behind", with(running, saved, func(j *elastic.Job) { j.Saved.Committed = noon.Add(-time.Hour) }), nil, nil},
		{"running, saved, noted late", with(running, saved), nil, func(in *elastic.Intent) { in.AskedAt = noon.Add(-106 * time.Second) }},
		{"... at the last moment", with(running, saved), nil, func(in *elastic.Intent) { in.AskedAt = noon.Add(-105 * time.Second) }},
		{"... just requeued", with(running, saved), nil, func(in *elastic.Intent) {
			in.AskedAt, in.RequeuedAt = noon.Add(-106*time.Second), noon.Add(-time.Second)
		}},
		{"... requeued in vain", with(running, saved), nil, func(in *elastic.Intent) {
			in.AskedAt, in.RequeuedAt = noon.Add(-106*time.Second), noon.Add(-16*time.Second)
		}},
		{"... requeued, and silent since", with(running, saved, func(j *elastic.Job) { j.Heartbeat = noon.Add(-20 * time.Second) }), nil, func(in *elastic.Intent) {
			in.AskedAt, in.RequeuedAt = noon.Add(-106*time.Second), noon.Add(-16*time.Second)
		}},
		{"running, could not save", with(running, func(j *elastic.Job) { j.Saved = elastic.Saved{Request: "7.4.1", Error: "disk full"} }), nil, nil},
		{"running, answered an older request", with(running, func(j *elastic.Job) { j.Saved = elastic.Saved{Request: "7.3.1", Checkpoint: "00000004"} }), nil, nil},
		{"running, user holds", with(running, saved, func(j *elastic.Job) { j.UserHold = true }), nil, nil},
		{"running, user holds, just requeued", with(running, saved, func(j *elastic.Job) { j.UserHold = true }), nil, func(in *elastic.Intent) { in.RequeuedAt = noon.Add(-5 * time.Second) }},
		{"running, target node drained", with(running, saved), func(s *elastic.Snapshot) { s.Nodes[1].Usable = false }, nil},
		{"running, its folder is silent", with(running, unread), nil, nil},
		{"deferred, its folder is silent", with(deferred, unread), nil, nil},
		{"queued, its folder is silent", with(phase(elastic.Queued), unread), nil, nil},
		{"running as before its stop", with(running, saved, func(j *elastic.Job) { j.Heartbeat = noon.Add(-30 * time.Second) }), nil, func(in *elastic.Intent) { in.PendingAt = noon.Add(-20 * time.Second) }},
		{"... for long", with(running, saved, func(j *elastic.Job) { j.Heartbeat = noon.Add(-3 * time.Minute) }), nil, func(in *elastic.Intent) {
			in.PendingAt, in.ReleasedAt = noon.Add(-2*time.Minute), noon.Add(-2*time.Minute)
		}},
		{"... for long, just released", with(running, saved, func(j *elastic.Job) { j.Heartbeat = noon.Add(-3 * time.Minute) }), nil, func(in *elastic.Intent) {
			in.PendingAt = noon.Add(-2 * time.Minute)
		}},
		{"... and its runner is alive", with(running, saved), nil, func(in *elastic.Intent) {
			in.PendingAt, in.ReleasedAt = noon.Add(-2*time.Minute), noon.Add(-2*time.Minute)
		}},
		{"deferred", deferred, nil, nil},
		{"failed of its stop", ofStop, nil, stoppedAgo(20 * time.Second)},
		{"... long ago, and Slurm was away", ofStop, func(s *elastic.Snapshot) { s.Away = noon.Add(-5 * time.Second) }, stoppedAgo(3 * time.Minute)},
		{"... long ago, and sluiced was away", ofStop, func(s *elastic.Snapshot) { s.Began = noon.Add(-5 * time.Second) }, stoppedAgo(3 * time.Minute)},
		{"... long ago, and neither was away", ofStop, nil, stoppedAgo(3 * time.Minute)},
		{"deferred, after Slurm was away", deferred, func(s *elastic.Snapshot) { s.Away = noon.Add(-5 * time.Second) }, nil},
		{"deferred, counted where it ran", with(deferred, func(j *elastic.Job) { j.Lingers = true }), nil, func(in *elastic.Intent) { in.Moved = noon }},
		{"... just cleared", with(deferred, func(j *elastic.Job) { j.Lingers = true }), nil, func(in *elastic.Intent) { in.Moved, in.RequeuedAt = noon.Add(-time.Second), noon.Add(-time.Second) }},
		{"... in spite of all", with(deferred, func(j *elastic.Job) { j.Lingers = true }), nil, nil},
		{"deferred, a later move's incarnation", with(deferred, func(j *elastic.Job) { j.Incarnation = 6 }), nil, nil},
		{"running, a later incarnation", with(running, func(j *elastic.Job) { j.Incarnation = 6 }), nil, nil},
		{"deferred, its run is over already", with(deferred, func(j *elastic.Job) { j.Incarnation, j.RunnerOf = 4, 4 }), nil, nil},
		{"held, by directive", with(deferred, func(j *elastic.Job) { j.Directive.Hold = true }), nil, nil},
		{"held by its user", with(deferred, func(j *elastic.Job) { j.UserHold = true }), nil, nil},
		{"held by its user, begin time passed", func(j *elastic.Job) { j.Phase, j.UserHold, j.Eligible = elastic.Waiting, true, noon.Add(-time.Second) }, nil, nil},
		{"deferred, begins now", with(deferred, func(j *elastic.Job) { j.Eligible = noon.Add(time.Second) }), nil, nil},
		{"deferred, begins in a minute", with(deferred, func(j *elastic.Job) { j.Eligible = noon.Add(50 * time.Second) }), nil, nil},
		{"deferred, far", with(deferred, func(j *elastic.Job) { j.Eligible = noon.Add(2 * time.Hour) }), nil, nil},
		{"deferred, has never run", with(deferred, func(j *elastic.Job) { j.Restarts = 0 }), nil, func(in *elastic.Intent) { in.Restarts = 0 }},
		{"... as slurmctld has it since a loss", with(deferred, func(j *elastic.Job) { j.Restarts = 0 }), nil, nil},
		{"... though its runner has reported", with(deferred, func(j *elastic.Job) { j.Restarts, j.Spoke = 0, true }), nil, func(in *elastic.Intent) { in.Restarts = 0 }},
		{"... at its second try", with(deferred, func(j *elastic.Job) { j.Restarts = 0 }), nil, func(in *elastic.Intent) { in.Restarts, in.Fallbacks = 0, 1 }},
		{"deferred, a minute after its start", deferred, nil, func(in *elastic.Intent) { in.ReleasedAt = noon.Add(-time.Minute) }},
		{"set aside, bad constraints", with(deferred, func(j *elastic.Job) { j.Reason = "BadConstraints" }), nil, nil},
		{"set aside, bad constraints again", with(deferred, func(j *elastic.Job) { j.Reason = "BadConstraints" }), nil, func(in *elastic.Intent) { in.Fallbacks = 1 }},
		{"deferred, target node drained", deferred, func(s *elastic.Snapshot) { s.Nodes[1].Usable = false }, nil},
		{"deferred, target taken by others", deferred, func(s *elastic.Snapshot) { s.Nodes[1].Used = 3 }, nil},
		{"deferred, target taken, room elsewhere", deferred, roomOn(0, 3), nil},
		{"deferred, target drained, room elsewhere", deferred, roomOn(1, 0), nil},
		{"deferred, as meant, room elsewhere", deferred, roomOn(0, 0), nil},
		{"suspended, taken, room elsewhere", phase(elastic.Suspended), roomOn(0, 3), nil},
		{"running, there, where it is drained", with(running, saved, func(j *elastic.Job) { j.Place = on("gpu2", 3) }), func(s *elastic.Snapshot) { s.Nodes[1].Usable = false }, nil},
		{"queued, there, where it is drained", func(j *elastic.Job) { j.Phase, j.Place = elastic.Queued, on("gpu2", 3) }, func(s *elastic.Snapshot) { s.Nodes[1].Usable = false }, nil},
		{"queued", phase(elastic.Queued), nil, nil},
		{"queued, an ordinary job was faster", phase(elastic.Queued), func(s *elastic.Snapshot) { s.Others = map[string]int{"gpu2": 2} }, nil},
		{"queued, an ordinary job beside it", phase(elastic.Queued), func(s *elastic.Snapshot) { s.Others = map[string]int{"gpu2": 1} }, nil},
		{"queued, late", phase(elastic.Queued), nil, late},
		{"queued, late again", phase(elastic.Queued), nil, func(in *elastic.Intent) { late(in); in.Fallbacks = 1 }},
		{"queued, no license, at once", queuedFor("Licenses"), nil, nil},
		{"queued, no license", queuedFor("Licenses"), nil, settled},
		{"queued, no license, back again", queuedFor("Licenses"), nil, func(in *elastic.Intent) { settled(in); in.Fallbacks = 1 }},
		{"queued, a limit on its size", queuedFor("QOSMaxGRESPerUser"), nil, settled},
		{"queued, a limit on its size again", queuedFor("QOSMaxGRESPerUser"), nil, func(in *elastic.Intent) { settled(in); in.Fallbacks = 1 }},
		{"queued, a limit on its smallest", with(queuedFor("QOSMaxGRESPerUser"), func(j *elastic.Job) { j.Spec.Min = 3 }), nil, settled},
		{"queued, nodes not available", queuedFor("ReqNodeNotAvail,_UnavailableNodes:gpu2"), nil, settled},
		{"queued, for an unknown reason", queuedFor("Mystery"), nil, settled},
		{"completing, others there", phase(elastic.Completing), func(s *elastic.Snapshot) { s.Others = map[string]int{"gpu2": 2} }, nil},
		{"completing", phase(elastic.Completing), nil, nil},
		{"suspended, late", phase(elastic.Suspended), nil, late},
		{"runs anew as meant", with(again, resumed), nil, nil},
		{"runs anew, runner silent", with(again, func(j *elastic.Job) { j.Heartbeat = time.Time{} }), nil, nil},
		{"runs anew, still verifies", with(again, func(j *elastic.Job) { j.Choosing = true }), nil, nil},
		{"runs anew, still verifies, late", with(again, func(j *elastic.Job) { j.Choosing = true }), nil, late},
		{"runs anew, runner silent, late", with(again, func(j *elastic.Job) { j.Heartbeat = time.Time{} }), nil, late},
		{"runs anew from elsewhere", again, nil, nil},
		{"runs anew on fewer GPUs", with(again, resumed, func(j *elastic.Job) { j.Place = on("gpu2", 2) }), nil, nil},
		{"cancelled", func(j *elastic.Job) { j.Phase, j.State = elastic.Ended, "CANCELLED" }, nil, nil},
		{"cancelled, just now", func(j *elastic.Job) { j.Phase, j.State = elastic.Ended, "CANCELLED" }, nil, func(in *elastic.Intent) { in.RequeuedAt = noon.Add(-time.Second) }},
		{"completed", func(j *elastic.Job) { j.Phase, j.State, j.Heartbeat = elastic.Ended, "COMPLETED", noon }, nil, nil},
		{"failed before its first line", failed, nil, nil},
		{"failed", func(j *elastic.Job) { j.Phase, j.State, j.Heartbeat = elastic.Ended, "FAILED", noon }, nil, nil},
		{"failed, and its folder is gone", with(failed, func(j *elastic.Job) { j.Spoke = false }), nil, nil},
		{"failed launch, just requeued", failed, nil, revived(time.Second, time.Second)},
		{"failed launch, soon after the stop", failed, nil, afterStop},
		{"failed launch, requeue without an answer", failed, nil, revived(20*time.Second, 20*time.Second)},
		{"failed launch, no answer for long", failed, nil, revived(2*time.Minute, 20*time.Second)},
		{"... and Slurm was away", failed, func(s *elastic.Snapshot) { s.Away = noon.Add(-5 * time.Second) }, revived(3*time.Minute, 3*time.Minute)},
	}
}

func describe(before elastic.Intent, n resize.Next) string {
	var parts []string
	for _, a := range n.Do {
		parts = append(parts, a.String())
	}
	if n.Intent.Step != before.Step {
		parts = append(parts, fmt.Sprintf("-> R%d", n.Intent.Step))
	}
	if n.Close != "" {
		parts = append(parts, "close "+string(n.Close))
	}
	if n.Refused {
		parts = append(parts, "note the refusal")
	}
	if n.Blameless {
		parts = append(parts, "of no node")
	}
	if n.Obstacle != "" {
		parts = append(parts, "note the obstacle")
	}
	for _, a := range n.Do {
		if ask, ok := a.(elastic.AskCheckpoint); ok && !ask.Stop {
			parts = append(parts, "trains on")
		}
	}
	parts = append(parts, noted(before, n.Intent)...)
	if len(parts) == 0 {
		parts = []string{"wait"}
	}
	return strings.Join(parts, "; ") + "  # " + reason.String(n.Why)
}

// noted returns what else changed in the intent; times are relative to noon.
func noted(before, after elastic.Intent) []string {
	var parts []string
	old, now := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range now.NumField() {
		field, is := now.Type().Field(i).Name, now.Field(i).Interface()
		if field == "Step" || reflect.DeepEqual(old.Field(i).Interface(), is) {
			continue
		}
		if at, ok := is.(time.Time); ok && at.IsZero() {
			is = "never"
		} else if ok {
			is = at.Sub(noon)
		}
		parts = append(parts, fmt.Sprintf("%s=%v", field, is))
	}
	return parts
}

// golden compares with a file under testdata. Read the diff before -update: the
// file is the specification.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if the change is meant, run go test ./elastic/resize -update and read the diff\ngot:\n%s", path, got)
	}
}

// A held job is placed on other nodes if others took its own. What its own move is bound to
// does not block it, and is not counted twice in its favour.
func TestElsewhereCountsItsOwnPromiseOnce(t *testing.T) {
	for used, want := range map[int]string{1: "gpu2:3", 2: "gpu3:3", 4: "gpu3:3"} {
		in, job, snap := scene(elastic.Start, elastic.Requeued)
		job.Phase = elastic.Waiting
		snap.Nodes[0].Used, snap.Nodes[1].Used = 4, used
		snap.Nodes = append(snap.Nodes, nodes.Node{Name: "gpu3", GPUs: 4, Usable: true})
		snap.Jobs, snap.Intents = []elastic.Job{job}, []elastic.Intent{in}
		if next := resize.Advance(in, job, snap); next.Intent.Target.String() != want {
			t.Errorf("%d GPUs of gpu2 are used: %s, want %s: %+v", used, next.Intent.Target, want, next)
		}
	}
	in, job, snap := scene(elastic.Start, elastic.Requeued)
	job.Phase, job.Spec.AllowUneven = elastic.Waiting, true
	in.Target = nodes.Placement{{Node: "gpu1", GPUs: 1}, {Node: "gpu2", GPUs: 2}}
	snap.Nodes[0].Used, snap.Nodes[1].Used = 1, 3
	snap.Jobs, snap.Intents = []elastic.Job{job}, []elastic.Intent{in}
	if next := resize.Advance(in, job, snap); next.Intent.Target.String() != "gpu1:3" {
		t.Errorf("what it was promised is its own: %+v", next)
	}
	in, job, snap = scene(elastic.Start, elastic.Requeued)
	job.Phase, job.Place = elastic.Waiting, on("gpu1", 2) // as Slurm may count it for some time after its run
	snap.Nodes[1].Used = 2
	snap.Jobs, snap.Intents = []elastic.Job{job}, []elastic.Intent{in}
	if next := resize.Advance(in, job, snap); next.Intent.Target.String() != "gpu1:3" {
		t.Errorf("what it is still counted on is its own: %+v", next)
	}
}
