package world_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// dying is a mailbox whose runners report why their scripts failed.
type dying struct{ observe.Mailbox }

// Runner reads the runner's status as if the script had just failed.
func (d dying) RunnerNow(token string, uid uint32) (checkpoint.Runner, bool, error) {
	return d.Runner(token, uid)
}

func (d dying) Runner(token string, uid uint32) (checkpoint.Runner, bool, error) {
	r, ok, err := d.Mailbox.Runner(token, uid)
	r.State, r.LastWords = checkpoint.Exited, checkpoint.NewLastWords("exit code 1", []string{"boom"})
	return r, ok, err
}

// TestLastWordsOutliveTheJob: the explanation is reported after the job has ended, also by a daemon that
// starts only then.
func TestLastWordsOutliveTheJob(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
	memory := new(journal.Memory)
	dies := func(c *engine.Config) { c.Mailbox = dying{c.Mailbox} }
	d := boot(t, w, memory, "lookahead", dies)
	j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 2, Total: 600}})
	d.drive(t, 2*time.Minute)
	if jr := d.of(t, j); jr.Ended || jr.LastWords != nil {
		t.Errorf("it runs, and its last words are %+v", jr.LastWords)
	}
	if err := w.User("alice").Cancel(t.Context(), j.ID()); err != nil {
		t.Fatal(err)
	}
	d.drive(t, time.Minute)
	for range 2 {
		jr := d.of(t, j)
		if !jr.Ended || jr.LastWords == nil || jr.LastWords.Why != "exit code 1" || jr.LastWords.Lines[0] != "boom" {
			t.Errorf("ended %v, last words %+v", jr.Ended, jr.LastWords)
		}
		d = boot(t, w, memory, "lookahead", dies)
		d.drive(t, time.Minute)
	}
}

// TestEndedJobsSayHow: an ended job's report says how it ended, not what it last waited for, and its
// history has its run however short that was.
func TestEndedJobsSayHow(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	memory := new(journal.Memory)
	d := boot(t, w, memory, "lookahead")
	spec := elastic.Spec{Min: 1, Max: 1, Total: 600}
	fails := w.Submit(world.Job{User: "alice", Spec: spec, Behaviour: world.Behaviour{ExitAt: 0.01, ExitCode: 3}})
	noOutput := w.Submit(world.Job{User: "alice", Spec: spec, Args: []string{"--output=/nonexistent/x"}})
	hog := w.Submit(world.Job{User: "alice", Spec: spec})
	waits := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 8, Max: 8, Total: 600}})
	d.drive(t, time.Minute)
	if err := w.User("alice").Cancel(t.Context(), waits.ID()); err != nil {
		t.Fatal(err)
	}
	d.drive(t, time.Minute)
	for j, want := range map[*world.Trainer]struct {
		how  journal.How
		text string
		runs int
	}{
		fails: {journal.Failed, "failed: exit code 3", 1},
		noOutput: {journal.NoOutput, "failed: Slurm could not open its output file /nonexistent/x; " +
			"create its folder or submit with another --output", 1},
		waits: {journal.Cancelled, "cancelled before it started", 0},
		hog:   {"", "", 1},
	} {
		jr := d.of(t, j)
		if jr.Ending.How != want.how || jr.Ending.String() != want.text || jr.Ended && jr.Why != nil {
			t.Errorf("job %d: %+v %q, why %q", j.ID(), jr.Ending, jr.Ending, sentence(jr.Why))
		}
		runs, err := memory.Segments(t.Context(), j.Token)
		if err != nil || len(runs) != want.runs || want.runs > 0 && (runs[0].Place.GPUs() != 1 || jr.Ended && runs[0].Ended.IsZero()) {
			t.Errorf("job %d: runs %+v, %v", j.ID(), runs, err)
		}
	}
}
