package command

import (
	"os"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestAging: the age factor as scontrol shows it, and as nothing does.
func TestAging(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for _, c := range []struct {
		kind, flags, weight, most string
		want                      slurm.Aging
	}{
		{"priority/multifactor", "", "1000", "7-00:00:00", slurm.Aging{Weight: 1000, Full: week}},
		{"priority/multifactor", "FAIR_TREE,MAX_TRES", "4294967295", "01:00:00", slurm.Aging{Weight: 4294967295, Full: time.Hour}},
		{"priority/multifactor", "ACCRUE_ALWAYS,FAIR_TREE", "1000", "7-00:00:00", slurm.Aging{}}, // Slurm adds it itself
		{"priority/basic", "", "1000", "7-00:00:00", slurm.Aging{}},
		{"priority/multifactor", "", "0", "7-00:00:00", slurm.Aging{}},
		{"priority/multifactor", "", "", "", slurm.Aging{}},
		{"priority/multifactor", "", "-1", "7-00:00:00", slurm.Aging{}},
		{"priority/multifactor", "", "4294967296", "7-00:00:00", slurm.Aging{}},
		{"priority/multifactor", "", "1000", "UNLIMITED", slurm.Aging{}},
		{"priority/multifactor", "", "1000", "0-00:00:00", slurm.Aging{}},
		{"priority/multifactor", "", "1000", "soon", slurm.Aging{}},
		{"", "", "", "", slurm.Aging{}},
	} {
		if got := aging(Settings{"PriorityType": c.kind, "PriorityFlags": c.flags, "PriorityWeightAge": c.weight, "PriorityMaxAge": c.most}); got != c.want {
			t.Errorf("%s %s %s %s is %+v, want %+v", c.kind, c.flags, c.weight, c.most, got, c.want)
		}
	}
	for _, release := range []string{"20.11", "22.05", "24.11", "26.05"} { // their defaults: no age factor
		text, err := os.ReadFile("testdata/" + release + "/config.txt")
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := ParseSettings(string(text)); aging(s) != (slurm.Aging{}) {
			t.Errorf("%s: %+v", release, aging(s))
		}
	}
}
