package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// failovers is how often TestBackupTakesOver kills the primary slurmctld: once by default, or
// SLUICE_FAILOVERS times. Each takes 1 to 2 min.
func failovers(t *testing.T) int {
	text := os.Getenv("SLUICE_FAILOVERS")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("SLUICE_FAILOVERS=%q: must be a number from 1", text)
	}
	return n
}

// TestBackupTakesOver: while two jobs are resized back and forth, the primary slurmctld is killed at
// each step of a move in turn. The backup takes over, the primary returns, and every move ends on
// its target; no work is lost, and the audit is clean.
func TestBackupTakesOver(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can run two slurmctld on one machine")
	}
	kills := failovers(t)
	s := play(t, withNodes(2, 4), func(c *site.Config) { c.Lab.Backup = true })
	s.ctx = t.Context() // a campaign takes longer than play allows
	epochs := 30 + 60*kills
	jobs := []*job{
		s.submit("one", "", epochs, []string{"--max-gpus=4"}, "--seconds", "0.5", "--save-seconds", "0.5"),
		s.submit("two", "", epochs, []string{"--max-gpus=4"}, "--seconds", "0.5", "--save-seconds", "0.5"),
	}
	size := 1
	for _, j := range jobs {
		s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(size))
	}
	for _, j := range jobs {
		j.runsOn(size)
	}
	time.Sleep(10 * time.Second) // a killed slurmctld loses jobs that it has not saved yet
	rng := rand.New(rand.NewPCG(1, uint64(kills)))
	steps, stuck := map[int]int{}, 0
	for n := range kills {
		size = 3 - size
		from := int64(len(s.logFrom(0)))
		for _, j := range jobs {
			s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(size))
		}
		step := []int{4, 2, 5, 6, 3}[n%5]
		at := jobs[n%2].reaches(step, from)
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		s.must(s.Lab.KillController(s.ctx))
		steps[at]++
		if n%3 == 0 { // a daemon that starts while no slurmctld is in control
			s.Kill()
			s.must(s.Start(s.ctx))
		}
		// Queries of Slurm are answered by the backup once it has taken over. Slurm's
		// commands wait for that, but not always long enough.
		s.must(site.Until(s.ctx, 2*time.Minute, "the backup to answer", func() (bool, error) {
			_, err := s.Run(s.ctx, "", "squeue")
			return err == nil, nil
		}))
		for _, j := range jobs {
			j.runsOn(size)
		}
		err := s.Lab.StartController(s.ctx)
		if errors.Is(err, lab.ErrBackup) { // Slurm's own fault; an administrator restarts it
			stuck++
			err = errors.Join(s.Lab.KillBackup(s.ctx), s.Lab.StartBackup(s.ctx))
		}
		s.must(errors.Join(err, s.Lab.WaitHealthy(s.ctx)))
	}
	t.Logf("killed, by the step that a move had come to: %v", steps)
	if stuck > 0 {
		t.Logf("%d times the backup did not give control back, and was killed and started again", stuck)
	}
	t.Logf("reliability: failovers %d", kills)
	for _, j := range jobs {
		s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	}
	for _, j := range jobs {
		if state := j.ends(); state != "COMPLETED" {
			t.Errorf("job %d ended as %s", j.id, state)
		}
		tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
		s.must(err)
		t.Logf("job %d: %d steps, %d missing, %d trained twice, runs on %v GPUs", j.id, tr.Steps, tr.Missing, tr.Repeated, tr.Worlds)
		if tr.Missing > 0 {
			t.Errorf("%d steps of job %d were never trained", tr.Missing, j.id)
		}
	}
}

// reaches waits until a move of the job has come to the step, by the log from the offset on,
// and returns the step. It looks more often than a step takes.
func (j *job) reaches(step int, from int64) int {
	j.s.t.Helper()
	at := 0
	for end := time.Now().Add(2 * time.Minute); at < step; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			j.s.t.Fatalf("no move of job %d came to R%d, only to R%d", j.id, step, at)
		}
		for line := range strings.Lines(j.s.logFrom(from)) {
			var e struct {
				Event, Message string
				Job            int64
			}
			if json.Unmarshal([]byte(line), &e) != nil || e.Job != j.id {
				continue
			}
			switch e.Event {
			case "open":
				at = 1
			case "step":
				_, _ = fmt.Sscanf(e.Message, "R%d", &at)
			case "close":
				at = 7
			}
		}
	}
	return at
}

// logFrom is what sluiced has logged since its log had that length.
func (s *scene) logFrom(offset int64) string {
	s.t.Helper()
	log, err := os.ReadFile(s.Log)
	s.must(err)
	return string(log[min(offset, int64(len(log))):])
}
