package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestStartsInSlurmsOrder: on a real Slurm, of two jobs that wait the one of higher priority starts
// first, although it came later.
func TestStartsInSlurmsOrder(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	whole := []string{"--min-gpus=2", "--max-gpus=2"}
	first := s.submit("first", "", 20, whole)
	first.runsOn(2)
	nice := s.submit("nice", "", 2, append([]string{"--nice=5000"}, whole...))
	plain := s.submit("plain", "", 2, whole)
	for _, j := range []*job{nice, plain} {
		j.until("to have a priority", func(v wire.Job) bool { return v.State == "PENDING" && v.Priority > 0 })
	}
	if n, p := nice.view().Priority, plain.view().Priority; n >= p {
		t.Fatalf("the job with --nice has priority %d, the other %d", n, p)
	}
	told := s.as("", "sluice", "explain", fmt.Sprint(nice.id))
	for _, want := range []string{"2 of 2 that wait, by priority: ", fmt.Sprintf("job %d before it has ", plain.id), "Slurm's own part is higher"} {
		if !strings.Contains(told, want) {
			t.Errorf("explain does not say %q:\n%s", want, told)
		}
	}
	first.completes()
	plain.completes()
	nice.completes()
	if n, p := nice.view(), plain.view(); !p.FirstRun.Before(n.FirstRun) {
		t.Errorf("the job of priority %d began at %v, the one of priority %d at %v", p.Priority, p.FirstRun, n.Priority, n.FirstRun)
	}
}
