package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
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

// TestOrdinaryJobsAmongElasticOnes: on a real Slurm, of an elastic and an ordinary job that wait for the
// same GPUs the one that Slurm has first starts first, although Slurm could start the ordinary one at
// any time and the elastic one is deferred. priority/basic: the one that came first.
func TestOrdinaryJobsAmongElasticOnes(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	ordinary := func(name string, seconds int) string {
		id := s.as("", "sbatch", "--parsable", "--job-name="+name, "--output=/dev/null", "--gpus=2", fmt.Sprintf("--wrap=sleep %d", seconds))
		return strings.TrimSpace(id)
	}
	started := func(id string) {
		s.must(site.Until(s.ctx, 3*time.Minute, "job "+id+" to start", func() (bool, error) {
			state := strings.TrimSpace(s.as("", "squeue", "--noheader", "--states=all", "--format=%T", "--jobs="+id))
			return state != "" && state != "PENDING", nil
		}))
	}
	holds := ordinary("holds", 900)
	started(holds)
	whole := []string{"--min-gpus=2", "--max-gpus=2"}
	first := s.submit("first", "", 4, whole)
	between := ordinary("between", 20)
	last := s.submit("last", "", 2, whole)
	first.until("to wait in Slurm", func(v wire.Job) bool { return v.SlurmReason == "Resources" || v.SlurmReason == "Priority" })
	last.until("to be known", func(v wire.Job) bool { return v.State == "PENDING" })
	s.as("", "scancel", holds)
	started(between)
	start, err := time.ParseInLocation("2006-01-02T15:04:05", strings.TrimSpace(s.as("", "squeue", "--noheader", "--states=all", "--format=%S", "--jobs="+between)), time.Local)
	s.must(err)
	last.completes()
	if f, l := first.view().FirstRun, last.view().FirstRun; !f.Before(start) || l.Before(start) {
		t.Errorf("the elastic jobs began at %s and %s, the ordinary one between them at %s", f, l, start)
	}
}
