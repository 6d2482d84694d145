package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// job is one emulated training.
type job struct {
	id        int64
	log       string // log of its steps
	epochs    int
	max       int
	state     string    // as last shown by Slurm
	failed    time.Time // time at which a failure was first seen
	cancelled bool      // cancelled by its user
	over      bool
}

const perEpoch = 5

// sizes are the sizes that users request: all can be split evenly over three nodes of 4.
// A job pinned to 5 would, once stopped, wait indefinitely and report that.
var sizes = []int{1, 2, 3, 4, 6, 8}

// submit submits a training that takes 1 to 4 min on one GPU.
func (s *soak) submit(ctx context.Context, now time.Time) error {
	if s.live() >= most || s.down.controller {
		return nil
	}
	n := s.count.submits
	j := &job{epochs: 20 + s.rng.IntN(80), max: sizes[s.rng.IntN(len(sizes))], log: s.Path("home", fmt.Sprintf("steps%d", n))}
	script := s.Path("home", fmt.Sprintf("job%d.sh", n))
	text := fmt.Sprintf("#!/bin/bash\n#SBATCH --time=60\nexec /usr/bin/python3 -S -u %s %s %d %d 0.5\n", s.Path("train.py"), j.log, j.epochs, perEpoch)
	if err := site.Put(script, []byte(text), 0o755); err != nil {
		return err
	}
	s.asked = now
	var err error
	j.id, err = s.Submit(ctx, "", fmt.Sprintf("--epochs=%d", j.epochs), fmt.Sprintf("--max-gpus=%d", j.max),
		"--output=/dev/null", script)
	if err != nil {
		return err
	}
	s.count.submits++
	s.jobs = append(s.jobs, j)
	return os.Remove(script)
}

// live counts the jobs that have not ended.
func (s *soak) live() int {
	n := 0
	for _, j := range s.jobs {
		if !j.over {
			n++
		}
	}
	return n
}

