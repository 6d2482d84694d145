package main_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// dbdJobs is how many jobs run while slurmdbd is down: 4 by default, or SLUICE_DBD_JOBS.
func dbdJobs(t *testing.T) int {
	text := os.Getenv("SLUICE_DBD_JOBS")
	if text == "" {
		return 4
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSlurmdbdAway: slurmdbd is killed while jobs run under the limits of an account. Meanwhile jobs are
// submitted, resized and end within the known limits. A sluiced that starts in that time knows no
// limits and gives every job its minimum. Afterwards everything works as before.
func TestSlurmdbdAway(t *testing.T) {
	if err := lab.MissingAccounting(""); err != nil {
		t.Skipf("SKIPPED, not tested on a real Slurm: %v", err)
	}
	t.Parallel()
	const user = "sluice-test-m"
	s := play(t, withNodes(1, 4), withUsers([]string{user}), func(c *site.Config) { c.Lab.Accounting = true })
	s.must(s.Lab.Enroll(s.ctx, "chem", user))
	s.limit("user", user, "GrpTRES=gres/gpu=3")
	a := s.submit("a", user, 1000, []string{"--max-gpus=4"}, "--seconds", "0.4")
	a.runsOn(3)

	s.must(s.Lab.KillSlurmdbd(s.ctx))
	began := time.Now()
	s.as(user, "sluice", "resize", fmt.Sprint(a.id), "--gpus", "1")
	a.runsOn(1)
	for i := range dbdJobs(t) { // 2 of 3 GPUs are left to them
		b := s.submit(fmt.Sprintf("b%d", i), user, 3, []string{"--max-gpus=2"}, "--seconds", "0.2")
		b.completes()
	}
	s.as(user, "sluice", "resize", fmt.Sprint(a.id), "--gpus", "auto")
	a.runsOn(3)
	if v := a.view(); !strings.Contains(v.Reason, "GrpTRES=gres/gpu=3") {
		t.Errorf("the reason does not name the limit: %q", v.Reason)
	}

	s.Kill()
	s.must(s.Start(s.ctx))
	c := s.submit("c", user, 3, []string{"--max-gpus=2"}, "--seconds", "0.2")
	c.until("to wait for the limit, or to be kept from more than its minimum", func(v wire.Job) bool { return v.Reason != "" })
	s.as(user, "sluice", "resize", fmt.Sprint(a.id), "--gpus", "1")
	a.runsOn(1)
	c.completes()
	s.as(user, "sluice", "resize", fmt.Sprint(a.id), "--gpus", "auto")
	a.until("to be told that limits are not known", func(v wire.Job) bool { return v.GPUs == 1 && strings.Contains(v.Reason, "limits") })
	t.Logf("slurmdbd was away for %v", time.Since(began).Round(time.Second))

	s.must(s.Lab.StartSlurmdbd(s.ctx))
	a.runsOn(3)
	s.cancel(a)
}

// TestSlurmdbdHangs: slurmdbd accepts connections and does not answer (SIGSTOP). Cycles continue while
// the query for limits is under way; no move is opened meanwhile, which is logged. Once the query has
// failed a job is resized by the known limits.
func TestSlurmdbdHangs(t *testing.T) {
	if err := lab.MissingAccounting(""); err != nil {
		t.Skipf("SKIPPED, not tested on a real Slurm: %v", err)
	}
	t.Parallel()
	const user = "sluice-test-r"
	s := play(t, withNodes(1, 4), withUsers([]string{user}), func(c *site.Config) { c.Lab.Accounting = true })
	s.must(s.Lab.Enroll(s.ctx, "chem", user))
	s.limit("user", user, "GrpTRES=gres/gpu=3")
	a := s.submit("a", user, 1000, []string{"--max-gpus=4"}, "--seconds", "0.4")
	a.runsOn(3)

	goesOn := s.stopsSlurmdbd()
	before := s.status().Cycles
	s.as(user, "sluice", "resize", fmt.Sprint(a.id), "--gpus", "1")
	for n := 0; !strings.Contains(s.logFrom(0), "those known stand"); n++ {
		if n > 1000 {
			t.Fatal("the limits still count as asked for")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if cycles := s.status().Cycles - before; cycles < 3 {
		t.Errorf("%d cycles while Slurm was asked for the limits", cycles)
	}
	if !strings.Contains(s.logFrom(0), "no move is opened now") {
		t.Error("nothing is said of the limits that did not come")
	}
	a.runsOn(1)
	goesOn()
	s.as(user, "sluice", "resize", fmt.Sprint(a.id), "--gpus", "auto")
	a.runsOn(3)
	s.cancel(a)
}

// stopsSlurmdbd stops the lab's slurmdbd (SIGSTOP) until goesOn is called.
func (s *scene) stopsSlurmdbd() (goesOn func()) {
	s.t.Helper()
	status, err := s.Lab.Status(s.ctx)
	s.must(err)
	at := slices.IndexFunc(status.Daemons, func(d lab.DaemonStatus) bool { return d.Name == "slurmdbd" })
	if at < 0 || status.Daemons[at].PID <= 0 {
		s.t.Fatalf("slurmdbd does not run: %+v", status.Daemons)
	}
	pid := status.Daemons[at].PID
	goesOn = sync.OnceFunc(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	s.t.Cleanup(goesOn)
	s.must(syscall.Kill(pid, syscall.SIGSTOP))
	return goesOn
}
