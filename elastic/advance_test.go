package elastic_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// circumstance is one way a job can be found.
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
				fmt.Fprintf(&b, "  %-34s %s\n", c.name, describe(in, elastic.Advance(in, job, snap)))
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

// scene is a job of 2 GPUs on gpu1 meant to get 3 on gpu2.
func scene(kind elastic.Kind, step elastic.Step) (elastic.Intent, elastic.Job, elastic.Snapshot) {
	in := elastic.Intent{
		ID: 1, Job: 7, Kind: kind, Step: step, To: 4, Restarts: 1, Request: "7.4.1", Cause: "grows",
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
	takenBack := func(in *elastic.Intent) { in.ReleasedAt = time.Time{} }
	failed := func(j *elastic.Job) { j.Phase, j.State, j.Restarts, j.Spoke = elastic.Ended, "FAILED", 2, true }
	revived := func(since, asked time.Duration) func(*elastic.Intent) {
		return func(in *elastic.Intent) {
			in.Fallbacks, in.Moved, in.RequeuedAt = 1, noon.Add(-since), noon.Add(-asked)
		}
	}
	return []circumstance{
		{"running, no answer", running, nil, nil},
		{"running, no answer, late", running, nil, late},
		{"running, saved", with(running, saved), nil, nil},
		{"running, saved, just requeued", with(running, saved), nil, func(in *elastic.Intent) { in.RequeuedAt = noon.Add(-time.Second) }},
		{"running, could not save", with(running, func(j *elastic.Job) { j.Saved = elastic.Saved{Request: "7.4.1", Error: "disk full"} }), nil, nil},
		{"running, answered an older request", with(running, func(j *elastic.Job) { j.Saved = elastic.Saved{Request: "7.3.1", Checkpoint: "00000004"} }), nil, nil},
		{"running, user holds", with(running, saved, func(j *elastic.Job) { j.UserHold = true }), nil, nil},
		{"running, user holds, just requeued", with(running, saved, func(j *elastic.Job) { j.UserHold = true }), nil, func(in *elastic.Intent) { in.RequeuedAt = noon.Add(-5 * time.Second) }},
		{"running, target node drained", with(running, saved), func(s *elastic.Snapshot) { s.Nodes[1].Usable = false }, nil},
		{"running, its folder is silent", with(running, unread), nil, nil},
		{"held, its folder is silent", with(phase(elastic.Held), unread), nil, nil},
		{"queued, its folder is silent", with(phase(elastic.Queued), unread), nil, nil},
		{"held", phase(elastic.Held), nil, nil},
		{"held, at the first look", phase(elastic.Held), func(s *elastic.Snapshot) { s.Before = noon.Add(-10 * time.Second) }, nil},
		{"held, counted where it ran", with(phase(elastic.Held), func(j *elastic.Job) { j.Lingers = true }), nil, func(in *elastic.Intent) { in.Moved = noon }},
		{"... just cleared", with(phase(elastic.Held), func(j *elastic.Job) { j.Lingers = true }), nil, func(in *elastic.Intent) { in.Moved, in.RequeuedAt = noon, noon.Add(-time.Second) }},
		{"... in spite of all", with(phase(elastic.Held), func(j *elastic.Job) { j.Lingers = true }), nil, nil},
		{"held, a later move's incarnation", with(phase(elastic.Held), func(j *elastic.Job) { j.Incarnation = 6 }), nil, nil},
		{"running, a later incarnation", with(running, func(j *elastic.Job) { j.Incarnation = 6 }), nil, nil},
		{"held, its run is over already", with(phase(elastic.Held), func(j *elastic.Job) { j.Incarnation, j.RunnerOf = 4, 4 }), nil, nil},
		{"held, by directive", with(phase(elastic.Held), func(j *elastic.Job) { j.Directive.Hold = true }), nil, nil},
		{"held, bad constraints", with(phase(elastic.Held), func(j *elastic.Job) { j.Reason = "BadConstraints" }), nil, nil},
		{"held, bad constraints again", with(phase(elastic.Held), func(j *elastic.Job) { j.Reason = "BadConstraints" }), nil, func(in *elastic.Intent) { in.Fallbacks = 1 }},
		{"held, target node drained", phase(elastic.Held), func(s *elastic.Snapshot) { s.Nodes[1].Usable = false }, nil},
		{"held, target taken by others", phase(elastic.Held), func(s *elastic.Snapshot) { s.Nodes[1].Used = 3 }, nil},
		{"queued", phase(elastic.Queued), nil, nil},
		{"queued, an ordinary job was faster", phase(elastic.Queued), func(s *elastic.Snapshot) { s.Others = map[string]int{"gpu2": 2} }, nil},
		{"queued, late", phase(elastic.Queued), nil, late},
		{"queued, late again", phase(elastic.Queued), nil, func(in *elastic.Intent) { late(in); in.Fallbacks = 1 }},
		{"queued, no license, at once", queuedFor("Licenses"), nil, nil},
		{"queued, no license", queuedFor("Licenses"), nil, settled},
		{"queued, no license, taken back", queuedFor("Licenses"), nil, takenBack},
		{"queued, no license, back again", queuedFor("Licenses"), nil, func(in *elastic.Intent) { settled(in); in.Fallbacks = 1 }},
		{"queued, a limit on its size", queuedFor("QOSMaxGRESPerUser"), nil, takenBack},
		{"queued, a limit on its size again", queuedFor("QOSMaxGRESPerUser"), nil, func(in *elastic.Intent) { takenBack(in); in.Fallbacks = 1 }},
		{"queued, a limit on its smallest", with(queuedFor("QOSMaxGRESPerUser"), func(j *elastic.Job) { j.Spec.Min = 3 }), nil, takenBack},
		{"queued, nodes not available", queuedFor("ReqNodeNotAvail,_UnavailableNodes:gpu2"), nil, takenBack},
		{"queued, for a word nobody knows", queuedFor("Mystery"), nil, settled},
		{"queued, taken back", phase(elastic.Queued), nil, takenBack},
		{"held, taken back", phase(elastic.Held), nil, takenBack},
		{"held by directive, taken back", with(phase(elastic.Held), func(j *elastic.Job) { j.Directive.Hold = true }), nil, takenBack},
		{"runs anew, taken back", with(again, resumed), nil, takenBack},
		{"completing", phase(elastic.Completing), nil, nil},
		{"suspended, late", phase(elastic.Suspended), nil, late},
		{"runs anew as meant", with(again, resumed), nil, nil},
		{"runs anew, runner silent", with(again, func(j *elastic.Job) { j.Heartbeat = time.Time{} }), nil, nil},
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
		{"failed launch, requeue unheard", failed, nil, revived(20*time.Second, 20*time.Second)},
		{"failed launch, unheard for long", failed, nil, revived(2*time.Minute, 20*time.Second)},
	}
}

func describe(before elastic.Intent, n elastic.Next) string {
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
	if len(parts) == 0 {
		parts = []string{"wait"}
	}
	return strings.Join(parts, "; ") + "  # " + n.Why
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
		t.Errorf("%s differs; if the change is meant, run go test ./elastic -update and read the diff\ngot:\n%s", path, got)
	}
}
