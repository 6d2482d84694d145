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

// narrowing is a client whose daemon dies right after it wrote a partition to Slurm.
type narrowing struct {
	slurm.Client
	told *[]string
	dies bool
}

func (n narrowing) Update(ctx context.Context, id slurm.JobID, u slurm.Update) error {
	err := n.Client.Update(ctx, id, u)
	if u.Partition != "" {
		if *n.told = append(*n.told, u.Partition); n.dies && len(*n.told) == 1 {
			panic(crashed{"a partition was written"})
		}
	}
	return err
}

// TestOneOfItsPartitions: the partition of a job's nodes is written to Slurm, and the job continues in
// the other partition when its node is lost, also if sluiced was killed before it recorded the
// partition. A later change of the partitions by the user counts.
func TestOneOfItsPartitions(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		dies bool
		user string // the partitions that the user sets while it waits
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
				t.Errorf("written to Slurm: %v, want %s; recorded: %s, want %s; died at %v", told, c.told, rec.Partition, c.has, m.deaths)
			}
			if t.Failed() {
				t.Log("\n" + m.log())
			}
		})
	}
}

// TestNoPartitionByComment: a comment cannot give a job access to a partition.
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

// blind is a site whose limits do not show that a partition is closed, as with AllowGroups.
type blind struct{ slurm.Limiter }

func (b blind) Limits(ctx context.Context) (slurm.Limits, error) {
	l, err := b.Limiter.Limits(ctx)
	for i := range l.Partitions {
		l.Partitions[i].Up = true
	}
	return l, err
}

// TestAPartitionThatTakesIt: of several partitions with the nodes the first one is written, in Slurm's
// order. If Slurm does not start the job there, for a reason that sluice cannot read, the next one
// is written, and then all.
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
				t.Errorf("written to Slurm: %v, want %s; it ran %v", told, c.told, j.Runs())
				t.Log("\n" + m.log())
			}
		})
	}
}