// some is a random live job, nil if there is none.
func (s *soak) some() *job {
	var list []*job
	for _, j := range s.jobs {
		if !j.over && !j.cancelled {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[s.rng.IntN(len(list))]
}

// cancel ends a job as its user does, through Slurm or through sluice.
func (s *soak) cancel(ctx context.Context, _ time.Time) error {
	j := s.some()
	if j == nil || s.down.controller {
		return nil
	}
	words := []string{"scancel"}
	if s.rng.IntN(2) == 0 {
		words = []string{"sluice", "cancel"}
	}
	j.cancelled = true // also if its answer is lost
	_, err := s.Run(ctx, "", words[0], append(words[1:], fmt.Sprint(j.id))...)
	s.count.cancels++
	return err
}

// pin requests a size.
func (s *soak) pin(ctx context.Context, _ time.Time) error {
	j := s.some()
	if j == nil || s.down.daemon {
		return nil
	}
	var fit []int
	for _, n := range sizes {
		if n <= j.max {
			fit = append(fit, n)
		}
	}
	s.count.pins++
	_, err := s.Run(ctx, "", "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(fit[s.rng.IntN(len(fit))]))
	return tolerable(err)
}

// tolerable accepts the error for a job that just ended.
func tolerable(err error) error {
	if err != nil && (strings.Contains(err.Error(), "has ended") || strings.Contains(err.Error(), "no such job")) {
		return nil
	}
	return err
}

// hold keeps a job from starting again, for a while.
func (s *soak) hold(ctx context.Context, now time.Time) error {
	j := s.some()
	if j == nil || s.down.daemon {
		return nil
	}
	s.count.holds++
	s.later(now, 3*time.Second, 15*time.Second, func(ctx context.Context) error { return s.release(ctx, j) })
	_, err := s.Run(ctx, "", "sluice", "hold", fmt.Sprint(j.id))
	return tolerable(err)
}

// release lifts a hold, once sluiced runs again.
func (s *soak) release(ctx context.Context, j *job) error {
	if j.over {
		return nil
	}
	_, err := s.Run(ctx, "", "sluice", "release", fmt.Sprint(j.id))
	if tolerable(err) != nil {
		s.later(time.Now(), 2*time.Second, 2*time.Second, func(ctx context.Context) error { return s.release(ctx, j) })
	}
	return ctx.Err()
}

// look asks Slurm for all jobs at once, and judges those that ended.
func (s *soak) look(ctx context.Context) error {
	if s.down.controller {
		return nil
	}
	if s.live() == 0 {
		return nil
	}
	out, err := s.Run(ctx, "", "squeue", "--noheader", "--states=all", "--format=%i %T")
	if err != nil {
		return s.reviveController(ctx)
	}
	states := parseStates(out)
	for _, j := range s.jobs {
		if j.over {
			continue
		}
		state, known := states[j.id]
		if !known {
			s.breaks("job %d is no longer known to Slurm, last seen %s", j.id, j.state)
			j.over = true
			continue
		}
		if j.state = state; state == "COMPLETED" || state == "CANCELLED" && j.cancelled {
			s.judge(j)
			continue
		}
		s.plead(ctx, j)
	}
	s.heed(ctx, time.Now())
	return nil
}

// heed does what `sluice explain` tells the user of a job that Slurm calls running although nothing of it is heard any
// more: it requeues the job. Slurm has been seen not to notice that a node which crashed no longer runs it.
func (s *soak) heed(ctx context.Context, now time.Time) {
	if s.down.daemon || now.Sub(s.heeded) < heedEvery {
		return
	}
	s.heeded = now
	out, err := s.Run(ctx, "", "sluice", "queue", "--json")
	if err != nil {
		return // sluiced may be starting
	}
	for _, id := range parseQuiet(out) {
		if !slices.ContainsFunc(s.jobs, func(j *job) bool { return j.id == id && j.state == "RUNNING" && !j.over }) {
			continue
		}
		s.tell("job %d has reported nothing for minutes: its user requeues it, as sluice explain says", id)
		s.count.requeued++
		if _, err := s.Run(ctx, "", "scontrol", "requeue", fmt.Sprint(id)); err != nil {
			s.tell("%v", err)
		}
	}
}

// parseQuiet reads which jobs have reported nothing for long.
func parseQuiet(out string) (list []int64) {
	var report wire.Report
	if json.Unmarshal([]byte(out), &report) != nil {
		return nil
	}
	for _, j := range report.Jobs {
		if !j.Quiet.IsZero() {
			list = append(list, j.JobID)
		}
	}
	return list
}

// parseStates reads lines "JOB STATE"; other lines are skipped.
func parseStates(out string) map[int64]string {
	states := map[int64]string{}
	for line := range strings.Lines(out) {
		number, state, _ := strings.Cut(strings.TrimSpace(line), " ")
		if id, err := strconv.ParseInt(number, 10, 64); err == nil {
			states[id] = state
		}
	}
	return states
}

// plead does what a job's user does after a failure if sluice has not requeued the job
// within some seconds.
func (s *soak) plead(ctx context.Context, j *job) {
	switch j.state {
	case "FAILED", "NODE_FAIL", "CANCELLED", "TIMEOUT", "BOOT_FAIL":
	default:
		j.failed = time.Time{}
		return
	}
	if j.failed.IsZero() {
		j.failed = time.Now()
	}
	if time.Since(j.failed) < 10*time.Second {
		return
	}
	if j.state == "CANCELLED" || j.state == "TIMEOUT" {
		s.breaks("job %d ended as %s without being cancelled", j.id, j.state)
	}
	s.count.requeued++
	if _, err := s.Run(ctx, "", "scontrol", "requeue", fmt.Sprint(j.id)); err == nil {
		j.failed = time.Time{}
	}
}

// judge reads what an ended job trained.
func (s *soak) judge(j *job) {
	j.over = true
	s.count.ended++
	epochs := j.epochs
	if j.state != "COMPLETED" {
		epochs = 0 // it was not meant to finish
	} else {
		s.count.completed++
	}
	t, err := site.ReadTraining(j.log, epochs, perEpoch)
	switch {
	case os.IsNotExist(err) && epochs == 0:
		return // cancelled before its first step
	case err != nil:
		s.breaks("job %d: %v", j.id, err)
	case t.Missing > 0:
		s.breaks("job %d completed, and %d of its steps were never trained", j.id, t.Missing)
	}
	s.count.steps += t.Steps
	s.count.repeated += t.Repeated
	s.count.resizes += t.Grown + t.Shrunk
	_ = os.Remove(j.log)
}

// reviveController starts a slurmctld that crashed, as systemd does on a site; if it is
// only slow it is queried again.
func (s *soak) reviveController(ctx context.Context) error {
	st, err := s.Lab.Status(ctx)
	if err != nil {
		return err
	}
	for _, d := range st.Daemons {
		if d.Name == "slurmctld" && d.PID == 0 {
			s.count.crashes++
			s.tell("slurmctld ended by itself; started again\n%s", strings.Join(s.Lab.Logs(10), "\n"))
			return s.Lab.StartController(ctx)
		}
	}
	return nil
}
