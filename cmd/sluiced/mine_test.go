package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestMine: I8, a daemon of one user looks after that user's jobs alone, and only those that
// were submitted to it, which the cluster's leaves alone; and one that
// was given partitions after no other's.
func TestMine(t *testing.T) {
	jobs := t.TempDir()
	const here, elsewhere = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	if err := os.Mkdir(filepath.Join(jobs, here), 0o700); err != nil {
		t.Fatal(err)
	}
	said := func(token, more string) string { return "sluice/1 id=" + token + " inc=0 min=1" + more }
	for _, c := range []struct {
		user       bool
		partitions []string
		job        slurm.Job
		want       bool
	}{
		{job: slurm.Job{UID: 8, Partition: "gpu"}, want: true},
		{user: true, job: slurm.Job{UID: 7, Partition: "gpu", Comment: said(elsewhere, " own=1")}, want: true},
		{user: true, job: slurm.Job{UID: 7, Partition: "gpu", Comment: said(elsewhere, " own=1 ; my words")}, want: true},
		{user: true, job: slurm.Job{UID: 7, Partition: "gpu", Comment: said(elsewhere, " ; own=1 ")}}, // the cluster's, whatever its user says
		{user: true, job: slurm.Job{UID: 7, Partition: "gpu", Comment: said(elsewhere, "")}},
		{user: true, job: slurm.Job{UID: 7, Partition: "gpu", Comment: said(here, "")}, want: true}, // of a release that marked none
		{user: true, job: slurm.Job{UID: 7, Partition: "gpu"}},
		{job: slurm.Job{UID: 7, Partition: "gpu", Comment: said(elsewhere, " own=1")}},
		{job: slurm.Job{UID: 7, Partition: "gpu", Comment: said(elsewhere, " own=1 newer=2")}},
		{job: slurm.Job{UID: 7, Partition: "gpu", Comment: said(elsewhere, " ; own=1 ")}, want: true},
		{user: true, job: slurm.Job{UID: 8, Partition: "gpu", Comment: said(elsewhere, " own=1")}},
		{user: true, job: slurm.Job{UID: 0, Partition: "gpu"}},
		{user: true, partitions: []string{"gpu"}, job: slurm.Job{UID: 8, Partition: "gpu"}},
		{user: true, partitions: []string{"gpu"}, job: slurm.Job{UID: 7, Partition: "cpu"}},
		{partitions: []string{"gpu", "big"}, job: slurm.Job{UID: 8, Partition: "big"}, want: true},
		{partitions: []string{"gpu", "big"}, job: slurm.Job{UID: 8, Partition: "cpu,gpu"}, want: true},
		{partitions: []string{"gpu"}, job: slurm.Job{UID: 8, Partition: "gpus"}},
		{partitions: []string{"gpu"}, job: slurm.Job{UID: 8}},
	} {
		if got := mine(c.user, 7, c.partitions, jobs)(c.job); got != c.want {
			t.Errorf("user mode %t, partitions %v, job of %d in %q: %t", c.user, c.partitions, c.job.UID, c.job.Partition, got)
		}
	}
}
