package world_test

import (
	"context"
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
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// hungLimiter returns a site's limits, but never returns while gate is set.
type hungLimiter struct {
	mu     sync.Mutex
	gate   chan struct{}
	limits slurm.Limits
}

func (h *hungLimiter) Limits(context.Context) (slurm.Limits, error) {
	h.mu.Lock()
	gate, l := h.gate, h.limits
	h.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return l, nil
}

// hangs makes it never return, until goes is called.
func (h *hungLimiter) hangs() (goes func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	gate := make(chan struct{})
	h.gate = gate
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.gate = nil
		close(gate)
	}
}

// TestLimitsThatNeverCome: Slurm never answers the query for limits. No cycle waits longer than 2 s for
// it, open moves end, and no new move is opened until the query counts as failed, which is logged
// once. Then the known limits apply. A late answer is used.
func TestLimitsThatNeverCome(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	site := &hungLimiter{limits: groupOf(3)}
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) {
		c.Limiter = offcycle.NewLimiter(t.Context(), site, w.Now)
	})
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 1e6}, Model: world.Amdahl(60, 0.02)})
	d.drive(t, 10*time.Minute)
	if got := d.of(t, job).Job.GPUs(); got != 3 {
		t.Fatalf("it has %d of 3 GPUs: %s", got, sentence(d.of(t, job).Why))
	}

	goes := site.hangs()
	d.log.Reset()
	began := time.Now()
	d.drive(t, time.Minute) // until the next query
	d.pin(t, job, 2)
	d.drive(t, 20*time.Second)
	if log := d.log.String(); strings.Contains(log, " open:") || strings.Count(log, "no move is opened now") != 1 {
		t.Errorf("while Slurm is asked:\n%s", log)
	}
	d.drive(t, 5*time.Minute)
	if got := d.of(t, job).Job.GPUs(); got != 2 {
		t.Errorf("by the limits known it is to have 2 GPUs and has %d: %s", got, sentence(d.of(t, job).Why))
	}
	d.pin(t, job, 3)
	d.drive(t, 5*time.Minute)
	if got := d.of(t, job).Job.GPUs(); got != 3 {
		t.Errorf("by the limits known it is to have 3 GPUs and has %d: %s", got, sentence(d.of(t, job).Why))
	}
	if n := strings.Count(d.log.String(), "limits"); n != 2 {
		t.Errorf("told %d times of them:\n%s", n, d.log.String())
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("11 min of cycles took %s of real time", took)
	}

	site.mu.Lock()
	site.limits = groupOf(4)
	site.mu.Unlock()
	goes()
	d.pin(t, job, 4)
	for range 100 { // its answer takes real time
		time.Sleep(10 * time.Millisecond)
		if d.drive(t, 30*time.Second); d.of(t, job).Job.GPUs() == 4 {
			return
		}
	}
	t.Errorf("by the new limits it is to have 4 GPUs and has %d: %s", d.of(t, job).Job.GPUs(), sentence(d.of(t, job).Why))
}
