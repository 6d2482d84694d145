package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// asOnASite: jobs have not shown yet that they answer requests.
func asOnASite(c *engine.Config) { c.Proven = false }

// sizes returns the sizes of a job's runs.
func sizes(t *world.Trainer) (out []int) {
	for _, r := range t.Runs() {
		gpus := 0
		for _, share := range r.Split {
			gpus += share.GPUs
		}
		out = append(out, gpus)
	}
	return out
}

// TestUnprovenStartsAtItsMinimum: a job without a known checkpoint starts at its minimum on an empty
// cluster and grows after its first checkpoint. Later jobs of its user with the same script or
// model start larger, also after a restart of sluiced; those of other users do not.
func TestUnprovenStartsAtItsMinimum(t *testing.T) {
	const script = "0123456789ab"
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(3, 4)}})
	kept := new(journal.Memory)
	d := boot(t, w, kept, "lookahead", asOnASite)
	spec := elastic.Spec{Min: 1, Max: 4, Total: 40, Script: script, Model: "net"}
	first := w.Submit(world.Job{User: "alice", Spec: spec, Model: world.Amdahl(60, 0.05)})
	if err := w.Drive(context.Background(), d, 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := sizes(first); len(got) < 2 || got[0] != 1 || got[1] < 2 {
		t.Errorf("the first job ran on %v GPUs, want 1 and then more\n%s", got, d.log.String())
	}
	if !strings.Contains(d.log.String(), "no checkpoint seen yet") {
		t.Errorf("nothing says why it starts at its minimum:\n%s", d.log.String())
	}
	d = boot(t, w, kept, "lookahead", asOnASite)
	again := func(user string, change func(*elastic.Spec)) int {
		s := spec
		s.Token = ""
		change(&s)
		j := w.Submit(world.Job{User: user, Spec: s, Model: world.Amdahl(60, 0.05)})
		if err := w.Drive(context.Background(), d, 2*time.Hour); err != nil {
			t.Fatal(err)
		}
		return sizes(j)[0]
	}
	if n := again("alice", func(s *elastic.Spec) { s.Model = "" }); n != 4 {
		t.Errorf("the same script starts on %d GPUs, want 4", n)
	}
	if n := again("alice", func(s *elastic.Spec) { s.Script = "ba9876543210" }); n != 4 {
		t.Errorf("the same model starts on %d GPUs, want 4", n)
	}
	if n := again("alice", func(s *elastic.Spec) { s.Script, s.Model = "ba9876543211", "other" }); n != 1 {
		t.Errorf("another script and model start on %d GPUs, want 1", n)
	}
	if n := again("bob", func(*elastic.Spec) {}); n != 1 {
		t.Errorf("another user's job starts on %d GPUs, want 1", n)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}

// TestSilentJobLeavesTheCluster: a program that reports nothing keeps its minimum, whatever is idle, and
// later jobs start at once. A program that writes "hello" and never answers is asked DeafAfter
// times, and the GPUs reserved for its move are free again after its grace period.
func TestSilentJobLeavesTheCluster(t *testing.T) {
	for name, how := range map[string]world.Behaviour{"silent": {Silent: true}, "deaf": {Deaf: true}} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(3, 4)}})
		d := boot(t, w, new(journal.Memory), "lookahead", asOnASite)
		mute := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Total: 60, Model: "net"}, Behaviour: how})
		var next *world.Trainer
		w.At(20*time.Minute, func() {
			next = w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 8, Max: 8, Total: 20}})
		})
		w.At(21*time.Minute, func() {
			if runs := next.Runs(); len(runs) != 1 {
				t.Errorf("%s: the next job does not run a minute after it came\n%s", name, d.log.String())
			}
		})
		if err := w.Drive(context.Background(), d, 3*time.Hour); err != nil {
			t.Error(err)
		}
		if got := sizes(mute); len(got) != 1 || got[0] != 1 {
			t.Errorf("%s: it ran on %v GPUs, want its minimum of 1 once\n%s", name, got, d.log.String())
		}
		for _, bad := range w.Check() {
			t.Error(bad)
		}
		if asked := strings.Count(d.log.String(), "open: resize"); how.Deaf && (asked == 0 || asked > 4) || how.Silent && asked > 0 {
			t.Errorf("%s: %d moves were opened for it", name, asked)
		}
	}
}

// TestDeafJobTakesItBack: if one job of a script does not answer its requests, the script counts as
// unknown until another job answers.
func TestDeafJobTakesItBack(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(3, 4)}})
	start, kept := w.Now(), new(journal.Memory)
	d := boot(t, w, kept, "lookahead", asOnASite)
	spec := elastic.Spec{Min: 1, Max: 4, Total: 60, Model: "net"}
	w.Submit(world.Job{User: "alice", Spec: spec})
	if err := w.Drive(context.Background(), d, 3*time.Hour); err != nil {
		t.Error(err)
	}
	if known, err := kept.Answers(context.Background()); err != nil || len(known) != 1 {
		t.Fatalf("%v, %v: want what the first job has shown", known, err)
	}
	deaf := w.Submit(world.Job{User: "alice", Spec: spec, Behaviour: world.Behaviour{Deaf: true}})
	w.At(w.Now().Sub(start)+5*time.Minute, func() { // because of which it is asked to shrink
		w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 9, Max: 9, Total: 60}})
	})
	if err := w.Drive(context.Background(), d, 3*time.Hour); err != nil {
		t.Error(err)
	}
	if got := sizes(deaf); got[0] != 4 {
		t.Errorf("the job of a known model starts on %v GPUs, want 4", got)
	}
	if left, err := kept.Answers(context.Background()); err != nil || len(left) != 0 {
		t.Errorf("the answers of the model still count: %v, %v\n%s", left, err, d.log.String())
	}
}
