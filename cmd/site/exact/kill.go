package exact

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// What is killed, and when.
var (
	kinds   = []string{"worker", "runner", "node"}
	moments = []string{"any", "any", "save", "resize"}
	sizes   = []int{1, 2, 3, 4, 6}
)

// death is one kill and its result.
type death struct {
	kind, moment string
	struck       bool          // something was killed; false if there was no opportunity
	run          int           // the run that was killed
	saving       bool          // a checkpoint was being written
	moving       bool          // sluice was moving the job, or had asked it to save
	by           string        // who requeued the job: Slurm, sluice or its user; "" = it did not come back
	again        int           // restarts that failed in Slurm before the one that trained
	corrupted    string        // checkpoint of which a byte was changed, newer than the expected one
	expected     string        // newest checkpoint that was committed and complete at the kill; "" = none
	committed    int64         // its step
	resumed      string        // checkpoint from which the next run started
	lost         int           // steps trained that must be trained again
	back         time.Duration // from the kill to the next step trained
}

// errOver says that the training ended before it could be killed.
var errOver = errors.New("the training ended first")

// die kills a part of the job at a random moment and follows the job until it trains
// again.
func (j *job) die(ctx context.Context, rng *rand.Rand) (death, error) {
	d := death{kind: j.t.o.Kinds[rng.IntN(len(j.t.o.Kinds))], moment: moments[rng.IntN(len(moments))]}
	if err := j.await(ctx, d.moment, rng); err != nil {
		return d, err
	}
	killed, err := j.strike(ctx, &d, rng)
	if err != nil {
		return d, err
	}
	d.struck = true
	if err := j.runOver(ctx, &d, killed); err != nil {
		return d, fmt.Errorf("after %w", err)
	}
	if err := j.requeue(ctx, &d, rng); err != nil {
		return d, err
	}
	if err := j.comesBack(ctx, &d); err != nil {
		return d, err
	}
	d.back = time.Since(killed.at)
	return d, j.repair(ctx)
}

// await waits for the moment of the kill.
func (j *job) await(ctx context.Context, moment string, rng *rand.Rand) error {
	between := func(most time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(most))) }
	switch moment {
	case "save":
		err := j.until(ctx, time.Minute, "a checkpoint to be written", func() (bool, error) {
			for range 40 { // Until checks five times a second
				if j.unfinished() != "" {
					return true, nil
				}
				time.Sleep(5 * time.Millisecond)
			}
			return false, j.unlessOver(ctx)
		})
		if err != nil {
			return err
		}
		return pause(ctx, between(250*time.Millisecond))
	case "resize":
		if err := j.pin(ctx, sizes[rng.IntN(len(sizes))]); err != nil {
			return errors.Join(err, j.unlessOver(ctx))
		}
		return pause(ctx, between(6*time.Second))
	}
	return pause(ctx, between(4*time.Second))
}

// unlessOver is errOver once the job has completed.
func (j *job) unlessOver(ctx context.Context) error {
	s, err := j.slurm(ctx)
	if err == nil && s.state == "COMPLETED" {
		return errOver
	}
	return err
}

// strike is what was killed.
type strike struct {
	at   time.Time
	node string // crashed node, to be revived; "" = none
	late bool   // it is not declared down
}

// strike kills. Between two runs there is nothing to kill: it waits for the next run.
func (j *job) strike(ctx context.Context, d *death, rng *rand.Rand) (s strike, err error) {
	err = j.until(ctx, 90*time.Second, "a "+d.kind+" to kill", func() (bool, error) {
		if err := j.unlessOver(ctx); err != nil {
			return false, err
		}
		list := j.processes()
		victims := slices.DeleteFunc(slices.Clone(list), func(p process) bool {
			return d.kind == "worker" && !p.worker || d.kind == "runner" && !p.runner
		})
		if len(victims) == 0 {
			return false, nil
		}
		for _, p := range list {
			d.run = max(d.run, p.run)
		}
		d.moving = j.moving(ctx)
		if d.kind == "node" {
			return j.crash(ctx, &s, rng)
		}
		s.at = time.Now()
		return kill(victims[rng.IntN(len(victims))].pid) == nil, nil
	})
	d.saving = j.unfinished() != ""
	return s, err
}

// crash ends a node that runs a part of the job. In three of four cases it is then
// declared down, as a site's health check does; otherwise Slurm must notice.
func (j *job) crash(ctx context.Context, s *strike, rng *rand.Rand) (bool, error) {
	seen, err := j.slurm(ctx)
	if err != nil || seen.state != "RUNNING" {
		return false, err
	}
	var mine []string
	for _, n := range j.t.Lab.NodeNames() {
		if strings.Contains(expand(seen.nodes), n) {
			mine = append(mine, n)
		}
	}
	if len(mine) == 0 {
		return false, nil
	}
	s.node, s.late, s.at = mine[rng.IntN(len(mine))], rng.IntN(4) == 0, time.Now()
	return true, j.t.Lab.CrashNode(ctx, s.node)
}

// expand returns the single names of a list of at most two nodes.
func expand(list string) string { return strings.Replace(list, "gpu[1-2]", "gpu1,gpu2", 1) }

// moving reports whether sluice has an open move of the job.
func (j *job) moving(ctx context.Context) bool {
	report, err := j.t.Control().Report(ctx)
	if err != nil {
		return false
	}
	for _, v := range report.Jobs {
		if v.JobID == j.id {
			return v.Move != nil
		}
	}
	return false
}

