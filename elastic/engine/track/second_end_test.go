package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestRanSince: an ended job has ended again if it had another run meanwhile. A requeue counts a restart
// too, and the clocks of slurmctld and sluiced may differ.
func TestRanSince(t *testing.T) {
	for _, c := range []struct {
		name string
		sj   slurm.Job
		of   int // the run that ended while this daemon ran
		want bool
	}{
		{"the same end", slurm.Job{Restarts: 1, Start: noon.Add(-time.Hour)}, 0, false},
		{"the same end, by a clock behind slurmctld's", slurm.Job{Restarts: 1, Start: noon.Add(time.Minute)}, 0, false},
		{"another run", slurm.Job{Restarts: 2, Start: noon.Add(time.Minute)}, 0, true},
		{"another run, seen by the same daemon", slurm.Job{Restarts: 2, Start: noon.Add(time.Minute)}, 2, true},
		{"requeued, and cancelled before it ran", slurm.Job{Restarts: 2, Start: noon.Add(-time.Hour)}, 0, false},
		{"its second end was logged", slurm.Job{Restarts: 2, Start: noon.Add(time.Minute)}, 3, false},
	} {
		js := &Job{}
		js.Rec.Ended, js.Rec.Restarts, js.Over.of = noon, 1, c.of
		if got := ranSince(js, c.sj); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
