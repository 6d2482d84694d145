package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// For Slurm the tasks of a job array are separate jobs: jobs of one Slurm array share a
// record and could not be resized one by one.

// handedIn is a submitted job, and its folder.
type handedIn struct {
	id     slurm.JobID
	folder string
}

// undoLimit bounds the time in which the jobs of an incomplete array are cancelled.
const undoLimit = 2 * time.Minute

// createArray submits a job for each task, or none: what was submitted before a failure
// is cancelled.
func (s *submission) createArray(ctx context.Context, user bool) ([]handedIn, error) {
	if err := s.fits(ctx); err != nil {
		return nil, err
	}
	s.member = true
	var made []handedIn
	var first sbatch.Job
	for _, index := range s.request.Array.Tasks {
		s.name()
		s.job.Index = index
		if len(made) > 0 {
			s.job.Of = elastic.JobID(made[0].id)
		}
		id, err := slurm.JobID(0), error(nil)
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted before task %d was submitted", index)
		} else if id, err = s.create(ctx, user); err == nil && id == 0 {
			err = fmt.Errorf("the number of task %d is not known; 'scancel' it once you have found it", index)
		}
		if err != nil {
			return nil, s.takeBack(ctx, made, index, err)
		}
		if len(made) == 0 {
			first = s.job
		}
		made = append(made, handedIn{id, filepath.Dir(s.job.Script)})
	}
	if len(made) > 1 {
		s.complete(ctx, made[0].id, first)
	}
	if s.request.Sweep == nil {
		s.printArray(made)
	}
	return made, nil
}

// printArray prints which jobs an array has.
func (s *submission) printArray(made []handedIn) {
	switch {
	case s.request.Quiet:
	case s.request.Parsable:
		s.print(joined(ids(made), ":")+"\n", ids(made)...)
	default:
		s.print(fmt.Sprintf("Submitted array of %s %s\n", terminal.Plural(len(made), "job"), ranges(ids(made))), ids(made)...)
	}
}

// complete marks in the array's first job that all tasks are there: until then sluiced
// starts none, so a submit that is killed in between leaves nothing that runs. If Slurm
// refuses the mark sluiced counts the tasks.
func (s *submission) complete(ctx context.Context, id slurm.JobID, first sbatch.Job) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer stop()
	comment, err := s.request.Comment(first)
	if err == nil {
		var client slurm.Client
		if client, err = slurmFor(s.site); err == nil {
			err = client.Update(ctx, id, slurm.Update{Comment: &comment})
		}
	}
	if err != nil {
		terminal.Warn(s.errs, fmt.Sprintf("the array starts once sluiced has seen all its tasks: %v", err))
	}
}

// usualArraySize is Slurm's default of MaxArraySize.
const usualArraySize = 1001

// fits refuses an array that Slurm would not accept completely, before any of it is
// submitted.
func (s *submission) fits(ctx context.Context) error {
	client, err := slurmFor(s.site)
	if err != nil {
		return err
	}
	bounds, err := client.ArrayBounds(ctx)
	if err != nil {
		return fmt.Errorf("maximum size of an array: %w", err)
	}
	a := s.request.Array
	if s.request.Sweep != nil {
		if n := len(a.Tasks); bounds.Jobs > 0 && n > bounds.Jobs {
			option, what := "--parallel", "lanes"
			if s.request.Sweep.OwnJobs {
				option, what = "--trials", "jobs"
			}
			return fmt.Errorf("%s: %d %s are too many: MaxJobCount of this cluster is %d; nothing was submitted", option, n, what, bounds.Jobs)
		}
		return nil
	}
	if size := cmp.Or(bounds.Size, usualArraySize); a.Max() >= size {
		return fmt.Errorf("--array: index %d is too large: MaxArraySize of this cluster is %d; give indices from 0 to %d, in several arrays if need be", a.Max(), size, size-1)
	}
	for _, most := range []struct {
		n    int
		what string
	}{{bounds.Tasks, "max_array_tasks"}, {bounds.Jobs, "MaxJobCount"}} {
		if n := len(a.Tasks); most.n > 0 && n > most.n {
			return fmt.Errorf("--array: %d tasks are too many: %s of this cluster is %d; nothing was submitted", n, most.what, most.n)
		}
	}
	return nil
}

// takeBack cancels the jobs of an array of which one could not be submitted.
func (s *submission) takeBack(ctx context.Context, made []handedIn, index int, why error) error {
	if len(made) == 0 {
		return why
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer stop()
	left, failed := s.cancelAll(ctx, made)
	text := fmt.Sprintf("the %s of the array submitted before task %d (%s)", terminal.Plural(len(made), "job"), index, ranges(ids(made)))
	if len(left) == 0 {
		text += " were cancelled"
	} else {
		text += fmt.Sprintf(" should be cancelled, and %s could not (%v); type: scancel %s", ranges(left), failed, joined(left, " "))
	}
	var code terminal.ExitCode
	if !errors.As(why, &code) {
		return fmt.Errorf("%w; %s", why, text)
	}
	terminal.Complain(s.errs, errors.New(text)) // sbatch has printed the reason
	return why
}

// cancelAll cancels the jobs of an array, and returns those that it could not cancel, with the last reason. The first one
// is cancelled last, and not if others are left: without it sluiced would start them.
func (s *submission) cancelAll(ctx context.Context, made []handedIn) (left []slurm.JobID, failed error) {
	client, err := slurmFor(s.site)
	if err != nil {
		return ids(made), err
	}
	for i, m := range slices.Backward(made) {
		if i == 0 && len(left) > 0 {
			left = append(left, m.id)
			break
		}
		err := client.Cancel(ctx, m.id)
		if err != nil && !errors.Is(err, slurm.ErrNotFound) && !errors.Is(err, slurm.ErrWrongState) {
			left, failed = append(left, m.id), err
		}
	}
	slices.Sort(left)
	return left, failed
}

func ids(made []handedIn) []slurm.JobID {
	out := make([]slurm.JobID, len(made))
	for i, m := range made {
		out[i] = m.id
	}
	return out
}

func joined(ids []slurm.JobID, with string) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = fmt.Sprint(id)
	}
	return strings.Join(words, with)
}

// ranges is present.Ranges.
func ranges[N ~int | ~int64](numbers []N) string { return present.Ranges(numbers) }

// depend makes the job depend on the jobs of an array that is named in --dependency:
// Slurm has no array of that number.
func (s *submission) depend(ctx context.Context) error {
	if !strings.ContainsAny(s.request.Dependency, "0123456789") {
		return nil
	}
	client, err := slurmFor(s.site)
	if err != nil {
		return err
	}
	jobs, err := client.Jobs(ctx)
	switch {
	case err != nil && !strings.Contains(s.request.Dependency, "_"):
		return nil // sbatch reports the error
	case err != nil:
		return fmt.Errorf("jobs of --dependency=%s: %w", terminal.Escape(s.request.Dependency), err)
	}
	known := tagged(jobs)
	request, whole := s.request.Depend(func(array elastic.JobID) map[int]elastic.JobID {
		out, owner := map[int]elastic.JobID{}, arrayOwner(known, array)
		for _, t := range known {
			if t.Array == array && t.UID == owner {
				out[t.Index] = t.Job
			}
		}
		return out
	})
	s.request = request
	for _, id := range whole {
		terminal.Warn(s.errs, fmt.Sprintf("--dependency: %d is the first job of array %d and no other; for all its tasks write %d_*", id, id, id))
	}
	return nil
}
