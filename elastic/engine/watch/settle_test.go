package watch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/execute"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/slurm"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// answers is a Slurm whose answers for all jobs and for single jobs are set by the test.
type answers struct {
	slurm.Client
	all   []slurm.Job
	one   map[slurm.JobID]slurm.Job
	err   error // of every question about one
	asked int
}

func (a *answers) Jobs(context.Context) ([]slurm.Job, error) { return a.all, nil }
func (a *answers) Job(_ context.Context, id slurm.JobID) (slurm.Detail, error) {
	a.asked++
	if a.err != nil {
		return slurm.Detail{}, a.err
	}
	sj, there := a.one[id]
	if !there {
		return slurm.Detail{}, fmt.Errorf("scontrol: %w", slurm.ErrNotFound)
	}
	return slurm.Detail{Job: sj}, nil
}

// folders are empty folders of jobs.
type folders struct{ observe.Mailbox }

func (folders) RunnerNow(string, uint32) (checkpoint.Runner, bool, error) {
	return checkpoint.Runner{}, false, nil
}

func token(id int) string { return fmt.Sprintf("%032x", id) }

// job is job id as Slurm shows it.
func job(id int) slurm.Job {
	return slurm.Job{ID: slurm.JobID(id), UID: 5, State: slurm.Running, Submit: noon.Add(-time.Hour), Comment: "sluice/1 id=" + token(id) + " inc=0 min=1"}
}

// watching manages jobs 1 to n, none of which Slurm showed in this cycle.
func watching(n int) (*Watch, *answers) {
	kept, a := new(journal.Memory), &answers{one: map[slurm.JobID]slurm.Job{}}
	w := &Watch{State: track.New(track.Rules{}, kept, func(event.Event) {})}
	w.Observer = observe.Observer{Slurm: a, Mail: folders{}, Journal: kept}
	w.Executor = execute.Executor{State: w.State, Slurm: a, Journal: kept, Samples: kept, Mail: folders{}}
	for id := 1; id <= n; id++ {
		js := &track.Job{Rec: journal.JobRecord{
			Token: token(id), Identity: journal.Identity{ID: elastic.JobID(id), Owner: elastic.Owner{UID: 5}, SlurmUID: 5}, Life: journal.Life{Submitted: noon.Add(-time.Hour)},
		}}
		js.Shown.Slurm = job(id)
		w.Remember(js)
	}
	return w, a
}

// TestAFewMissingJobs: each is queried by number and ends only if Slurm says that it does not know it.
// Results before an error are kept.
func TestAFewMissingJobs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*answers)
		ended  map[elastic.JobID]bool
		fails  bool
	}{
		{"one is there", func(a *answers) { a.one[1] = job(1) }, map[elastic.JobID]bool{2: true, 3: true}, false},
		{"all are gone", func(*answers) {}, map[elastic.JobID]bool{1: true, 2: true, 3: true}, false},
		{"slurmctld is down", func(a *answers) { a.err = slurm.ErrControllerDown }, nil, true},
		{"another has its number", func(a *answers) {
			a.one[1] = job(1)
			sj := job(2)
			sj.UID = 6
			a.one[2] = sj
		}, map[elastic.JobID]bool{2: true, 3: true}, false},
		{"its user removed the tag of one", func(a *answers) {
			a.one[1] = job(1)
			sj := job(2)
			sj.Comment = ""
			a.one[2] = sj
		}, map[elastic.JobID]bool{3: true}, false},
	} {
		w, a := watching(3)
		c.change(a)
		err := w.lookForMissing(t.Context(), noon)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		for id, js := range w.ByID {
			if ended := !js.Rec.Ended.IsZero(); ended != c.ended[id] || !ended && !c.fails && !js.Shown.Seen {
				t.Errorf("%s: job %d has ended: %v, seen: %v", c.name, id, ended, js.Shown.Seen)
			}
		}
	}
}

// TestManyMissingJobs: they have ended if a second answer for all jobs and queries for some of them
// agree. If one answer contradicts, none is used. The number of queries is bounded.
func TestManyMissingJobs(t *testing.T) {
	const n = 10 * track.MaxLookups
	for _, c := range []struct {
		name   string
		change func(*answers)
		ended  int
		fails  error
	}{
		{"all are gone", func(*answers) {}, n, nil},
		{"the next answer has one", func(a *answers) { a.all = []slurm.Job{job(n)} }, 0, observe.ErrSuspicious},
		{"one that is asked about is there", func(a *answers) { a.one[1] = job(1) }, 0, observe.ErrSuspicious},
		{"slurmctld is down", func(a *answers) { a.err = slurm.ErrControllerDown }, 0, slurm.ErrControllerDown},
		{"the number of one is another's", func(a *answers) {
			sj := job(2)
			sj.UID = 6
			a.all = []slurm.Job{sj}
		}, n, nil},
	} {
		w, a := watching(n)
		c.change(a)
		err := w.lookForMissing(t.Context(), noon)
		if !errors.Is(err, c.fails) {
			t.Errorf("%s: %v", c.name, err)
		}
		ended := 0
		for _, js := range w.ByID {
			if !js.Rec.Ended.IsZero() {
				ended++
			}
		}
		if ended != c.ended || a.asked > track.MaxLookups {
			t.Errorf("%s: %d have ended, want %d; %d questions", c.name, ended, c.ended, a.asked)
		}
	}
}
