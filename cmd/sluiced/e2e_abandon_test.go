package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// brief is quick with the shortest time after which Slurm starts waiting jobs by itself.
var brief = strings.Replace(quick, "[cycle]\n", "[cycle]\nbackoff = \"10s\"\nabandon = \"1m\"\n", 1)

// TestGoneForGood: sluiced is killed after a step of a job's move, and does not come back. The cluster is
// then a plain one: every waiting job starts by itself at its minimum and completes, that of the move
// too, and what its user holds stays held until it is released through Slurm. On every release that
// labtest knows; SLUICE_EXHAUSTIVE=1 is after every step.
func TestGoneForGood(t *testing.T) {
	steps := []int{4, 6}
	if os.Getenv("SLUICE_EXHAUSTIVE") == "1" {
		steps = []int{3, 4, 5, 6}
	}
	for _, root := range labtest.Roots() {
		for _, step := range steps {
			t.Run(fmt.Sprintf("%sR%d", strings.Trim(filepath.Base(root), "."), step), func(t *testing.T) {
				t.Parallel()
				goneForGood(t, step, func(c *site.Config) { c.Lab.Root = root })
			})
		}
	}
}

// copies is how many jobs there are in each state, SLUICE_GONE of them. 4 makes 31 jobs. All MUST end within
// MinJobAge (5 min), after which Slurm knows nothing of a job.
func copies() int {
	n, _ := strconv.Atoi(os.Getenv("SLUICE_GONE"))
	return max(1, n)
}

func goneForGood(t *testing.T, step int, release setting) {
	s := play(t, withNodes(3, 4), withConfig(brief), release)
	long := func(name string) *job {
		return s.submit(name, "", 60*min(2, copies()), []string{"--min-gpus=4", "--max-gpus=4"}, "--seconds", "0.5")
	}
	moves := s.submit("moves", "", 100, []string{"--max-gpus=2"}, "--seconds", "0.4")
	moves.firstSize(2) // a job that grows might have to wait behind the waiting ones
	runs := []*job{long("one"), long("two")}
	for _, j := range runs {
		j.runsOn(4)
	}
	waits := func(name string, options ...string) *job {
		j := s.submit(name, "", 5, options)
		j.until("to wait", func(v wire.Job) bool { return v.State == "PENDING" })
		return j
	}
	var waiting, held []*job
	for i := range copies() {
		named := func(name string) string { return fmt.Sprint(name, i) }
		waiting = append(waiting,
			waits(named("small"), "--min-gpus=4"), waits(named("wide"), "--min-gpus=8"),
			waits(named("later"), "--min-gpus=1", "--max-gpus=1", "--begin=now+100"),
			waits(named("after"), "--min-gpus=4", fmt.Sprintf("--dependency=afterok:%d", runs[0].id)))
		bySlurm, bySluice := waits(named("byslurm"), "--min-gpus=4"), waits(named("bysluice"), "--min-gpus=4")
		held = append(held, bySlurm, bySluice, waits(named("fromthestart"), "--min-gpus=4", "--hold"))
		s.as("", "scontrol", "hold", fmt.Sprint(bySlurm.id))
		s.as("", "sluice", "hold", fmt.Sprint(bySluice.id))
	}
	isHeld := func(j *job) bool { return j.field("JobState") == "PENDING" && j.field("Priority") == "0" }
	for _, j := range held {
		s.must(site.Until(s.ctx, time.Minute, fmt.Sprintf("job %d to be held", j.id), func() (bool, error) { return isHeld(j), nil }))
	}
	crash := filepath.Join(s.State, "crash")
	s.write(crash, fmt.Sprint(step))
	s.must(os.Chmod(crash, 0o666))
	s.as("", "sluice", "resize", fmt.Sprint(moves.id), "--gpus", "1")
	s.must(site.Until(s.ctx, time.Minute, fmt.Sprintf("sluiced to die at R%d", step), func() (bool, error) { return !s.Alive(), nil }))
	died := time.Now()
	t.Logf("sluiced is gone; the job that moves: %s %s, begins %s", moves.field("JobState"), moves.field("Reason"), moves.field("StartTime"))
	for _, j := range append(append([]*job{moves}, runs...), waiting...) {
		j.completes()
	}
	t.Logf("all have ended %v after", time.Since(died).Round(time.Second))
	for _, j := range held {
		if !isHeld(j) {
			t.Errorf("job %s, which its user holds, is %s with priority %s", j.name, j.field("JobState"), j.field("Priority"))
		}
		s.as("", "scontrol", "release", fmt.Sprint(j.id))
	}
	for _, j := range held {
		j.completes()
	}
}
