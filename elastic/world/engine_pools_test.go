package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// narrowing is a client whose daemon dies as soon as Slurm was told a partition.
type narrowing struct {
	slurm.Client
	told *[]string
	dies bool
}

func (n narrowing) Update(ctx context.Context, id slurm.JobID, u slurm.Update) error {
	err := n.Client.Update(ctx, id, u)
	if u.Partition != "" {
		if *n.told = append(*n.told, u.Partition); n.dies && len(*n.told) == 1 {
			panic(crashed{"a partition was told"})
		}
	}
	return err
}

// TestOneOfItsPartitions: Slurm is told the partition that a job's nodes are in, and the
// job goes on in the other one when its node is lost; so also when sluiced was killed
// before it could note what it told. What its user makes of the partitions since counts.
func TestOneOfItsPartitions(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		dies bool
		user string // what he writes while it waits
		told string
		has  string // the partitions of its record in the end
	}{
		{"sluiced lives", false, "", "[lab gpu]", "gpu,lab"},
		{"sluiced is killed", true, "", "[lab lab gpu]", "gpu,lab"},
		{"its user wants the other alone", false, "gpu", "[lab]", "gpu"},
		{"its user wants all, spelled anew", false, "lab,gpu", "[lab gpu]", "gpu,lab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			grid := fake.Grid(2, 2)
			grid[1].Partitions = []string{"lab"}
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: grid}})
			var told []string
			m := newMortal(t, w, new(boundaries), func(cfg *engine.Config) { cfg.Slurm = narrowing{cfg.Slurm, &told, c.dies} })
			w.Ordinary("carol", 1, 2, 10*time.Minute, "--partition=gpu")
			j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 40}, Args: []string{"--partition=gpu,lab"}, Model: world.Amdahl(60, 0.05)})
			w.At(5*time.Minute, func() { w.Slurm.NodeDown("gpu2", "crashed") })
			w.At(7*time.Minute, func() {
				if c.user == "" {
					return
				}
				if err := w.User("alice").Update(ctx, j.ID(), slurm.Update{Partition: c.user}); err != nil {
					t.Error(err)
				}
			})
			if err := w.Drive(ctx, m, 20*time.Minute); err != nil {
				t.Error(err)
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
			runs, rec := j.Runs(), m.now.of(t, j).Record
			if len(runs) != 2 || runs[0].Split[0].Node != "gpu2" || runs[1].Split[0].Node != "gpu1" {
				t.Errorf("it ran %v, want on gpu2, then on gpu1", runs)
			}
			if fmt.Sprint(told) != c.told || rec.Partition != c.has || (len(m.deaths) == 1) != c.dies {
				t.Errorf("Slurm was told %v, want %s; on record is %s, want %s; died at %v", told, c.told, rec.Partition, c.has, m.deaths)
			}
			if t.Failed() {
				t.Log("\n" + m.log())
			}
		})
	}
}

// TestNoPartitionByComment: what a user writes into a comment opens no partition.
func TestNoPartitionByComment(t *testing.T) {
	ctx := context.Background()
	grid := fake.Grid(2, 2)
	grid[1].Partitions = []string{"vip"}
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: grid}})
	d := boot(t, w, new(journal.Memory), "knapsack")
	w.Ordinary("carol", 1, 2, 10*time.Minute, "--partition=gpu")
	for _, told := range []string{"vip", "gpu", "gpu,vip"} {
		spec := elastic.Spec{Token: strings.Repeat(fmt.Sprint(len(told)), 32), Min: 1, Max: 2, Total: 20}
		tagged(t, w, "eve", elastic.Tag{Spec: spec, Partition: told}.String(), "--partition=gpu")
	}
	if err := w.Drive(ctx, d, 8*time.Minute); err != nil {
		t.Error(err)
	}
	jobs, err := w.Client.Jobs(ctx)
	if err != nil || len(jobs) != 4 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for _, j := range jobs {
		if j.Partition != "gpu" || j.User == "eve" && j.State != slurm.Pending {
			t.Errorf("job %d of %s is %s in %s", j.ID, j.User, j.State, j.Partition)
		}
	}
}

// blind is a site whose limits do not say that a partition is shut, as with AllowGroups.
type blind struct{ slurm.Limiter }

func (b blind) Limits(ctx context.Context) (slurm.Limits, error) {
	l, err := b.Limiter.Limits(ctx)
	for i := range l.Partitions {
		l.Partitions[i].Up = true
	}
	return l, err
}

// TestAPartitionThatTakesIt: of several partitions that have the nodes Slurm is told one that
// starts the job, in the order in which Slurm would try them; where it does not, for a reason
// that sluice cannot read, the next one, and then all.
func TestAPartitionThatTakesIt(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		limit time.Duration
		site  []slurm.Partition
		told  string
		runs  int
	}{
		{"the first", time.Hour, nil, "[first]", 1},
		{"the first one's MaxTime is too short", 2 * time.Hour, []slurm.Partition{{Name: "first", MaxTime: time.Hour, Up: true}}, "[second]", 1},
		{"the second one goes first", time.Hour, []slurm.Partition{{Name: "second", Tier: 2, Up: true}}, "[second]", 1},
		{"the first one is shut, and nothing says so", time.Hour, []slurm.Partition{{Name: "first"}}, "[first second]", 1},
		{"so are both", time.Hour, []slurm.Partition{{Name: "first"}, {Name: "second"}}, "[first second first,second first]", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			grid := fake.Grid(1, 2)
			grid[0].Partitions = []string{"first", "second"}
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: grid}})
			w.Slurm.SetLimits(slurm.Limits{Partitions: c.site})
			var told []string
			m := newMortal(t, w, new(boundaries), func(cfg *engine.Config) {
				cfg.Slurm = narrowing{cfg.Slurm, &told, false}
				cfg.Limiter = blind{w.Client}
			})
			j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 40}, Args: []string{"--partition=first,second"}, Limit: c.limit, Model: world.Amdahl(60, 0.05)})
			if err := w.Drive(ctx, m, 10*time.Minute); err != nil {
				t.Error(err)
			}
			if got := fmt.Sprint(told); got != c.told && (c.runs > 0 || !strings.HasPrefix(got, strings.TrimSuffix(c.told, "]"))) || len(j.Runs()) != c.runs {
				t.Errorf("Slurm was told %v, want %s; it ran %v", told, c.told, j.Runs())
				t.Log("\n" + m.log())
			}
		})
	}
}
