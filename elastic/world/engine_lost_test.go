package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// settling is for how long nothing is started on a node after it was lost.
const settling = 15 * time.Second

// TestReturnedNodeIsLeftAlone: when a lost node returns, Slurm still ends what ran there, and would also
// end a new run. Nothing is started there for a while, whether the loss was seen or fell between
// two cycles.
func TestReturnedNodeIsLeftAlone(t *testing.T) {
	for name, away := range map[string]time.Duration{"seen": 40 * time.Second, "between two looks": 200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = time.Second })
			j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 60}})
			d.drive(t, time.Minute)
			at := time.Minute + 300*time.Millisecond
			w.At(at, func() { w.Slurm.NodeDown("gpu1", "test") })
			w.At(at+away, func() { w.Slurm.NodeReturn("gpu1") })
			back := d.of(t, j).Job.Started.Add(0)
			d.drive(t, away+2*time.Second)
			returned := w.Now().Add(-2 * time.Second)
			if got := d.of(t, j); got.Job.Phase == elastic.Running {
				t.Errorf("runs again at once (%s)", sentence(got.Why))
			}
			d.drive(t, settling+10*time.Second)
			got := d.of(t, j)
			if got.Job.Phase != elastic.Running || got.Job.State != string(slurm.Running) {
				t.Fatalf("%s (%s)\n%s", got.Job.State, sentence(got.Why), d.log.String())
			}
			if !got.Job.Started.After(back) || got.Job.Started.Before(returned.Add(settling-2*time.Second)) {
				t.Errorf("started %s after the node's return\n%s", got.Job.Started.Sub(returned), d.log.String())
			}
		})
	}
}

// TestNodeReturnsDuringAnOutage: slurmctld, which is away for longer than it owes the lost node anything,
// sends its kill request after its return. Nothing is started there right then.
func TestNodeReturnsDuringAnOutage(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4), Faults: fake.MustParse("at 65s: down 5m")}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = time.Second })
	j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 60}})
	answers := w.Now().Add(6*time.Minute + 5*time.Second)
	w.At(time.Minute, func() { w.Slurm.NodeDown("gpu1", "test") })
	w.At(70*time.Second, func() { w.Slurm.NodeReturn("gpu1") })
	d.drive(t, 7*time.Minute)
	got := d.of(t, j).Job
	if got.Phase != elastic.Running || got.Restarts == 0 || got.Started.Before(answers.Add(settling)) {
		t.Errorf("%s, started %s after the outage\n%s", got.State, got.Started.Sub(answers), d.log.String())
	}
}

// TestLostNodeDoesNotHoldOthersUp: meanwhile other nodes are used at once.
func TestLostNodeDoesNotHoldOthersUp(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = time.Second })
	w.At(10*time.Second, func() { w.Slurm.NodeDown("gpu1", "test") })
	w.At(20*time.Second, func() { w.Slurm.NodeReturn("gpu1") })
	d.drive(t, 22*time.Second)
	if usable, why := d.node(t, "gpu1"); usable || !strings.HasPrefix(why, "RETURNED (used again from ") {
		t.Errorf("gpu1: usable %v, %q", usable, why)
	}
	j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 60}})
	d.drive(t, 6*time.Second)
	if got := d.of(t, j).Job; got.Phase != elastic.Running || got.Place[0].Node != "gpu2" {
		t.Errorf("%s on %s", got.State, got.Place)
	}
	d.drive(t, settling)
	if usable, why := d.node(t, "gpu1"); !usable {
		t.Errorf("gpu1 is still left out: %q", why)
	}
}

