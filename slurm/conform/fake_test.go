package conform_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm/conform"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

func TestFake(t *testing.T) {
	tell("fake", conform.Run(t, conform.Fake(fake.Config{Seed: 1})))
}

func TestFakeWithLimits(t *testing.T) {
	for seed := range uint64(3) {
		conform.RunLimits(t, conform.Fake(fake.Config{Seed: seed, Jitter: time.Duration(seed) * time.Second, AgeWeight: 1_000_000, MaxAge: time.Hour}))
	}
}

// TestFakeWhateverItsPace: the promises do not depend on one set of delays.
func TestFakeWhateverItsPace(t *testing.T) {
	for seed := range uint64(5) {
		conform.Run(t, conform.Fake(fake.Config{Seed: seed, Jitter: 2 * time.Second, Draining: time.Second}))
	}
}

// TestFakeAtSlurmsDefaults: passes run only on request, at most every 3 s.
func TestFakeAtSlurmsDefaults(t *testing.T) {
	for seed := range uint64(3) {
		conform.RunPasses(t, conform.Fake(fake.Config{Seed: seed, PassDelay: 3 * time.Second, Jitter: time.Second}))
	}
}

// TestFakeWithTypes: types of GPU, several of them on one node.
func TestFakeWithTypes(t *testing.T) {
	all := fake.Grid(4, 4)
	for i := range all {
		all[i].GPUType = "blue"
	}
	all[0].GPUType, all[0].Types = "", conform.Types
	conform.RunTypes(t, conform.Fake(fake.Config{Seed: 1, Nodes: all}))
}

// TestFakeThatLosesTrack: the fake keeps a lost run counted, as older releases do.
func TestFakeThatLosesTrack(t *testing.T) {
	conform.Run(t, conform.Fake(fake.Config{Seed: 1, Lingering: true}))
}

// TestThePlannerPredictsSlurm: the splits that package nodes predicts are those that
// Slurm gives.
func TestThePlannerPredictsSlurm(t *testing.T) {
	for _, s := range conform.Splits {
		var free []int
		for _, busy := range s.Busy {
			free = append(free, 4-busy)
		}
		if got := nodes.GreedySplit(free, s.Total); fmt.Sprint(got) != fmt.Sprint(s.Want) {
			t.Errorf("%d GPUs over %v free: planned %v, Slurm gives %v", s.Total, free, got, s.Want)
		}
	}
}
