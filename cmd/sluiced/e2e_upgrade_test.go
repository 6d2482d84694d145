package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestUpgradeFromHolds: sluiced takes over a running system of a release that held waiting jobs, killed in
// the middle of a move. Jobs that were held to wait wait by their begin times then; the one that its
// user ordered to be held stays held; all complete. SLUICE_OLDER is the folder of that release's
// programs, built with the tag crash.
func TestUpgradeFromHolds(t *testing.T) {
	older := os.Getenv("SLUICE_OLDER")
	if older == "" {
		t.Skip("SKIPPED, no upgrade was tested: SLUICE_OLDER names no programs of an older release")
	}
	for _, step := range []int{4, 5, 6} {
		t.Run(fmt.Sprintf("R%d", step), func(t *testing.T) {
			t.Parallel()
			upgradeFromHolds(t, step, older)
		})
	}
}

func upgradeFromHolds(t *testing.T, step int, older string) {
	programs, err := os.MkdirTemp("", "sluice-e2e-upgrade-")
	if err == nil {
		err = os.Chmod(programs, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(programs) })
	install(t, programs, older)
	s := play(t, withNodes(3, 4), func(c *site.Config) { c.Bin = programs })
	moves := s.submit("moves", "", 100, []string{"--max-gpus=2"}, "--seconds", "0.4")
	moves.firstSize(2) // a job that grows might have to wait behind the waiting ones
	var runs, waits []*job
	for _, name := range []string{"one", "two"} {
		j := s.submit(name, "", 200, []string{"--min-gpus=4", "--max-gpus=4"}, "--seconds", "0.5")
		j.runsOn(4)
		runs = append(runs, j)
	}
	for name, gpus := range map[string]int{"small": 4, "wide": 8, "held": 4} {
		j := s.submit(name, "", 5, []string{fmt.Sprintf("--min-gpus=%d", gpus)})
		j.until("to wait", func(v wire.Job) bool { return v.State == "PENDING" })
		waits = append(waits, j)
	}
	s.as("", "sluice", "hold", fmt.Sprint(named(waits, "held").id))
	named(waits, "held").until("to be held", func(v wire.Job) bool { return v.OnHold })
	s.must(site.Until(s.ctx, time.Minute, "the order to be in its comment", func() (bool, error) {
		return strings.Contains(s.comment(named(waits, "held")), "hold=1"), nil
	}))
	crash := filepath.Join(s.State, "crash")
	s.write(crash, fmt.Sprint(step))
	s.must(os.Chmod(crash, 0o666))
	s.as("", "sluice", "resize", fmt.Sprint(moves.id), "--gpus", "1")
	s.must(site.Until(s.ctx, time.Minute, fmt.Sprintf("sluiced to die at R%d", step), func() (bool, error) { return !s.Alive(), nil }))
	install(t, programs, bin)
	s.must(s.Start(s.ctx))
	for _, j := range waits {
		s.must(site.Until(s.ctx, 30*time.Second, fmt.Sprintf("job %s to be converted", j.name), func() (bool, error) {
			held := j.field("JobState") == "PENDING" && j.field("Priority") == "0"
			return held == (j.name == "held") && strings.Contains(s.comment(j), "defer=1"), nil
		}))
	}
	for _, j := range append(append([]*job{moves}, runs...), waits...) {
		if j.name != "held" {
			j.completes()
		}
	}
	s.as("", "sluice", "release", fmt.Sprint(named(waits, "held").id))
	named(waits, "held").completes()
}

func named(jobs []*job, name string) *job {
	for _, j := range jobs {
		if j.name == name {
			return j
		}
	}
	return nil
}

func (s *scene) comment(j *job) string {
	s.t.Helper()
	return s.as("", "squeue", "-h", "-j", fmt.Sprint(j.id), "-O", "comment:1024")
}

// install replaces the programs in a folder, also those that run.
func install(t *testing.T, folder, from string) {
	t.Helper()
	for _, program := range []string{"sluice", "sluice-lab", "sluiced"} {
		content, err := os.ReadFile(filepath.Join(from, program))
		fresh := filepath.Join(folder, program+".new")
		if err == nil {
			err = site.Put(fresh, content, 0o755)
		}
		if err == nil {
			err = os.Rename(fresh, filepath.Join(folder, program))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
