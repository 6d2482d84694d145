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