// runOver waits until nothing of the killed run is left, in Slurm and on the machine, and
// records what was committed by then.
func (j *job) runOver(ctx context.Context, d *death, s strike) error {
	if s.node != "" && !s.late {
		if err := errors.Join(pause(ctx, 500*time.Millisecond), j.t.Lab.SetDown(ctx, s.node, "crashed")); err != nil {
			return err
		}
	}
	err := j.until(ctx, 2*time.Minute, fmt.Sprintf("run %d to be over (%s killed)", d.run, d.kind), func() (bool, error) {
		seen, err := j.slurm(ctx)
		if err != nil {
			return false, nil // Slurm is asked again
		}
		gone := seen.state != "RUNNING" || seen.restarts > d.run
		if gone && s.node != "" { // it returns, with nothing of what ran there
			err, s.node = j.t.Lab.StartSlurmd(ctx, s.node), ""
		}
		return gone && !j.alive(d.run), err
	})
	if err != nil {
		return err
	}
	newest, _, err := j.newest(ctx)
	d.expected, d.committed = newest.Name, newest.Manifest.Step
	return err
}

// requeue does what a job's user does after a failure; a job that Slurm or sluice
// requeued by itself is left alone.
func (j *job) requeue(ctx context.Context, d *death, rng *rand.Rand) error {
	var seen seen
	err := j.until(ctx, time.Minute, "Slurm to have done with run "+fmt.Sprint(d.run), func() (_ bool, err error) {
		seen, err = j.slurm(ctx)
		return err == nil && (seen.over() || seen.restarts > d.run), nil
	})
	if err != nil {
		return err
	}
	if seen.state == "COMPLETED" {
		return errOver
	}
	if seen.restarts > d.run {
		d.by = "Slurm"
		return nil
	}
	if d.by, err = j.patience(ctx, d.run); err != nil || d.by == "sluice" {
		return err
	}
	if rng.IntN(3) == 0 {
		if err := j.corrupt(ctx, d, rng); err != nil {
			return err
		}
	}
	_, err = j.t.Run(ctx, "", "scontrol", "requeue", fmt.Sprint(j.id))
	return err
}

// patience is how long a user waits: sluice itself requeues a job that was killed soon
// after the loss of a node. It returns who must requeue the run, or has.
func (j *job) patience(ctx context.Context, run int) (string, error) {
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		seen, err := j.slurm(ctx)
		if err != nil {
			return "", err
		}
		if seen.restarts > run {
			return "sluice", nil
		}
	}
	return "user", nil
}

// corrupt changes one byte of the newest checkpoint, if an older one is complete.
func (j *job) corrupt(ctx context.Context, d *death, rng *rand.Rand) error {
	newest, _, err := j.newest(ctx)
	if err != nil || newest.Name == "" {
		return err
	}
	path := filepath.Join(j.folder(), checkpoint.Checkpoints, newest.Name, newest.Manifest.Files[0].Path)
	if err := flip(path, rng); err != nil {
		return err
	}
	older, _, err := j.newest(ctx)
	if err != nil {
		return err
	}
	if older.Name == "" { // it was the only one: without it no resume is expected
		return flipBack(path)
	}
	d.corrupted, d.expected, d.committed = newest.Name, older.Name, older.Manifest.Step
	return os.Remove(path + keep)
}

const keep = ".whole" // suffix of the original of a changed file, for flipBack

// flip changes one bit of a file, and keeps the original beside it.
func flip(path string, rng *rand.Rand) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+keep, data, 0o600); err != nil {
		return err
	}
	data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
	return os.WriteFile(path, data, 0o600)
}

func flipBack(path string) error { return os.Rename(path+keep, path) }

// comesBack waits for the next run's first step, and records what it started from.
func (j *job) comesBack(ctx context.Context, d *death) error {
	mail, err := checkpoint.NewMailbox(j.t.Jobs, j.t.Outbox)
	if err != nil {
		return err
	}
	heard, asked := false, time.Now()
	return j.until(ctx, 2*time.Minute, fmt.Sprintf("to come back after run %d (%s killed)", d.run, d.kind), func() (bool, error) {
		if !heard {
			w, ok, err := mail.Runner(j.token, uint32(os.Getuid()))
			if err == nil && ok && w.Restarts > d.run && w.State == checkpoint.Training {
				heard, d.resumed = true, w.Resumed
			}
		}
		if time.Since(asked) > 3*time.Second {
			asked = time.Now()
			failed, err := j.again(ctx, d)
			if heard = heard && !failed; err != nil {
				return false, err
			}
		}
		list, err := j.records()
		if err != nil || !heard {
			return false, err
		}
		last := 0
		for _, r := range list {
			if r.restart > d.run {
				d.lost = last - r.step
				return true, nil
			}
			last = max(last, r.step+1)
		}
		return false, nil
	})
}

// again requeues a job whose restart failed in Slurm, as its user would, and reports
// whether it did: a node that returns at the moment at which its job is started there
// again may still be told to end it, and Slurm then marks the job FAILED.
func (j *job) again(ctx context.Context, d *death) (failed bool, err error) {
	seen, err := j.slurm(ctx)
	if err != nil || !seen.over() || seen.state == "COMPLETED" || seen.restarts <= d.run {
		return false, nil
	}
	d.again++
	if d.by, err = j.patience(ctx, seen.restarts); err != nil || d.by == "sluice" {
		return true, err
	}
	_, err = j.t.Run(ctx, "", "scontrol", "requeue", fmt.Sprint(j.id))
	return true, err
}

// repair returns every node to service.
func (j *job) repair(ctx context.Context) error {
	for _, node := range j.t.Lab.NodeNames() {
		if err := j.t.Lab.StartSlurmd(ctx, node); err != nil {
			return err
		}
	}
	return nil
}
