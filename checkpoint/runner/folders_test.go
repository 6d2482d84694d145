package runner

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Below a folder with a group of its own, from which all would inherit it, checkpoints belong
// to the group of the job's user; also where an earlier release made the folder.
func TestCheckpointsAreOfTheUsersGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("LOUD SKIP: giving a folder to a group that one is not in needs root")
	}
	const theirs = 12345
	for _, earlier := range []bool{false, true} {
		f := folders{jobDir: t.TempDir()}
		if err := os.Chown(f.jobDir, -1, theirs); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(f.jobDir, 0o750|os.ModeSetgid); err != nil {
			t.Fatal(err)
		}
		if earlier {
			if err := os.Mkdir(f.checkpoints(), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.prepare(); err != nil {
			t.Fatal(err)
		}
		made := filepath.Join(f.checkpoints(), "00000001")
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{
			f.checkpoints(): os.Getegid(), made: os.Getegid(), filepath.Join(f.jobDir, checkpoint.ProgressFile): theirs,
		} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := int(info.Sys().(*syscall.Stat_t).Gid); got != want {
				t.Errorf("%s is of group %d, want %d (folder of an earlier release: %t)", path, got, want, earlier)
			}
		}
		if info, err := os.Stat(f.checkpoints()); err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%v: %v", info.Mode(), err)
		}
	}
}
