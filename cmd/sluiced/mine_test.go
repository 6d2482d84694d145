package main

import (
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestMine: I8, a daemon of one user looks after that user's jobs alone, and one that
// was given partitions after no other's.
func TestMine(t *testing.T) {
	for _, c := range []struct {
		user       bool
		partitions []string
		job        slurm.Job
		want       bool
	}{
		{job: slurm.Job{UID: 8, Partition: "gpu"}, want: true},
		{user: true, job: slurm.Job{UID: 7, Partition: "gpu"}, want: true},
		{user: true, job: slurm.Job{UID: 8, Partition: "gpu"}},
		{user: true, job: slurm.Job{UID: 0, Partition: "gpu"}},
		{user: true, partitions: []string{"gpu"}, job: slurm.Job{UID: 8, Partition: "gpu"}},
		{user: true, partitions: []string{"gpu"}, job: slurm.Job{UID: 7, Partition: "cpu"}},
		{partitions: []string{"gpu", "big"}, job: slurm.Job{UID: 8, Partition: "big"}, want: true},
		{partitions: []string{"gpu", "big"}, job: slurm.Job{UID: 8, Partition: "cpu,gpu"}, want: true},
		{partitions: []string{"gpu"}, job: slurm.Job{UID: 8, Partition: "gpus"}},
		{partitions: []string{"gpu"}, job: slurm.Job{UID: 8}},
	} {
		if got := mine(c.user, 7, c.partitions)(c.job); got != c.want {
			t.Errorf("user mode %t, partitions %v, job of %d in %q: %t", c.user, c.partitions, c.job.UID, c.job.Partition, got)
		}
	}
}
