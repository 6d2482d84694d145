package command

import (
	"os"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestFairShare: the factor of fair share as scontrol shows it, and as nothing does.
func TestFairShare(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for _, c := range []struct {
		kind, weight, half string
		want               slurm.FairShare
	}{
		{"priority/multifactor", "1000", "7-00:00:00", slurm.FairShare{Weight: 1000, HalfLife: week}},
		{"priority/multifactor", "4294967295", "12:00:00", slurm.FairShare{Weight: 4294967295, HalfLife: 12 * time.Hour}},
		{"priority/multifactor", "1000", "00:00:00", slurm.FairShare{Weight: 1000}}, // never
		{"priority/multifactor", "1000", "", slurm.FairShare{Weight: 1000, HalfLife: week}},
		{"priority/multifactor", "1000", "some", slurm.FairShare{Weight: 1000, HalfLife: week}},
		{"priority/multifactor", "0", "7-00:00:00", slurm.FairShare{}},
		{"priority/multifactor", "", "7-00:00:00", slurm.FairShare{}},
		{"priority/multifactor", "-1", "7-00:00:00", slurm.FairShare{}},
		{"priority/multifactor", "4294967296", "7-00:00:00", slurm.FairShare{}},
		{"priority/basic", "1000", "7-00:00:00", slurm.FairShare{}},
		{"", "", "", slurm.FairShare{}},
	} {
		s := Settings{"PriorityType": c.kind, "PriorityWeightFairShare": c.weight, "PriorityDecayHalfLife": c.half}
		if got := s.FairShare(); got != c.want {
			t.Errorf("%s %s %s is %+v, want %+v", c.kind, c.weight, c.half, got, c.want)
		}
	}
	for _, release := range []string{"20.11", "22.05", "24.11", "26.05"} { // their defaults
		text, err := os.ReadFile("testdata/" + release + "/config.txt")
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := ParseSettings(string(text)); s.FairShare() != (slurm.FairShare{}) {
			t.Errorf("%s: %+v", release, s.FairShare())
		}
	}
}
