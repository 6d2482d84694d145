package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/sweepfile"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/sbatch"
)

// laneOptions are the options of 'sluice run' for a lane: what is saved is a note, and only on
// request.
func laneOptions(c etc.Config) []string {
	return []string{"--outbox=" + c.Paths.Outbox, "--keep=1", "--checkpoint-every=off"}
}

// keptOfMember is how many checkpoints a member of a population keeps at least: another one may go on
// from where it was some periods ago.
const keptOfMember = 4

// trialOptions are the options of 'sluice run' for a trial. A trial that fails is not started again
// unless its user asks for that: the sweep goes on with another one.
func trialOptions(c etc.Config, request sbatch.Request) []string {
	if request.Retries == "" {
		request.Retries = "0"
	}
	if request.Sweep.Members > 0 {
		c.Checkpoint.Keep = max(c.Checkpoint.Keep, keptOfMember)
	}
	return runOptions(c, request)[1:] // without the outbox
}

// laneScript is the script of a lane.
func (s *submission) laneScript() []byte {
	base := filepath.Join(s.site.Paths.Jobs, s.job.Sweep)
	options := ""
	if !s.request.Spec.Fixed() {
		options = " --elastic"
	}
	if sw := s.request.Sweep; sw != nil && sw.OwnJobs {
		options += " --grace=" + cmp.Or(s.request.Spec.Grace, s.site.Resize.Grace).String()
	}
	return fmt.Appendf(nil, "#!/bin/sh\nexec \"$SLUICE\" lane --outbox=%s --sweep=%s%s -- \"$@\"\n", sweepfile.ShellWord(s.site.Paths.Outbox), sweepfile.ShellWord(base), options)
}

// shareModel lets the elastic jobs of a sweep share what is learned of their speed: its trials are one program.
func (s *submission) shareModel() {
	if s.request.Spec.Model == "" && !s.request.Spec.Fixed() {
		s.request.Spec.Model = sweep.Model(s.job.Sweep)
	}
}

// createSweep makes the sweep's folder and submits its lanes, or leaves nothing.
func (s *submission) createSweep(ctx context.Context, user bool) ([]handedIn, error) {
	var token [16]byte
	rand.Read(token[:]) // never fails
	s.job.Sweep = hex.EncodeToString(token[:])
	sw := *s.request.Sweep
	s.shareModel()
	sw.Token, sw.Name, sw.Created, sw.Run = s.job.Sweep, s.request.SweepName(), time.Now().UTC().Truncate(time.Second), trialOptions(s.site, s.request)
	if err := sw.Validate(); err != nil {
		return nil, err
	}
	folder, err := makeFolder(s.site.Paths.Jobs, sw.Token, user)
	if err != nil {
		return nil, err
	}
	defer folder.close()
	text, err := json.MarshalIndent(sw, "", "  ")
	var typed []byte
	if err == nil {
		typed, err = json.Marshal(s.kept)
	}
	if err == nil {
		err = errors.Join(folder.create(keptFile, typed, 0o600), folder.create(checkpoint.Script, s.request.Script(), 0o600), folder.create(sweep.File, append(text, '\n'), 0o644), folder.keep())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the sweep's folder: %w", err), folder.remove())
	}
	made, err := s.createArray(ctx, user)
	if err != nil {
		return nil, errors.Join(err, folder.remove())
	}
	sw.Number = int64(made[0].id)
	if err := writeSweep(filepath.Join(s.site.Paths.Jobs, sw.Token), sw); err != nil {
		terminal.Warn(s.errs, fmt.Sprintf("sweep %d: its number could not be written down: %v", sw.Number, err))
	}
	switch {
	case s.request.Quiet:
	case s.request.Parsable:
		s.print(fmt.Sprintf("%d\n", sw.Number), ids(made)...)
	case sw.OwnJobs:
		s.print(fmt.Sprintf("Submitted sweep %d: %s by %s, each a job, %d at once (%s)\n", sw.Number, terminal.Plural(sw.Trials, "trial"), sw.Algorithm,
			sw.Parallel, ranges(ids(made))), ids(made)...)
	default:
		s.print(fmt.Sprintf("Submitted sweep %d: %s by %s, in %s (%s)\n", sw.Number, terminal.Plural(sw.Trials, "trial"), sw.Algorithm,
			terminal.Plural(len(made), "lane"), ranges(ids(made))), ids(made)...)
	}
	return made, nil
}

// writeSweep replaces sweep.json.
func writeSweep(folder string, sw sweep.Sweep) error {
	text, err := json.MarshalIndent(sw, "", "  ")
	if err != nil {
		return err
	}
	dir, err := checkpoint.OpenDir(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Write(sweep.File, append(text, '\n'), 0o644)
}
