package world_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	stories "github.com/sluice-hpc/sluice/elastic/world/story"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// dark is a Slurm that accepts every change and fails some queries; not is called before each.
type dark struct {
	slurm.Client
	not func(query string) (empty bool, err error)
}

func (d dark) Jobs(ctx context.Context) ([]slurm.Job, error) {
	if empty, err := d.not("jobs"); empty || err != nil {
		return nil, err
	}
	return d.Client.Jobs(ctx)
}

func (d dark) Nodes(ctx context.Context) ([]slurm.Node, error) {
	if empty, err := d.not("nodes"); empty || err != nil {
		return nil, err
	}
	return d.Client.Nodes(ctx)
}

func (d dark) Job(ctx context.Context, id slurm.JobID) (slurm.Detail, error) {
	if _, err := d.not("job"); err != nil {
		return slurm.Detail{}, err
	}
	return d.Client.Job(ctx, id)
}

// lame is a journal whose writes fail.
type lame struct {
	journal.Journal
	not func(query string) (empty bool, err error)
}

func (l lame) Jobs(ctx context.Context, since time.Time) ([]journal.JobRecord, error) {
	if _, err := l.not("journal"); err != nil {
		return nil, err
	}
	return l.Journal.Jobs(ctx, since)
}

func (l lame) Open(ctx context.Context) ([]elastic.Intent, error) {
	if _, err := l.not("moves"); err != nil {
		return nil, err
	}
	return l.Journal.Open(ctx)
}

func (l lame) Intend(ctx context.Context, ins []elastic.Intent) ([]elastic.Intent, error) {
	if _, err := l.not("journal"); err != nil {
		return nil, err
	}
	return l.Journal.Intend(ctx, ins)
}

func (l lame) SaveJobs(ctx context.Context, r []journal.JobRecord) error {
	if _, err := l.not("journal"); err != nil {
		return err
	}
	return l.Journal.SaveJobs(ctx, r)
}

// outages are the failures during which sluiced must change nothing.
var outages = []struct {
	name string
	// without has the queries that fail, empty those with an empty answer.
	without, empty []string
	moving         bool // it may also begin while a move is open
	atStart        bool // it is noticed only when sluiced starts
}{
	{"slurmctld answers no query", []string{"jobs", "nodes", "job"}, nil, true, false},
	{"slurmctld shows jobs and no nodes", []string{"nodes"}, nil, true, false},
	{"slurmctld shows nodes and no jobs", []string{"jobs", "job"}, nil, true, false},
	{"slurmctld calls the list of jobs empty", []string{"job"}, []string{"jobs"}, true, false},
	{"slurmctld calls the list of nodes empty", nil, []string{"nodes"}, true, false},
	{"the database refuses", []string{"journal", "moves"}, nil, false, false},
	{"the database does not tell which moves are open", []string{"moves"}, nil, false, true},
}

// TestFailStatic: I6, while sluiced cannot observe Slurm, or cannot record what it is about to do, it
// changes nothing, also if it is started meanwhile. Running jobs keep their size, and afterwards
// work continues. An outage begins before a job arrives at 100 s, or during the move that this
// job causes.
func TestFailStatic(t *testing.T) {
	for i, o := range outages {
		begins := []time.Duration{90 * time.Second}
		for n := range 4 {
			if o.moving {
				begins = append(begins, 122200*time.Millisecond+time.Duration(n)*900*time.Millisecond)
			}
		}
		for n, from := range begins {
			for _, restarted := range []bool{true, false} {
				if !restarted && o.atStart || n > 0 && restarted != (n%2 == 0) {
					continue
				}
				t.Run(fmt.Sprintf("%s from %s, restarted %t", o.name, from, restarted), func(t *testing.T) {
					staticRun(t, i, from, from+7*time.Minute, restarted)
				})
			}
		}
	}
}

func staticRun(t *testing.T, outage int, from, to time.Duration, restarted bool) {
	t.Helper()
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
	began := w.Now()
	during := func(at time.Time) bool { return !at.Before(began.Add(from)) && at.Before(began.Add(to)) }
	missed := 0
	not := func(query string) (bool, error) {
		if !during(w.Now()) {
			return false, nil
		}
		for _, q := range outages[outage].without {
			if q == query {
				missed++
				return false, &slurm.Error{Op: query, Err: slurm.ErrControllerDown}
			}
		}
		for _, q := range outages[outage].empty {
			if q == query {
				missed++
				return true, nil
			}
		}
		return false, nil
	}
	effect := func(name string, do func() error) error {
		if during(w.Now()) {
			t.Errorf("I6 %s by sluiced %s into the outage", name, w.Now().Sub(began.Add(from)))
		}
		return do()
	}
	m := newMortal(t, w, &boundaries{}, func(c *engine.Config) {
		c.Slurm, c.Journal = dark{stories.CountSlurm(c.Slurm, effect), not}, lame{c.Journal, not}
		c.Mailbox = stories.CountMail(c.Mailbox, effect)
	})
	jobs := []*world.Trainer{w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 12, Total: 100}, Model: world.Amdahl(60, 0.05)})}
	w.At(100*time.Second, func() {
		jobs = append(jobs, w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 8, Total: 12}, Model: world.Amdahl(60, 0.05)}))
	})
	if restarted {
		w.At(from+time.Second, func() {
			m.deaths = append(m.deaths, "outage")
			m.birth()
		})
	}
	if err := w.Drive(context.Background(), m, time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	for _, j := range jobs {
		if j.Done() < j.Job.Spec.Total {
			t.Errorf("job %d did %v of %v", j.ID(), j.Done(), j.Job.Spec.Total)
		}
	}
	if missed == 0 {
		t.Error("it asked nothing meanwhile")
	}
	if t.Failed() {
		t.Logf("%s", m.log())
	}
}
