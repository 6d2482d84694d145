package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// logSource finds a job's output and whether more may be written.
type logSource struct {
	job    elastic.JobID
	jobs   string // folder of the jobs' folders
	daemon *client.Client
	slurm  slurm.Client

	token string
	uid   uint32
	owned bool // uid is known
}

func newLogSource(cmd *cobra.Command, job elastic.JobID) (*logSource, error) {
	c, err := reach.Site(cmd)
	if err != nil {
		return nil, err
	}
	client, err := slurmFor(c)
	if err != nil {
		return nil, err
	}
	daemon, err := reach.Dial(c)
	if err != nil {
		return nil, err
	}
	s := &logSource{job: job, jobs: c.Paths.Jobs, daemon: daemon, slurm: client}
	return s, s.identify(cmd.Context())
}

// identify finds whose files the job has: from the daemon, else from Slurm.
func (s *logSource) identify(ctx context.Context) error {
	e, err := s.daemon.Explain(ctx, s.job)
	if err == nil {
		s.token, s.uid, s.owned = e.Job.Token, cmp.Or(e.Job.SlurmUID, e.Job.UID), true
		return nil
	}
	d, worse := s.slurm.Job(ctx, slurm.JobID(s.job))
	if worse != nil && errors.Is(err, wire.ErrNotFound) {
		return err
	}
	if worse != nil {
		return named(s.job, errors.Join(err, worse))
	}
	s.uid, s.owned = d.UID, true
	if tag, bad := elastic.ParseTag(d.Comment); bad == nil {
		s.token = tag.Spec.Token
	}
	return nil
}

// foreign reports whether the job is another user's.
func (s *logSource) foreign() bool { return !s.owned || s.uid != uint32(os.Getuid()) }

// over reports whether the job has ended. A job that is unknown to both has ended; if
// neither answers it has not.
func (s *logSource) over(ctx context.Context) bool {
	e, err := s.daemon.Explain(ctx, s.job)
	if err == nil {
		return e.Job.Ended
	}
	d, err := s.slurm.Job(ctx, slurm.JobID(s.job))
	if err != nil {
		return errors.Is(err, slurm.ErrNotFound)
	}
	return d.State.Ended() && !d.Completing
}

var (
	errNotStarted = errors.New("it has not started yet: there is no output")
	errNoErrors   = errors.New("its errors have no file of their own: they are in its output, 'sluice logs' without --stderr")
)

// early reports whether an error may disappear as the job continues.
func (s *logSource) early(err error) bool {
	return errors.Is(err, errNotStarted) || errors.Is(err, fs.ErrNotExist)
}

// open opens the file of the job's output, or of its errors.
func (s *logSource) open(ctx context.Context, wantErrors bool) (*os.File, error) {
	name, err := s.path(ctx, wantErrors)
	if err != nil {
		return nil, fmt.Errorf("job %d: %w", s.job, err)
	}
	file, err := s.openFile(name)
	switch {
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%s: you may not read it", terminal.Escape(name))
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s is not on this machine: it was moved, or exists on the job's first node only: %w", terminal.Escape(name), fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("job %d: %w", s.job, err)
	}
	return file, nil
}

// path returns the path of the output: from the job's runner, else from Slurm.
func (s *logSource) path(ctx context.Context, wantErrors bool) (string, error) {
	word, told := s.word()
	switch {
	case told && wantErrors && word.Errors != "":
		return word.Errors, nil
	case told && wantErrors && word.Output != "":
		return "", errNoErrors
	case told && !wantErrors && word.Output != "":
		return word.Output, nil
	case wantErrors && !told:
		return "", errNotStarted
	}
	d, err := s.slurm.Job(ctx, slurm.JobID(s.job))
	switch {
	case err != nil:
		return "", fmt.Errorf("the path of its output is no longer known: %w", err)
	case d.StdOut == "" || !filepath.IsAbs(d.StdOut):
		return "", fmt.Errorf("Slurm does not report the path of its output; 'scontrol show job %d' may", s.job)
	case wantErrors:
		return "", errNoErrors
	case d.Start.IsZero() && d.State == slurm.Pending:
		return "", errNotStarted
	}
	return d.StdOut, nil
}

// maxWord bounds the size of a runner's note; real ones have a few KB.
const maxWord = 64 << 10

// word is the last note of the job's runner. Only a file that the job's user owns counts.
func (s *logSource) word() (checkpoint.Runner, bool) {
	jobs, err := checkpoint.OpenDir(s.jobs)
	if err != nil {
		return checkpoint.Runner{}, false
	}
	defer jobs.Close()
	own, err := jobs.Owned(s.token, s.uid)
	if err != nil {
		return checkpoint.Runner{}, false
	}
	defer own.Close()
	data, err := own.Read(checkpoint.RunnerFile, maxWord)
	if err != nil {
		return checkpoint.Runner{}, false
	}
	word, err := checkpoint.ParseRunner(data)
	return word, err == nil && word.Job == int64(s.job)
}

// openFile opens a regular file. In another user's job no link is followed, and the file
// must belong to that user.
func (s *logSource) openFile(name string) (*os.File, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK // a pipe must not block it
	if s.foreign() {
		flags |= syscall.O_NOFOLLOW
	}
	file, err := os.OpenFile(name, flags, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a link, which is not followed in another user's job", terminal.Escape(name))
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		stat, known := info.Sys().(*syscall.Stat_t)
		switch {
		case !info.Mode().IsRegular():
			err = fmt.Errorf("the output goes to %s, which keeps nothing", terminal.Escape(name))
		case s.foreign() && (!known || stat.Uid != s.uid):
			err = fmt.Errorf("%s is not a file of the job's user", terminal.Escape(name))
		}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// isTerminal reports whether the output is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
