package world_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestReadThatNeverReturns: reads of one user's folders block forever, as if the NFS server is down. Every
// cycle still ends soon, and other users' jobs start, grow and shrink as usual.
func TestReadThatNeverReturns(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(4, 4)}})
	d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) {
		c.Mailbox = offcycle.NewMailbox(c.Mailbox, w.Now)
	})
	submit := func(user string, most int) *world.Trainer {
		return w.Submit(world.Job{User: user, Spec: elastic.Spec{Min: 1, Max: most, Total: 500}, Model: world.Amdahl(60, 0.02)})
	}
	hung, twin, other := submit("alice", 4), submit("alice", 4), submit("bob", 8)
	d.drive(t, 5*time.Minute)
	var mu sync.Mutex
	var stop chan struct{}
	w.Mail.Fault = func(op, token string) error {
		mu.Lock()
		gate := stop
		mu.Unlock()
		if gate != nil && token == hung.Token {
			<-gate
		}
		return nil
	}
	gate := make(chan struct{})
	mu.Lock()
	stop = gate
	mu.Unlock()
	size := d.of(t, hung).Job.GPUs()
	began := time.Now()
	late := submit("carol", 4)
	d.pin(t, twin, 1) // the same user's other job goes on
	d.drive(t, 10*time.Minute)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("10 min of cycles took %s of real time", took)
	}
	if got := d.of(t, late).Job.GPUs(); got < 1 {
		t.Errorf("a new job was not started: %s", sentence(d.of(t, late).Why))
	}
	if got := d.of(t, twin).Job.GPUs(); got != 1 {
		t.Errorf("another job of the same user has %d GPUs: %s", got, sentence(d.of(t, twin).Why))
	}
	if jr := d.of(t, hung); jr.Job.GPUs() != size {
		t.Errorf("the job has %d GPUs instead of %d: %s", jr.Job.GPUs(), size, sentence(jr.Why))
	}
	if jr := d.of(t, other); jr.Job.GPUs() < 1 || len(jr.Problems) > 0 {
		t.Errorf("the other has %d GPUs, problems %q", jr.Job.GPUs(), jr.Problems)
	}
	mu.Lock()
	stop = nil
	mu.Unlock()
	close(gate)
	time.Sleep(100 * time.Millisecond)
	d.pin(t, hung, 2)
	d.drive(t, 5*time.Minute)
	if got := d.of(t, hung).Job.GPUs(); got != 2 || strings.Contains(strings.Join(d.of(t, hung).Problems, ""), "folder") {
		t.Errorf("after it answers again it has %d GPUs: %s", got, sentence(d.of(t, hung).Why))
	}
}
