package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
)

// tally is the demo's last line.
type tally struct {
	completed, cancelled, grown, shrunk, resizes, lost int
	ordinary                                           string
}

// verdict reads all results from Slurm and from the jobs' own logs.
func (d *demo) verdict(ctx context.Context) error {
	t := tally{ordinary: "undisturbed"}
	var wrong []error
	for _, p := range d.jobs {
		wrong = append(wrong, d.judge(ctx, p, &t))
	}
	if err := d.judgeOrdinary(ctx); err != nil {
		t.ordinary = "DISTURBED"
		wrong = append(wrong, err)
	}
	if t.grown < 3 || t.shrunk < 2 {
		wrong = append(wrong, fmt.Errorf("grown %d times (want 3), shrunk %d times (want 2)", t.grown, t.shrunk))
	}
	if d.doomedAt == "" {
		wrong = append(wrong, errors.New("no job was cancelled in the middle of a resize"))
	}
	wrong = append(wrong, d.audit(ctx))
	err := errors.Join(wrong...)
	if err != nil {
		d.say("%v", err)
	}
	fmt.Fprintf(d.o.Out, "demo: jobs=%d completed=%d cancelled=%d grown=%d shrunk=%d resizes=%d lost_steps=%d ordinary_job=%s wall=%.0f\n",
		len(d.jobs), t.completed, t.cancelled, t.grown, t.shrunk, t.resizes, t.lost, t.ordinary, time.Since(d.began).Seconds())
	return err
}

// audit compares sluiced's event log with Slurm's own records.
func (d *demo) audit(ctx context.Context) error {
	report, err := d.Audit(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(d.o.Out, report)
	if n := len(report.Violations); n > 0 {
		return fmt.Errorf("the audit found %d violations", n)
	}
	return nil
}

// judge compares one job with what was requested for it.
func (d *demo) judge(ctx context.Context, p *plan, t *tally) error {
	state, err := d.state(ctx, p.id, p.name+".sh")
	if err != nil {
		return err
	}
	epochs, want := p.epochs, "COMPLETED"
	if p.cancel {
		epochs, want = 0, "CANCELLED"
	}
	if state != want {
		return fmt.Errorf("job %d (%s) ended as %s, not %s; its last output:\n%s", p.id, p.name, state, want, d.lastWords(p))
	}
	tr, err := site.ReadTraining(d.stepsLog(p), epochs, perEpoch)
	if err != nil {
		return err
	}
	t.grown, t.shrunk, t.resizes, t.lost = t.grown+tr.Grown, t.shrunk+tr.Shrunk, t.resizes+tr.Moves, t.lost+tr.Repeated
	d.say("job %d %-10s %-9s GPUs per run %v: %d steps trained, %d repeated, %d missing", p.id, p.name, state, tr.Worlds, tr.Steps, tr.Repeated, tr.Missing)
	if p.cancel {
		t.cancelled++
		return nil
	}
	t.completed++
	if tr.Missing > 0 || tr.Repeated > 0 || tr.Steps != p.epochs*perEpoch {
		return fmt.Errorf("job %d (%s) trained %d of %d steps, %d missing, %d repeated", p.id, p.name, tr.Steps, p.epochs*perEpoch, tr.Missing, tr.Repeated)
	}
	return nil
}

// lastWords is the end of the job's output.
func (d *demo) lastWords(p *plan) string {
	const most = 2000 // bytes
	text, err := os.ReadFile(filepath.Join(d.Home(d.users[p.user]), p.name+".out"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// state asks Slurm for the job by its first id and checks that it is still the
// same job.
func (d *demo) state(ctx context.Context, id int64, name string) (string, error) {
	f, err := d.JobFields(ctx, id)
	if err != nil {
		return "", err
	}
	if f["JobName"] != name {
		return "", fmt.Errorf("job %d is called %s in Slurm, not %s", id, f["JobName"], name)
	}
	return f["JobState"], nil
}

// judgeOrdinary checks that the ordinary job was never requeued or stopped and printed
// every tick.
func (d *demo) judgeOrdinary(ctx context.Context) error {
	f, err := d.JobFields(ctx, d.ordinary)
	if err != nil {
		return err
	}
	if f["JobState"] != "COMPLETED" || f["Restarts"] != "0" {
		return fmt.Errorf("ordinary job %d: state %s, restarts %s", d.ordinary, f["JobState"], f["Restarts"])
	}
	b, err := os.ReadFile(filepath.Join(d.Home(d.users[1]), "ordinary.out"))
	if err != nil {
		return err
	}
	if n := strings.Count(string(b), "tick "); n != 90 {
		return fmt.Errorf("ordinary job %d ticked %d times of 90", d.ordinary, n)
	}
	return nil
}
