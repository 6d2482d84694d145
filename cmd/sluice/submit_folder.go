package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/etc"
)

// batchFile is the script that Slurm starts, in the job's folder.
const batchFile = "batch"

// place sets the paths of the job in its folder.
func (s *submission) place(jobs string) {
	s.job.Script = filepath.Join(jobs, s.job.Token, checkpoint.Script)
	s.job.Batch = filepath.Join(jobs, s.job.Token, batchFile)
}

// runOptions are the options for 'sluice run' on the node, where neither the
// configuration nor the specification is at hand.
func runOptions(c etc.Config, spec elastic.Spec) []string {
	options := []string{"--outbox=" + c.Paths.Outbox, fmt.Sprintf("--keep=%d", c.Checkpoint.Keep)}
	if spec.Unit != "" {
		options = append(options, "--unit="+string(spec.Unit))
	}
	return options
}

// folder is a job's folder while it is being made.
type folder struct {
	jobs, own *checkpoint.Dir
	token     string
}

// makeFolder creates the folder of the job with this token: the user's own,
// and readable to the group of the folder above, which is sluiced's.
func makeFolder(jobs, token string, user bool) (folder, error) {
	base, err := openJobs(jobs, user)
	if err != nil {
		return folder{}, err
	}
	f := folder{jobs: base, token: token}
	made, err := base.Make(token, 0o750)
	if err == nil {
		made.Close()
		f.own, err = base.Owned(token, uint32(os.Geteuid()))
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("you may not create a folder in %s, where every job has one; ask your administrators: its mode should be 3777", jobs)
	}
	if err != nil {
		base.Close()
		return folder{}, fmt.Errorf("the job's folder: %w", err)
	}
	return f, nil
}

// openJobs opens the folder of all jobs. Who may write there must not be able to
// take other users' folders away.
func openJobs(jobs string, user bool) (*checkpoint.Dir, error) {
	info, err := os.Stat(jobs)
	if errors.Is(err, fs.ErrNotExist) && user {
		if err := os.MkdirAll(jobs, 0o700); err != nil {
			return nil, err
		}
		info, err = os.Stat(jobs)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s, where every job has its folder, is not there; is sluice set up on this machine? "+
			"see [paths] in sluice.toml, or work with a sluiced of your own: 'sluiced --user' and 'sluice submit --user'", jobs)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s, where every job has its folder, is not a directory; see [paths] in sluice.toml", jobs)
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		return nil, fmt.Errorf("%s: others could take your job's folder away; its mode has to be 3777 (now %04o)", jobs, info.Mode().Perm())
	}
	return checkpoint.OpenDir(jobs)
}

// fill writes the user's script and the one that Slurm starts.
func (f folder) fill(script, batch []byte) error {
	saved, err := f.own.Make(checkpoint.Checkpoints, 0o700)
	if err != nil {
		return fmt.Errorf("the job's folder: %w", err)
	}
	saved.Close()
	err = errors.Join(f.own.Write(checkpoint.Script, script, 0o700), f.own.Write(batchFile, batch, 0o600))
	if err != nil {
		return fmt.Errorf("the job's folder: %w", err)
	}
	return nil
}

// remove takes the folder back.
func (f folder) remove() error { return f.jobs.RemoveAll(f.token) }

func (f folder) close() {
	f.own.Close()
	f.jobs.Close()
}
