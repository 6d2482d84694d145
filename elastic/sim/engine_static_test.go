package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/sim"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// dark is a Slurm that takes every order and answers some queries badly: not is asked
// before each.
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

// lame is a journal that refuses.
type lame struct {
	engine.Journal
	not func(query string) (empty bool, err error)
}

func (l lame) Jobs(ctx context.Context, since time.Time) ([]engine.JobRecord, error) {
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

func (l lame) SaveJobs(ctx context.Context, r []engine.JobRecord) error {
	if _, err := l.not("journal"); err != nil {
		return err
	}
	return l.Journal.SaveJobs(ctx, r)
}

// outages are what sluiced may miss while the cluster runs on.
var outages = []struct {
	name string
	// without lists the queries that fail, empty those answered with nothing.
	without, empty []string
	moving         bool // it may also come while a job is between two sizes
}{
	{"slurmctld answers no query", []string{"jobs", "nodes", "job"}, nil, true},
	{"slurmctld shows jobs and no nodes", []string{"nodes"}, nil, true},
	{"slurmctld shows nodes and no jobs", []string{"jobs", "job"}, nil, true},
	{"slurmctld calls the list of jobs empty", []string{"job"}, []string{"jobs"}, true},
	{"slurmctld calls the list of nodes empty", nil, []string{"nodes"}, true},
	{"the database refuses", []string{"journal", "moves"}, nil, false},
	{"the database does not tell which moves are open", []string{"moves"}, nil, false},
}

// TestFailStatic: I6, while sluiced cannot see Slurm, or cannot write down what it is
// about to do, it changes nothing; that holds for one that is started meanwhile, too.
// Running jobs keep running as they are, and afterwards everything goes on.
func TestFailStatic(t *testing.T) {
	const quiet, lasts = 90 * time.Second, 7 * time.Minute // bob comes at 100 s
	for i, o := range outages {
		for n := range 6 {
			restarted := n%2 == 0
			if o.without != nil && o.without[0] == "moves" && !restarted {
				continue // read at a start only
			}
			if from := quiet + time.Duration(n)*2500*time.Millisecond; n < 2 || o.moving {
				t.Run(fmt.Sprintf("%s from %s, restarted %t", o.name, from, restarted), func(t *testing.T) {
					staticRun(t, i, from, from+lasts, restarted)
				})
			}
		}
	}
}

func staticRun(t *testing.T, outage int, from, to time.Duration, restarted bool) {
	t.Helper()
	w := sim.New(sim.Config{Recorded: true, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
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
	m := newMortal(t, w, &boundaries{}, func(c *engine.Config) {
		c.Slurm, c.Journal = dark{c.Slurm, not}, lame{c.Journal, not}
	})
	jobs := story(w)
	if restarted {
		w.At(from+time.Second, func() {
			m.deaths = append(m.deaths, "outage")
			m.birth()
		})
	}
	if err := w.Drive(context.Background(), m, 4*time.Hour); err != nil {
		t.Error(err)
	}
	later := false
	for _, c := range w.Slurm.Changes() {
		if c.By == sim.Daemon && during(c.At) {
			t.Errorf("I6 job %d: %s by sluiced %s into the outage", c.Job, c.Op, c.At.Sub(began.Add(from)))
		}
		later = later || c.By == sim.Daemon && c.At.After(began.Add(to))
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	for _, j := range *jobs {
		if j.Done() < j.Job.Spec.Total {
			t.Errorf("job %d did %v of %v", j.ID(), j.Done(), j.Job.Spec.Total)
		}
	}
	if missed == 0 || !later {
		t.Errorf("%d questions were not answered, and sluiced went on afterwards: %t", missed, later)
	}
	if t.Failed() {
		t.Logf("%s", m.log())
	}
}
