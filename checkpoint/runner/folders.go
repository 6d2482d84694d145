package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// folders are the paths by which a job communicates with sluiced. Directories are opened
// again for every look: only then do network file systems show what other machines wrote.
type folders struct {
	id       checkpoint.Identity
	restarts int
	jobDir   string // absolute; sluiced reads it
	inner    string // the program's folder if the job is confined, absolute; "" = it is not
	outbox   string // the job's folder in it, absolute
}

// errNoJob: the script was not started as a sluice job.
var errNoJob = errors.New("not a job submitted through sluice")

// findFolders derives the job's folders from its script's path, <jobs>/<token>/script,
// and the base of the outbox; "" = outbox beside jobs.
func findFolders(script, outbox string, trial Trial, env map[string]string) (folders, error) {
	script, err := filepath.Abs(script)
	if err != nil {
		return folders{}, err
	}
	job, err := strconv.ParseInt(env["SLURM_JOB_ID"], 10, 64)
	if err != nil || job < 1 {
		return folders{}, fmt.Errorf("%w: SLURM_JOB_ID is not set", errNoJob)
	}
	dir := filepath.Dir(script)
	token := filepath.Base(dir)
	if !checkpoint.ValidToken(token) {
		return folders{}, fmt.Errorf("%w: %s is not in a job's folder", errNoJob, script)
	}
	if outbox == "" {
		outbox = filepath.Join(filepath.Dir(filepath.Dir(dir)), "outbox")
	}
	restarts := supervise.Restarts(env)
	if trial.Sweep != 0 { // whatever job the trial runs in
		job, restarts = trial.Sweep, trial.Start-1
	}
	return folders{
		id: checkpoint.Identity{Job: job, Token: token}, restarts: restarts,
		jobDir: dir, outbox: filepath.Join(outbox, token),
	}, nil
}

// program is the folder that the program reads and writes.
func (f folders) program() string {
	if f.inner != "" {
		return f.inner
	}
	return f.jobDir
}

func (f folders) relay() string       { return filepath.Join(f.program(), checkpoint.RequestFile) }
func (f folders) checkpoints() string { return filepath.Join(f.program(), checkpoint.Checkpoints) }

// prepare creates the files and folders that the program and the runner write to, and
// removes those of an earlier run.
func (f folders) prepare() error {
	dir, err := checkpoint.OpenDir(f.jobDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = errors.Join(dir.Sweep(), dir.Remove(checkpoint.RequestFile), dir.RemoveAll(ranks.Folder), dir.RemoveAll(checkpoint.Gauges))
	// Readable by sluiced whatever the user's umask; access is controlled by the mode of
	// the job's folder.
	log, failed := os.OpenFile(filepath.Join(f.jobDir, checkpoint.ProgressFile), os.O_CREATE|os.O_WRONLY, 0o644)
	if failed == nil {
		failed = errors.Join(log.Chmod(0o644), log.Close())
	}
	saved, missing := dir.Make(checkpoint.Checkpoints, 0o700)
	if missing == nil {
		saved.OwnGroup() // it inherited sluiced's group; on an error it keeps that
		saved.Close()
	}
	return errors.Join(err, failed, missing)
}

// target reads sluiced's Target for this run; the zero Target if there is none.
func (f folders) target() (checkpoint.Target, error) {
	data, err := readIn(f.outbox, checkpoint.TargetFile)
	if err != nil || data == nil {
		return checkpoint.Target{}, err
	}
	t, err := checkpoint.ParseTarget(data)
	if err == nil && t.Job != f.id.Job {
		return checkpoint.Target{}, fmt.Errorf("%s is job %d's, this is job %d", checkpoint.TargetFile, t.Job, f.id.Job)
	}
	return t, err
}

// request reads sluiced's request for this run; nil if there is none. A request for an
// earlier run is ignored.
func (f folders) request() (*checkpoint.Request, error) {
	data, err := readIn(f.outbox, checkpoint.RequestFile)
	if err != nil || data == nil {
		return nil, err
	}
	r, err := checkpoint.ParseRequest(data)
	switch {
	case err != nil:
		return nil, err
	case r.Job != f.id.Job:
		return nil, fmt.Errorf("%s is job %d's, this is job %d", checkpoint.RequestFile, r.Job, f.id.Job)
	case r.Restarts != f.restarts && r.Restarts != 0: // 0 may mean unknown
		return nil, nil
	}
	return &r, nil
}

// lastAnswer returns the request that an earlier run answered; "" if none.
func (f folders) lastAnswer() string {
	data, err := readIn(f.jobDir, checkpoint.RunnerFile)
	if err != nil || data == nil {
		return ""
	}
	r, err := checkpoint.ParseRunner(data)
	if err != nil || r.Answer == nil || r.Restarts >= f.restarts {
		return ""
	}
	return r.Answer.Request
}

// write replaces a file of the job's folder.
func (f folders) write(name string, data []byte) error {
	return checkpoint.WriteIn(f.jobDir, name, data, 0o644)
}

// ask writes the request for the program.
func (f folders) ask(data []byte) error {
	return checkpoint.WriteIn(f.program(), checkpoint.RequestFile, data, 0o644)
}

// unrelay removes the request from the program's folder.
func (f folders) unrelay() error {
	dir, err := checkpoint.OpenDir(f.program())
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Remove(checkpoint.RequestFile)
}

// series calls use with the job's checkpoints. A missing folder is an empty series.
func (f folders) series(use func(*checkpoint.Series) error) error {
	base, err := checkpoint.OpenDir(f.program())
	if err != nil {
		return err
	}
	defer base.Close()
	dir, err := base.Sub(checkpoint.Checkpoints)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return use(checkpoint.NewSeries(dir, f.id))
}

// smallFile bounds the size of a file of the protocol.
const smallFile = 64 << 10

// readIn reads one small file; nil if the file or its folder does not exist.
func readIn(folder, name string) ([]byte, error) {
	data, err := checkpoint.ReadIn(folder, name, smallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// InJob reports whether a script is in a job's folder.
func InJob(script string) bool {
	return checkpoint.ValidToken(filepath.Base(filepath.Dir(script)))
}
