package exact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// job is one running training.
type job struct {
	t     *trial
	id    int64
	token string
	log   string // log of its steps
	out   string // its output
}

// submit starts a training; more are further arguments of the program.
func (t *trial) submit(ctx context.Context, more ...string) (*job, error) {
	t.jobs++
	j := &job{t: t, log: t.Path("home", fmt.Sprintf("steps%d", t.jobs)), out: t.Path("home", fmt.Sprintf("job%d.out", t.jobs))}
	text := "#!/bin/bash\n#SBATCH --time=60\nexec srun \"$SLUICE\" ranks -- " + t.o.Python
	for _, a := range training(t.Path("python"), j.log, append(more, t.option...)...) {
		text += " " + a
	}
	script := t.Path("home", fmt.Sprintf("job%d.sh", t.jobs))
	if err := site.Put(script, []byte(text+"\n"), 0o755); err != nil {
		return nil, err
	}
	var err error
	j.id, err = t.Submit(ctx, "", fmt.Sprintf("--epochs=%d", epochs), fmt.Sprintf("--max-gpus=%d", maxGPUs), "--output="+j.out, script)
	if err != nil {
		return nil, err
	}
	return j, j.until(ctx, time.Minute, "its folder to be known", func() (bool, error) {
		report, err := t.Control().Report(ctx)
		if err != nil {
			return false, nil // repeated at the next poll
		}
		for _, v := range report.Jobs {
			if v.JobID == j.id {
				j.token = v.Token
			}
		}
		return j.token != "", nil
	})
}

// until waits for a condition on the job; the error contains the end of the job's output.
func (j *job) until(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	err := site.Until(ctx, limit, fmt.Sprintf("job %d: %s", j.id, what), done)
	if err == nil {
		return nil
	}
	b, _ := os.ReadFile(j.out)
	f, _ := j.slurm(ctx)
	why, _ := j.t.Run(ctx, "", "sluice", "explain", fmt.Sprint(j.id))
	nodes, _ := j.t.Run(ctx, "", "sinfo", "-N", "-O", "NodeList:12,StateLong:16,Gres:16,GresUsed:32,Reason")
	return fmt.Errorf("%w\nSlurm says: state %s (%s) restarts %d on %s\n%s\nsluice explains:\n%s\nthe job's last output:\n%s\nsluiced's:\n%s\n%s",
		err, f.state, f.reason, f.restarts, f.nodes, nodes, why, b[max(0, len(b)-1500):], j.t.Tail(40), strings.Join(j.t.Lab.Logs(25), "\n"))
}

// reviveController starts a slurmctld that crashed, as systemd does on a site.
func (t *trial) reviveController(ctx context.Context) error {
	s, err := t.Lab.Status(ctx)
	runs := slices.ContainsFunc(s.Daemons, func(d lab.DaemonStatus) bool { return d.Name == "slurmctld" && d.PID != 0 })
	if err != nil || runs {
		return err
	}
	t.crashes++
	t.tell("slurmctld ended by itself; started again\n%s", strings.Join(t.Lab.Logs(15), "\n"))
	return t.Lab.StartController(ctx)
}

// folder is the job's own folder on the shared file system.
func (j *job) folder() string { return filepath.Join(j.t.Jobs, j.token) }

// seen is the job as Slurm shows it.
type seen struct {
	state    string
	restarts int
	nodes    string
	reason   string // reason for which it waits or ended
}

// over reports whether Slurm runs nothing of the job and will not start it by itself.
func (s seen) over() bool {
	switch s.state {
	case "FAILED", "NODE_FAIL", "CANCELLED", "COMPLETED", "TIMEOUT", "BOOT_FAIL":
		return true
	}
	return false
}

// slurm asks Slurm, not sluice.
func (j *job) slurm(ctx context.Context) (seen, error) {
	f, err := j.t.JobFields(ctx, j.id)
	if err != nil {
		if err := j.t.reviveController(ctx); err != nil {
			return seen{}, err
		}
		if f, err = j.t.JobFields(ctx, j.id); err != nil {
			return seen{}, err
		}
	}
	restarts, err := strconv.Atoi(f["Restarts"])
	if err != nil {
		return seen{}, fmt.Errorf("job %d: Slurm shows Restarts=%q", j.id, f["Restarts"])
	}
	return seen{state: f["JobState"], restarts: restarts, nodes: f["NodeList"], reason: f["Reason"] + " from " + f["StartTime"]}, nil
}

// records are the steps trained so far.
func (j *job) records() ([]record, error) { return readLog(j.log, perEpoch) }

// trainsAt waits until the job has trained some steps at a size, in its newest
// run.
func (j *job) trainsAt(ctx context.Context, world, count int) error {
	return j.until(ctx, 2*time.Minute, fmt.Sprintf("%d steps on %d GPUs", count, world), func() (bool, error) {
		list, err := j.records()
		n := 0
		for i := len(list) - 1; i >= 0 && list[i].restart == list[len(list)-1].restart && list[i].world == world; i-- {
			n++
		}
		return n >= count || len(list) > 0 && list[len(list)-1].step == steps-1, err
	})
}

// pin asks sluice for a size.
func (j *job) pin(ctx context.Context, gpus int) error {
	_, err := j.t.Run(ctx, "", "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(gpus))
	return err
}

// newest is the newest checkpoint whose every byte matches its manifest, and the newer
// ones that do not.
func (j *job) newest(ctx context.Context) (checkpoint.Checkpoint, []checkpoint.Skip, error) {
	d, err := checkpoint.OpenDir(filepath.Join(j.folder(), checkpoint.Checkpoints))
	if errors.Is(err, os.ErrNotExist) {
		return checkpoint.Checkpoint{}, nil, nil
	}
	if err != nil {
		return checkpoint.Checkpoint{}, nil, err
	}
	defer d.Close()
	return checkpoint.NewSeries(d, checkpoint.Identity{Job: j.id, Token: j.token}).Newest(ctx)
}

// unfinished returns the newest checkpoint's folder while it has no manifest: the program
// is saving, or was killed while it saved.
func (j *job) unfinished() string {
	names, _ := filepath.Glob(filepath.Join(j.folder(), checkpoint.Checkpoints, "[0-9]*"))
	if len(names) == 0 {
		return ""
	}
	last := names[len(names)-1]
	if _, err := os.Stat(filepath.Join(last, checkpoint.ManifestFile)); err == nil {
		return ""
	}
	return last
}

// ends waits for the job's last step and for Slurm's state COMPLETED.
func (j *job) ends(ctx context.Context) error {
	return j.until(ctx, 3*time.Minute, "to complete", func() (bool, error) {
		s, err := j.slurm(ctx)
		if err == nil && s.over() && s.state != "COMPLETED" {
			err = fmt.Errorf("job %d ended as %s", j.id, s.state)
		}
		return s.state == "COMPLETED", err
	})
}

// cancel ends a job that is no longer needed.
func (j *job) cancel(ctx context.Context) error {
	_, err := j.t.Run(ctx, "", "scancel", fmt.Sprint(j.id))
	return err
}
