package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// mortal is a Slurm in which a job ends once it is cancelled.
type mortal struct {
	slurm.Client
	cancelled []slurm.JobID
}

func (e *mortal) Cancel(_ context.Context, id slurm.JobID) error {
	e.cancelled = append(e.cancelled, id)
	return nil
}

func (e *mortal) Job(_ context.Context, id slurm.JobID) (slurm.Detail, error) {
	if slices.Contains(e.cancelled, id) {
		return slurm.Detail{Job: slurm.Job{State: slurm.Cancelled}}, nil
	}
	return slurm.Detail{Job: slurm.Job{State: slurm.Running}}, nil
}

// oneSize is a profile of one size, whose job is 7 when it is submitted.
func oneSize(t *testing.T, errs io.Writer) (*profiling, *mortal) {
	t.Helper()
	line, err := sbatch.ParseCommandLine([]string{"job.sh"})
	if err != nil {
		t.Fatal(err)
	}
	script, err := sbatch.ParseScript("job.sh", []byte("#!/bin/sh\ntrue\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := &profiling{errs: errs, user: true, options: profileOptions{measure: usualProfile, wait: time.Minute}}
	p.base = submission{out: io.Discard, errs: errs}
	if p.base.request, err = sbatch.Merge(line, nil, script); err != nil {
		t.Fatal(err)
	}
	p.base.site.Paths.Jobs = filepath.Join(t.TempDir(), "jobs")
	p.base.site.Slurm.Bin = filepath.Dir(program(t, "sleep 0.2; echo Submitted batch job 7"))
	slurm := &mortal{}
	p.slurm, p.daemon = slurm, client.Dial(filepath.Join(t.TempDir(), "absent"))
	p.sizes = []*profiledSize{{p: p}}
	p.sizes[0].point.GPUs = 1
	return p, slurm
}

// TestProfileInterruptedAtSubmit: a job that sbatch creates while the user interrupts is
// known, and cancelled.
func TestProfileInterruptedAtSubmit(t *testing.T) {
	var errs bytes.Buffer
	p, slurm := oneSize(t, &errs)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel) // in the middle of sbatch, or before it
	s := p.sizes[0]
	s.submit(ctx)
	if s.stage != submitted || s.point.Job != 7 {
		t.Fatalf("%+v\n%s", s.point, errs.String())
	}
	if code, ok := p.abandon().(terminal.ExitCode); !ok || code != 130 || len(slurm.cancelled) != 1 || slurm.cancelled[0] != 7 {
		t.Errorf("exit %d, cancelled %v", code, slurm.cancelled)
	}
	if _, err := os.Stat(s.folder); !os.IsNotExist(err) {
		t.Errorf("its folder: %v", err)
	}
	if !strings.Contains(errs.String(), "interrupted; the runs were cancelled\n") {
		t.Error(errs.String())
	}
}

// TestProfileOfARunWithoutEnd: a run beyond all limits is cancelled once, and then
// finished even if sluiced does not report its end.
func TestProfileOfARunWithoutEnd(t *testing.T) {
	var errs bytes.Buffer
	p, slurm := oneSize(t, &errs)
	s := p.sizes[0]
	s.submit(t.Context())
	s.runs, s.at = true, time.Now().Add(-time.Hour)
	report := wire.Report{Jobs: []wire.Job{{JobID: 7, GPUs: 1, State: "RUNNING"}}}
	for range 3 {
		if s.stage == submitted {
			s.follow(t.Context(), report)
		}
	}
	if s.stage != measured || len(slurm.cancelled) != 1 || !strings.Contains(s.point.Error, "job 7 was cancelled before it reported a step") {
		t.Errorf("cancelled %v: %+v", slurm.cancelled, s.point)
	}
	if _, err := os.Stat(s.folder); !os.IsNotExist(err) {
		t.Errorf("its folder: %v", err)
	}
}

// TestProfileProgress: sizes that are done count as whole, those that run by the time that they may
// take, and never as done.
func TestProfileProgress(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	p := &profiling{}
	p.options.measure.Limit = 10 * time.Minute
	p.sizes = []*profiledSize{
		{stage: measured, point: speed.Point{GPUs: 1}}, {stage: submitted, at: now.Add(-5 * time.Minute), point: speed.Point{GPUs: 2}},
		{stage: submitted, at: now.Add(-time.Hour), point: speed.Point{GPUs: 4}}, {point: speed.Point{GPUs: 8}},
	}
	part, text := p.progress(now)
	if want := (1 + 0.5 + 0.95) / 4; part < want-1e-9 || part > want+1e-9 || text != "1 of 4 sizes measured; now 2, 4" {
		t.Errorf("%v, %q", part, text)
	}
}
