package resize_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/resize"
)

// TestBeginTimesBetweenTwoSizes: until its start a job waits for two minutes at a time, so that Slurm starts it
// soon if sluiced is gone, and not before its start if sluiced is slow.
func TestBeginTimesBetweenTwoSizes(t *testing.T) {
	in := elastic.Intent{ID: 1, Job: 7, Kind: elastic.Resize, To: 2, Restarts: 0, ReleasedAt: noon}
	for _, c := range []struct {
		name string
		step elastic.Step
		job  elastic.Job
		snap elastic.Snapshot
		want time.Duration // of a write from its moment, of others from now
	}{
		{"the size is written", elastic.Requeued, elastic.Job{Phase: elastic.Waiting}, elastic.Snapshot{Now: noon}, 2 * time.Minute},
		{"its requeue delay is over before the size is written", elastic.Requeued, elastic.Job{Phase: elastic.Queued}, elastic.Snapshot{Now: noon}, 2 * time.Minute},
		{"it did not start in time", elastic.Released, elastic.Job{Phase: elastic.Queued}, elastic.Snapshot{Now: noon.Add(time.Hour)}, 2 * time.Minute},
	} {
		in.Step = c.step
		c.job.ID, c.job.Spec = 7, elastic.Spec{Min: 1, Max: 4}
		var got []time.Duration
		for _, a := range resize.Advance(in, c.job, c.snap).Do {
			switch a := a.(type) {
			case elastic.Write:
				got = append(got, a.Defer)
			case elastic.Defer:
				got = append(got, a.Until.Sub(c.snap.Now))
			}
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: deferred by %v, want %v", c.name, got, c.want)
		}
	}
}
