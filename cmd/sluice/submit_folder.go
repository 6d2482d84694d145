package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/sbatch"
)

// batchFile is the script that Slurm starts, in the job's folder.
const batchFile = "batch"

// place sets the job's paths in its folder.
func (s *submission) place(jobs string) {
	s.job.Script = filepath.Join(jobs, s.job.Token, checkpoint.Script)
	s.job.Batch = filepath.Join(jobs, s.job.Token, batchFile)
}

// runOptions are the options for 'sluice run' on the node, which reads neither the
// configuration nor the specification.
func runOptions(c etc.Config, request sbatch.Request) []string {
	options := []string{"--outbox=" + c.Paths.Outbox, fmt.Sprintf("--keep=%d", c.Checkpoint.Keep)}
	say := func(name, value string) {
		if value != "" {
			options = append(options, name+"="+value)
		}
	}
	say("--unit", string(request.Spec.Unit))
	// Defaults of 'sluice run' are left out.
	if every := cmp.Or(request.Every, c.Checkpoint.Every); every != "auto" {
		say("--checkpoint-every", every)
	}
	if n := cmp.Or(request.Retries, c.Checkpoint.Retries); n != "auto" {
		say("--retries", n)
	}
	if c.Checkpoint.NodeMTBF != runner.UsualMTBF {
		say("--node-mtbf", c.Checkpoint.NodeMTBF.String())
	}
	say("--checkpoint-signal", request.Spec.Signal)
	say("--glob", request.Adopt.Glob)
	say("--marker", request.Adopt.Marker)
	if request.Adopt.Still > 0 {
		say("--still", request.Adopt.Still.String())
	}
	say("--progress", request.Adopt.Progress)
	if request.Adopt.Progress != "" && request.Spec.Total > 0 {
		say("--total", fmt.Sprint(request.Spec.Total))
	}
	if len(request.Spec.Profile) > 0 {
		say("--profile", usualProfile.String())
	}
	return options
}

// jobFolder is a job's folder while it is being made. Everything is made inside it, with
// names that cannot lead elsewhere.
type jobFolder struct {
	jobs, own *os.Root
	token     string
}

// makeFolder creates the folder of the job with this token: owned by the user, and
// readable by the group of the folder above, which is sluiced's.
func makeFolder(jobs, token string, user bool) (jobFolder, error) {
	base, err := openJobs(jobs, user)
	if err != nil {
		return jobFolder{}, err
	}
	f := jobFolder{jobs: base, token: token}
	switch err = base.Mkdir(token, 0o750); {
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("you may not create a folder in %s, where every job has one; ask your administrators: its mode should be 3777", jobs)
	case err == nil:
		if err = f.open(); err != nil {
			err = errors.Join(err, f.remove())
		}
	}
	if err != nil {
		f.close()
		return jobFolder{}, fmt.Errorf("the job's folder: %w", err)
	}
	return f, nil
}

// open opens the folder that was just made.
func (f *jobFolder) open() (err error) {
	// Mkdir is subject to the umask; sluiced must be able to read it.
	if err = f.jobs.Chmod(f.token, 0o750); err != nil {
		return err
	}
	if f.own, err = f.jobs.OpenRoot(f.token); err != nil {
		return err
	}
	return f.mine()
}

// mine makes sure that the file system records the folder's owner: sluiced reads only
// what belongs to the job's user.
func (f jobFolder) mine() error {
	info, err := f.own.Stat(".")
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("the file system gives what you create to user %d; jobs of root need one without root squash", stat.Uid)
	}
	return nil
}

// openJobs opens the folder of all jobs. Users that may write there must not be able to
// remove other users' folders.
func openJobs(jobs string, user bool) (*os.Root, error) {
	info, err := os.Stat(jobs)
	if errors.Is(err, fs.ErrNotExist) && user {
		if err := os.MkdirAll(jobs, 0o700); err != nil {
			return nil, err
		}
		info, err = os.Stat(jobs)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s, where every job has its folder, does not exist; is sluice set up on this machine? "+
			"see [paths] in sluice.toml, or work with a sluiced of your own: 'sluiced --user' and 'sluice submit --user'", jobs)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s, where every job has its folder, is not a directory; see [paths] in sluice.toml", jobs)
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		return nil, fmt.Errorf("%s: other users could remove your job's folder; its mode must be 3777 (now %04o)", jobs, info.Mode().Perm())
	}
	return os.OpenRoot(jobs)
}

// fill writes the user's script, the one that Slurm starts, and where messages are posted. sbatch reads the latter
// once; the former must be made durable, by keep.
func (f jobFolder) fill(script, batch []byte, hook string) error {
	err := f.own.Mkdir(checkpoint.Checkpoints, 0o700)
	if err == nil {
		err = f.create(checkpoint.Script, script, 0o700)
	}
	if err == nil {
		err = f.create(batchFile, batch, 0o600)
	}
	if err == nil && hook != "" {
		err = f.create(checkpoint.Hook, []byte(hook+"\n"), 0o644) // only sluiced's group can enter the folder
	}
	if err != nil {
		return fmt.Errorf("the job's folder: %w", err)
	}
	return nil
}

// create writes a new file.
func (f jobFolder) create(name string, data []byte, perm fs.FileMode) error {
	file, err := f.own.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Chmod(perm), file.Close())
}

// keep makes the script durable.
func (f jobFolder) keep() error {
	for _, name := range []string{checkpoint.Script, "."} {
		file, err := f.own.Open(name)
		if err != nil {
			return err
		}
		err = file.Sync()
		file.Close() // read only
		// Some network file systems cannot flush a directory and need not.
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
			return err
		}
	}
	return nil
}

// remove removes the folder.
func (f jobFolder) remove() error { return f.jobs.RemoveAll(f.token) }

func (f jobFolder) close() {
	if f.own != nil {
		f.own.Close()
	}
	f.jobs.Close()
}
