package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/sweepfile"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// keptFile is what was submitted, in the sweep's folder, for lanes that are submitted later. Only its
// user reads it: command lines may have what others are not to see.
const keptFile = "submit.json"

// kept is a submission of a sweep as it was typed.
type kept struct {
	Version int      `json:"version"`
	Args    []string `json:"args"`    // after "sluice submit"
	Environ []string `json:"environ"` // SBATCH_ and SLUICE_ variables: they are options, too
	Dir     string   `json:"dir"`     // in which it was typed: paths are relative to it
	Name    string   `json:"name"`
	Body    []byte   `json:"body"` // of the script, or of the sweep's file
	// Script is what the sweep's file names as its script.
	Script []byte `json:"script,omitempty"`
}

// isOption reports whether a variable is an option of sbatch or sluice.
func isOption(entry string) bool {
	return strings.HasPrefix(entry, "SBATCH_") || strings.HasPrefix(entry, "SLUICE_")
}

// keeps notes what is submitted.
func (s *submission) keeps(name string, body []byte) {
	s.kept.Version, s.kept.Name, s.kept.Body = 1, name, body
	s.kept.Dir, _ = os.Getwd() // "" = where it will be typed then
	for _, entry := range s.environ {
		if isOption(entry) {
			s.kept.Environ = append(s.kept.Environ, entry)
		}
	}
}

// restore reads what was submitted, as a submission of further lanes of the sweep.
func (c *sweepCall) restore(v *sweepView) (*submission, error) {
	wrong := func(err error) error {
		return fmt.Errorf("sweep %d: what was submitted cannot be read any more: %w; submit it anew", v.Number, err)
	}
	data, err := checkpoint.ReadIn(v.Folder, keptFile, 2*sbatch.MaxScript+1<<20)
	if err != nil {
		return nil, wrong(err)
	}
	s := &submission{in: os.Stdin, out: c.cmd.OutOrStdout(), errs: c.cmd.ErrOrStderr(), site: c.site, member: true}
	if err := json.Unmarshal(data, &s.kept); err != nil {
		return nil, wrong(err)
	}
	for _, entry := range os.Environ() {
		if !isOption(entry) {
			s.environ = append(s.environ, entry)
		}
	}
	s.environ = append(s.environ, s.kept.Environ...)
	line, err := sbatch.ParseCommandLine(s.kept.Args)
	if err != nil {
		return nil, wrong(err)
	}
	script, _, err := sweepfile.Parse(s.kept.Name, s.kept.Body, s.kept.Script)
	if err != nil {
		return nil, wrong(err)
	}
	if s.request, err = sbatch.Merge(line, s.environ, script); err != nil {
		return nil, wrong(err)
	}
	if s.request.Sweep == nil {
		return nil, wrong(errors.New("it is no sweep"))
	}
	s.request.Own, s.job.Sweep = s.site.Own, v.Token
	s.shareModel()
	if s.kept.Dir != "" {
		if err := os.Chdir(s.kept.Dir); err != nil {
			return nil, fmt.Errorf("sweep %d: the folder in which it was submitted: %w", v.Number, terminal.Cause(err))
		}
	}
	return s, nil
}

// laneJobs are the sweep's jobs that have not ended, and the Slurm that has them.
func (c *sweepCall) laneJobs(ctx context.Context, v *sweepView) (client *command.Client, out []slurm.Job, err error) {
	if client, err = slurmFor(c.site); err != nil {
		return nil, nil, err
	}
	jobs, err := client.Jobs(ctx)
	for _, j := range jobs {
		if !j.State.Ended() && v.owns(j) {
			out = append(out, j)
		}
	}
	return client, out, err
}

// moreLanes submits the lanes that the sweep can use and has no jobs for: those of earlier ones that
// ended because nothing was left for them. changed says that the space may have points now that it had
// not.
func (c *sweepCall) moreLanes(ctx context.Context, v *sweepView, changed bool) ([]handedIn, error) {
	over := v.Book.Over != book.NotOver
	v.again(changed, time.Now())
	want := v.Book.Wants(v.Sweep, v.AtOnce())
	if want == 0 || v.Number == 0 { // without a number none of its lanes has started: they wait
		return nil, nil
	}
	if over { // sluiced cancels those that wait: they MUST NOT be counted on
		if _, err := c.cancelWaiting(ctx, v); err != nil {
			return nil, fmt.Errorf("the lanes that waited when it was over could not be cancelled: %w", err)
		}
	}
	_, live, err := c.laneJobs(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("whether lanes of it still wait or run is not known: %w", err)
	}
	if want -= len(live); want <= 0 {
		return nil, nil
	}
	s, err := c.restore(v)
	if err != nil {
		return nil, err
	}
	// Indices that no lane of it had, as far as is known; two of one index would harm nobody.
	return s.addLanes(ctx, elastic.JobID(v.Number), max(v.Parallel, s.request.Sweep.Parallel, len(v.Lanes)+len(live)), want)
}

// again shows a sweep that was over as one that goes on, if it does now. A program that had no more points is not
// asked again.
func (v *sweepView) again(changed bool, now time.Time) {
	if v.Book.Resumes(v.Sweep, now) || changed && !v.Asks() && (v.Book.Over == book.Exhausted || v.Book.Over == book.Unsolvable) {
		v.Book.Apply(book.Entry{Again: true})
	}
}

// addLanes submits further lanes of a sweep, or none.
func (s *submission) addLanes(ctx context.Context, sweep elastic.JobID, from, n int) ([]handedIn, error) {
	s.request.Array = &sbatch.Array{Step: 1}
	for i := range n {
		s.request.Array.Tasks = append(s.request.Array.Tasks, from+i)
	}
	if err := s.fits(ctx); err != nil {
		return nil, err
	}
	var made []handedIn
	for _, index := range s.request.Array.Tasks {
		s.name()
		s.job.Index, s.job.Of = index, sweep
		id, err := s.create(ctx, false)
		if err == nil && id == 0 {
			err = errors.New("the number of a lane is not known; look for it with: " + s.look())
		}
		if err != nil {
			return nil, s.takeBack(ctx, made, index, err)
		}
		made = append(made, handedIn{id, filepath.Dir(s.job.Script)})
	}
	return made, nil
}
