package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// A time limit is refused where every partition of the job refuses it, and is not where
// one takes it, where one is not known, and where it is not Slurm's to say.
func TestTooLong(t *testing.T) {
	partitions := []slurm.Partition{
		{Name: "gpu", Default: true, MaxTime: 24 * time.Hour}, {Name: "short", MaxTime: time.Hour}, {Name: "free"},
	}
	const day = 24 * time.Hour
	for _, tc := range []struct {
		most  time.Duration
		names string
		want  string // "" = accepted
	}{
		{5 * day, "", "-t X: the job would never start: that is more than MaxTime, 1-00:00:00 of partition gpu; give --time=1-00:00:00 or less; at its limit it saves, waits again and continues"},
		{day, "", ""},
		{day + time.Minute, "gpu", "1-00:00:00 of partition gpu"},
		{0, "", "1-00:00:00 of partition gpu"}, // without end
		{0, "free", ""},
		{5 * day, "free", ""},
		{2 * time.Hour, "short", "01:00:00 of partition short; give --time=01:00:00 or less"},
		{2 * time.Hour, "short,gpu", ""},
		{2 * day, "short,gpu", "1-00:00:00 of partition gpu and 01:00:00 of partition short; give --time=1-00:00:00 or less"},
		{2 * day, "short,free", ""},
		{2 * day, "short,hidden", ""}, // sbatch knows whether there is one
	} {
		var names []string
		if tc.names != "" {
			names = strings.Split(tc.names, ",")
		}
		err := tooLong(sbatch.Limit{Most: tc.most, At: "-t X"}, names, partitions, true)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v in %q: %v", tc.most, tc.names, err)
		}
	}
	if err := tooLong(sbatch.Limit{Most: 5 * day, At: "-t X"}, nil, partitions, false); strings.Contains(err.Error(), "goes on") {
		t.Error(err)
	}
	if err := tooLong(sbatch.Limit{Most: 5 * day, At: "-t X"}, nil, partitions[1:], true); err != nil {
		t.Errorf("without a default partition: %v", err)
	}
}