// TestWrongedRunIsRequeued: a kill request for the lost run that arrives even later ends the next run.
// That job is requeued; a job that fails by itself, or much later, is not.
func TestWrongedRunIsRequeued(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // from the loss to the exit
		code  int
		back  bool
	}{
		"killed soon":      {time.Minute, 137, true},
		"killed long ago":  {10 * time.Minute, 137, false},
		"failed by itself": {time.Minute, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = time.Second })
			j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 600}})
			d.drive(t, time.Minute)
			w.At(time.Minute+time.Second, func() { w.Slurm.NodeDown("gpu1", "test") })
			w.At(time.Minute+5*time.Second, func() { w.Slurm.NodeReturn("gpu1") })
			w.At(time.Minute+c.after, func() { j.Die(c.code) })
			d.drive(t, c.after+30*time.Second)
			if got := d.of(t, j); (got.Job.Phase == elastic.Running) != c.back {
				t.Errorf("%s: %s\n%s", got.Job.State, sentence(got.Why), d.log.String())
			}
		})
	}
}

// TestAKilledRunnerIsRequeued: a job whose batch script was killed by a signal resumes from its newest
// checkpoint, until twice in a row nothing was saved in between. It fails with --on-timeout=end,
// --retries=0, in a measurement, or if the program never saved.
func TestAKilledRunnerIsRequeued(t *testing.T) {
	for name, c := range map[string]struct {
		again, mute, final bool
		strikes            int
		back               bool
	}{
		"once":                 {true, false, false, 1, true},
		"twice":                {true, false, false, 2, true},
		"again and again":      {true, false, false, 3, false},
		"is not to be started": {false, false, false, 1, false},
		"--retries=0":          {true, false, true, 1, false},
		"never answered":       {true, true, false, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = time.Second })
			j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 6000, Again: c.again}, Behaviour: world.Behaviour{Silent: c.mute, Forge: func(r *checkpoint.Runner) { r.Final = c.final }}})
			for i := range c.strikes {
				w.At(time.Duration(i+1)*time.Minute, func() { j.Strike(9) })
			}
			d.drive(t, time.Duration(c.strikes)*time.Minute+30*time.Second)
			got := d.of(t, j)
			if (got.Job.Phase == elastic.Running) != c.back {
				t.Errorf("%s: %s\n%s", got.Job.State, sentence(got.Why), d.log.String())
			}
			if !c.back && got.Ending.String() != "failed: killed by signal 9" {
				t.Errorf("ended %q", got.Ending)
			}
		})
	}
}

// TestARestWakes: a job whose start is delayed after a node failure starts at the end of that delay.
func TestARestWakes(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = 10 * time.Minute })
	j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 6000}})
	d.drive(t, time.Minute)
	node := d.of(t, j).Job.Place[0].Node
	w.At(time.Minute+time.Second, func() { w.Slurm.NodeDown(node, "test") })
	d.drive(t, 10*time.Second)
	d.drive(t, settling+10*time.Second)
	if got := d.of(t, j); got.Job.Phase != elastic.Running {
		t.Errorf("%s: %s", got.Job.State, sentence(got.Why))
	}
}

// silenced is a mailbox whose runners died while their programs waited to be stopped: their status
// never changes.
type silenced struct {
	observe.Mailbox
	at time.Time
}

// Runner returns the runner's status at that time.
func (s silenced) Runner(token string, uid uint32) (checkpoint.Runner, bool, error) {
	r, ok, err := s.Mailbox.Runner(token, uid)
	if ok && r.Beat.After(s.at) {
		r.Beat, r.State = s.at, checkpoint.Waiting
	}
	return r, ok, err
}

// TestADeadRunnerIsToldOnce: a request without a move is withdrawn, and only once if the runner is dead.
func TestADeadRunnerIsToldOnce(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) {
		c.Mailbox = silenced{c.Mailbox, w.Now().Add(30 * time.Second)}
		c.Period = time.Second
	})
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 600}})
	d.drive(t, time.Minute)
	before := strings.Count(d.log.String(), "withdraw the request")
	d.drive(t, 10*time.Minute)
	if n := strings.Count(d.log.String(), "withdraw the request"); before < 2 || n != before { // one withdrawal belongs to the start
		t.Errorf("withdrawn %d times, then %d", before, n)
	}
}
