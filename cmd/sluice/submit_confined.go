package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/bundle"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/vault/client"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// confined hands a confined job to sluice-vaultd, which submits it as the service account: the script, the options that are not
// in it, and the code.
func (s *submission) confined(ctx context.Context, line sbatch.CommandLine) ([]handedIn, error) {
	vault, err := reach.Vault(s.site)
	if err != nil {
		return nil, err
	}
	code, err := bundle.Pack(s.codeFolder(line), s.request.Code, int64(s.site.Data.Bundle))
	if err != nil {
		return nil, err
	}
	script := s.request.Script()
	q := wire.Request{Do: wire.Submit, Data: s.request.Data, Options: s.request.Forwarded(), Script: path.Base(cmp.Or(s.request.ScriptName(), "stdin")), Arguments: line.Args,
		ScriptSize: int64(len(script)), BundleSize: int64(len(code))}
	if s.request.Array != nil {
		return s.confinedArray(ctx, vault, q, script, code)
	}
	_, made, err := s.handIn(ctx, vault, q, script, code)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s%d\n", submittedLine, made.id)
	if s.request.Parsable {
		text = fmt.Sprintf("%d\n", made.id)
	}
	if !s.request.Quiet {
		s.print(text, made.id)
	}
	return []handedIn{made}, nil
}

// handIn hands one job to sluice-vaultd. token is what the job is called there.
func (s *submission) handIn(ctx context.Context, vault *client.Client, q wire.Request, script, code []byte) (token string, made handedIn, err error) {
	a, err := vault.Do(ctx, q, io.MultiReader(bytes.NewReader(script), bytes.NewReader(code)), nil)
	if err != nil {
		return "", made, inDoubt(a, err)
	}
	for text := range strings.Lines(a.Output) {
		fmt.Fprintln(s.errs, "sluice-vaultd:", terminal.Escape(strings.TrimSpace(text)))
	}
	if a.JobID <= 0 {
		return a.ID, made, errors.New("the job may or may not be submitted: sluice-vaultd does not know its number; before you try again, look with: sluice queue")
	}
	return a.ID, handedIn{slurm.JobID(a.JobID), filepath.Join(s.site.Paths.Jobs, a.ID)}, nil
}

// inDoubt says of a submission without an answer, also if it broke off, that there may be a job all the same.
func inDoubt(a wire.Answer, err error) error {
	var lost *wire.Error
	if a.Version == 0 && errors.As(err, &lost) && lost.Code == wire.Unavailable {
		return wire.Fail(lost.Code, "before you try again, look with: sluice queue", "the job may or may not be submitted: %s", lost.Text)
	}
	return err
}

// confinedArray hands in a job for each task, or none: what was submitted before a failure is cancelled. sluiced starts none
// before it has seen all.
func (s *submission) confinedArray(ctx context.Context, vault *client.Client, q wire.Request, script, code []byte) ([]handedIn, error) {
	if err := s.fits(ctx); err != nil {
		return nil, err
	}
	var made []handedIn
	var tokens []string
	for _, index := range s.request.Array.Tasks {
		if q.Task = (&wire.Task{Index: index}); len(tokens) > 0 {
			q.Task.Of, q.ScriptSize, q.BundleSize, script, code = tokens[0], 0, 0, nil, nil
		}
		token, job, err := s.handInSlowly(ctx, vault, q, script, code)
		if err == nil && ctx.Err() != nil {
			err = fmt.Errorf("interrupted after task %d was submitted", index)
		}
		if token != "" {
			tokens = append(tokens, token)
		}
		if job.id > 0 {
			made = append(made, job)
		}
		if err != nil {
			return nil, s.giveBack(ctx, vault, tokens, made, index, err)
		}
	}
	s.printArray(made)
	return made, nil
}

// pacePause is the time between two tries to hand in a further task of an array; undoLimit bounds all of them. A variable only for
// tests.
var pacePause = time.Second

// handInSlowly is handIn, and tries a further task of an array again while its user has too many requests.
func (s *submission) handInSlowly(ctx context.Context, vault *client.Client, q wire.Request, script, code []byte) (token string, made handedIn, err error) {
	for late := time.Now().Add(undoLimit); ; {
		token, made, err = s.handIn(ctx, vault, q, script, code)
		if q.Task.Of == "" || !errors.Is(err, wire.ErrTooMany) || time.Now().After(late) {
			return token, made, err
		}
		select {
		case <-time.After(pacePause):
		case <-ctx.Done():
			return token, made, err
		}
	}
}

// giveBack cancels the jobs of an array of which one could not be submitted, the first one last: without it sluiced would start
// the others. So it is left where one of these, or the one that failed, may live on.
func (s *submission) giveBack(ctx context.Context, vault *client.Client, tokens []string, made []handedIn, index int, why error) error {
	if len(tokens) == 0 {
		return why
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer stop()
	var failed error
	for i, token := range slices.Backward(tokens) {
		if i == 0 && (failed != nil || errors.Is(why, wire.ErrUnavailable)) {
			break
		}
		_, err := vault.Do(ctx, wire.Request{Do: wire.Cancel, Job: token}, nil, nil)
		if err != nil && !errors.Is(err, wire.ErrConflict) { // that is one that Slurm does not have
			failed = err
		}
	}
	switch {
	case failed != nil && len(made) > 0:
		return fmt.Errorf("task %d: %w; not all jobs of the array could be cancelled (%w), and none starts as long as job %d waits; type: sluice cancel %s", index, why, failed, made[0].id, joined(ids(made), " "))
	case failed != nil:
		return fmt.Errorf("task %d: %w; what was submitted of the array could not be cancelled: %w", index, why, failed)
	case errors.Is(why, wire.ErrUnavailable) && len(made) > 0:
		return fmt.Errorf("task %d: %w; it may be submitted, so job %d was left: as long as it waits no task starts; then type: sluice cancel '%d_*'", index, why, made[0].id, made[0].id)
	}
	return fmt.Errorf("task %d: %w; what was submitted of the array (%s) was cancelled", index, why, terminal.Plural(len(tokens), "job"))
}

// codeFolder is the folder whose files go along: the current one for --code, which names paths in it, else the script's.
func (s *submission) codeFolder(line sbatch.CommandLine) string {
	if len(s.request.Code) > 0 || line.Script == "" {
		return "."
	}
	return filepath.Dir(findScript(line.Script, os.Getenv("PATH")))
}

// trusted makes sure that a job for another user is submitted by the service account alone, and from the folder that sluice-vaultd made
// for it.
func (s *submission) trusted(line sbatch.CommandLine) error {
	v := s.request.Service
	if v == nil {
		return nil
	}
	uid, err := s.site.Data.UID()
	if err != nil {
		return fmt.Errorf("--for: %w", err)
	}
	if uint32(os.Getuid()) != uid {
		return errors.New("--for: only the service account of data sets submits jobs for other users ([data] account in sluice.toml); leave it out")
	}
	if want := path.Join(path.Dir(v.Fence), "script"); line.Script != want {
		return fmt.Errorf("--for: the script of a confined job is %s, not %q", want, line.Script)
	}
	return nil
}

// carried are the variables of the service account with which sbatch runs for another user.
var carried = []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "SLURM_CONF", "TZ", "USER"}

// plainEnviron returns the variables that are carried.
func plainEnviron(environ []string) (out []string) {
	for _, name := range carried {
		for _, entry := range environ {
			if strings.HasPrefix(entry, name+"=") {
				out = append(out, entry)
			}
		}
	}
	return out
}
