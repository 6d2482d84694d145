package lab_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// TestBackup: on every available release the backup controller takes over from a killed
// one, keeps the jobs, and hands back to one that returns.
func TestBackup(t *testing.T) {
	asRoot(t)
	for _, root := range labtest.Roots() {
		t.Run("root "+filepath.Base(root), func(t *testing.T) {
			t.Parallel()
			l := labtest.Up(t, lab.Config{Root: root, Nodes: 2, GPUs: 2, Backup: true})
			t.Logf("Slurm %s", l.Release())
			job := longJob(t, l, "--gpus=1")
			if err := l.KillController(within(t)); err != nil {
				t.Fatal(err)
			}
			waitState(t, l, job, "RUNNING")
			slurm(t, l, "scontrol", "update", "JobId="+job, "Comment=seen by the backup")
			if err := errors.Join(l.StartController(within(t)), l.WaitHealthy(within(t)), l.KillBackup(within(t))); err != nil {
				t.Fatal(err)
			}
			waitState(t, l, job, "RUNNING")
			if got := slurm(t, l, "squeue", "-h", "-j", job, "-O", "Comment:30"); got != "seen by the backup" {
				t.Errorf("of what was written under the backup is left: %q", got)
			}
			if s, _ := l.Status(within(t)); s.Trouble() != "slurmctld-backup does not run" {
				t.Errorf("trouble %q after the backup was killed", s.Trouble())
			}
			if err := l.StartBackup(within(t)); err != nil {
				t.Fatal(err)
			}
			slurm(t, l, "scancel", job)
			testDown(t, l)
		})
	}
}
