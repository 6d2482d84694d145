package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/sweepfile"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// newSubmitCommand returns "sluice submit". Its command line is sbatch's with some
// additional options, which package sbatch parses because cobra cannot.
func newSubmitCommand() *cobra.Command {
	return &cobra.Command{
		Use:                   "submit [options] [script [args...]]",
		Short:                 "Submit an elastic job, as sbatch submits a fixed one",
		Long:                  submitHelp,
		Example:               submitExample,
		DisableFlagParsing:    true,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			// After an interrupt the user must know whether there is a job.
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			// Output that nobody reads MUST NOT end sluice between sbatch's answer and its own exit
			// code. The signal is received, not ignored: sbatch would inherit that.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			s := submission{in: os.Stdin, out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), environ: os.Environ()}
			err := s.submit(ctx, cmd, args)
			var code terminal.ExitCode
			if err == nil || errors.As(err, &code) {
				return err
			}
			terminal.Complain(s.errs, err)
			return errorExit(s.environ)
		},
	}
}

// errorExit is sbatch's exit code for errors: 1, or what SLURM_EXIT_ERROR says.
func errorExit(environ []string) terminal.ExitCode {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "SLURM_EXIT_ERROR="); ok {
			if n, err := strconv.Atoi(value); err == nil && n > 0 && n < 256 {
				return terminal.ExitCode(n)
			}
		}
	}
	return 1
}

// submission is one call of "sluice submit".
type submission struct {
	in        *os.File
	out, errs io.Writer
	environ   []string

	site    etc.Config
	request sbatch.Request
	job     sbatch.Job
	member  bool // the job is one of an array: its id is not printed
	kept    kept // what was typed
}

// submit runs all steps. Until sbatch is run nothing is left on an error; after that the
// folder is removed only if the job certainly does not exist. What cannot be printed changes
// neither that nor the exit code.
func (s *submission) submit(ctx context.Context, cmd *cobra.Command, args []string) error {
	line, err := sbatch.ParseCommandLine(args)
	if err != nil {
		return err
	}
	if line.Help {
		return cmd.Help()
	}
	if line.Version {
		fmt.Fprintln(s.out, "sluice", version)
		return nil
	}
	s.kept.Args = args
	if line.Service {
		s.environ = plainEnviron(s.environ)
	}
	if err := s.understand(line); err != nil {
		return err
	}
	if s.site, err = reach.Load(line.Config, line.User); err != nil {
		return err
	}
	s.request.Own = s.site.Own
	if s.site.Data.Connected() {
		s.request.Connected()
	}
	if err := errors.Join(s.trusted(line), s.managed(), s.patient(), s.notified(), s.request.Sized()); err != nil {
		return err
	}
	made, err := s.made(ctx, line)
	var code terminal.ExitCode
	if errors.As(err, &code) { // sbatch has printed the reason; this is a possible cause
		for _, text := range line.Misspelt() {
			terminal.Warn(s.errs, text)
		}
	}
	if err != nil || len(made) == 0 {
		return err
	}
	if (s.handed() || s.wake(made[0].id)) && !s.request.Spec.Deadline.IsZero() && !s.request.Quiet && len(made) == 1 {
		s.reportAdmission(ctx, made[0].id)
	}
	if s.request.Wait {
		return s.wait(ctx, made)
	}
	return nil
}

// handed reports whether the job was handed to sluice-vaultd, which also tells sluiced of it.
func (s *submission) handed() bool { return s.request.Confined() && s.request.Service == nil }

// made submits the jobs, by itself or through sluice-vaultd.
func (s *submission) made(ctx context.Context, line sbatch.CommandLine) ([]handedIn, error) {
	if s.handed() {
		return s.confined(ctx, line)
	}
	if err := s.startable(ctx); err != nil {
		return nil, err
	}
	return s.perform(ctx, line.User)
}

// perform submits what was requested: one job, those of an array, or none for a test.
func (s *submission) perform(ctx context.Context, user bool) ([]handedIn, error) {
	if err := s.depend(ctx); err != nil {
		return nil, err
	}
	s.name()
	if s.request.Sweep != nil && !s.request.TestOnly {
		return s.createSweep(ctx, user)
	}
	if s.request.TestOnly {
		return nil, s.test(ctx)
	}
	switch v := s.request.Service; {
	case v != nil && v.Task != nil:
		s.job.Of, s.job.Index = v.Task.Of, v.Task.Index
	case s.request.Array != nil:
		return s.createArray(ctx, user)
	}
	id, err := s.create(ctx, user)
	if err != nil || id == 0 {
		return nil, err
	}
	return []handedIn{{id, filepath.Dir(s.job.Script)}}, nil
}

// understand reads the script and merges it with the command line and the environment.
func (s *submission) understand(line sbatch.CommandLine) error {
	name, body, err := s.read(line)
	if err != nil {
		return err
	}
	s.keeps(name, body)
	script, read, wrong := sweepfile.Parse(name, body, nil)
	s.kept.Script = read
	request, contradictions := sbatch.Merge(line, s.environ, script)
	if err := errors.Join(wrong, contradictions); err != nil {
		return err
	}
	for _, text := range request.Warnings {
		if request.Service == nil { // its user has seen them
			terminal.Warn(s.errs, text)
		}
	}
	s.request = request
	return s.request.Date(time.Now())
}

// managed refuses partitions that sluiced does not manage: the job would wait for nothing, and
// then start at its minimum.
func (s *submission) managed() error {
	ours := s.site.Slurm.Partitions
	for _, p := range s.request.Partitions {
		if len(ours) > 0 && !slices.Contains(ours, p) {
			return fmt.Errorf("partition %s: sluice does not manage jobs there, so this one would wait for nothing; choose one of %s, or use sbatch",
				p, strings.Join(ours, ", "))
		}
	}
	return nil
}

// patient refuses a grace period longer than the site's maximum: sluiced would wait for
// the maximum only.
func (s *submission) patient() error {
	most, asked := max(s.site.Resize.MaxGrace, s.site.Resize.Grace), s.request.Spec.Grace
	if asked <= most {
		return nil
	}
	return fmt.Errorf("--grace %v: the longest at this site is %v ([resize] max_grace in sluice.toml); give %v or less", asked, most, most)
}

// notified refuses messages that the site does not send.
func (s *submission) notified() error {
	n := s.request.Notices()
	switch err := s.site.Notify.Allows(s.request.Hook); {
	case n.Webhook && err != nil:
		return fmt.Errorf("--notify: %w", err)
	case n.Mail && !s.site.Notify.Mail:
		return errors.New("--notify: sluiced sends no mails at this site ([notify] mail in sluice.toml); leave it out")
	case (n.Begin || n.Requeue) && !s.site.Notify.Mail:
		terminal.Warn(s.errs, "--mail-type: there are no mails of the kinds BEGIN and REQUEUE at this site ([notify] mail in sluice.toml)")
	}
	return nil
}

// name draws the job's token and derives the paths from it.
func (s *submission) name() {
	var token [16]byte
	rand.Read(token[:]) // never fails
	s.job.Token = hex.EncodeToString(token[:])
	if s.request.Service != nil {
		s.job.Token = s.request.Service.Token
	}
	s.job.Abandon = s.site.Cycle.Abandon
	s.job.Sluice = s.site.Paths.Sluice
	if s.job.Sluice == "" {
		s.job.Sluice, _ = os.Executable()
	}
	s.job.Run = runOptions(s.site, s.request)
	if s.request.Sweep != nil {
		s.job.Run = laneOptions(s.site)
	}
	s.request.Spec.Again = cmp.Or(s.request.OnTimeout, s.site.Checkpoint.OnTimeout) == "requeue"
	s.place(s.site.Paths.Jobs)
}

// create makes the job's folder, submits the job and prints sbatch's line. The id is 0 if
// sbatch accepted the job but its answer cannot be parsed.
func (s *submission) create(ctx context.Context, user bool) (slurm.JobID, error) {
	args, err := s.request.Args(s.job)
	if err != nil {
		return 0, err
	}
	folder, err := makeFolder(s.site.Paths.Jobs, s.job.Token, user)
	if err != nil {
		return 0, err
	}
	defer folder.close()
	if err := folder.fill(s.script(), s.request.Batch(s.job), s.request.Hook); err != nil {
		return 0, errors.Join(err, folder.remove())
	}
	call, err := s.call(args, nil)
	if err != nil {
		return 0, errors.Join(err, folder.remove())
	}
	// The job waits, so its script need not be durable before sbatch is called, only
	// before the user is told that there is a job.
	kept := make(chan error, 1)
	go func() { kept <- folder.keep() }()
	answer := call.run(ctx)
	if err := <-kept; err != nil {
		terminal.Warn(s.errs, "the job's script may be lost in a crash: "+err.Error())
	}
	switch answer.fate {
	case refused:
		if err := folder.remove(); err != nil {
			terminal.Warn(s.errs, "the job's folder could not be removed: "+err.Error())
		}
		return 0, answer.error()
	case unknown:
		return 0, s.doubt(answer)
	}
	id, ok := jobID(answer.out)
	if answer.why != "" {
		terminal.Warn(s.errs, fmt.Sprintf("job %d is submitted; sbatch failed after that: %s", id, answer.why))
	}
	if !s.request.Quiet && !s.member {
		s.print(answer.out, id)
	}
	if !ok {
		terminal.Warn(s.errs, "sbatch accepted the job but did not print its number; look for it with: "+s.look())
	}
	return id, nil
}

// script is what the runner of the job starts: the user's script, or a lane of the sweep.
func (s *submission) script() []byte {
	if s.request.Sweep != nil {
		return s.laneScript()
	}
	return s.request.Script()
}

// print writes the line of submitted jobs. If it cannot be written they are named on standard error;
// a job of number 0 is not known by its number.
func (s *submission) print(line string, made ...slurm.JobID) {
	_, err := io.WriteString(s.out, line)
	if err == nil {
		return
	}
	text := fmt.Sprintf("standard output cannot be written: %v", terminal.Cause(err))
	if made[0] > 0 {
		text = fmt.Sprintf("%s submitted, but %s", jobsAre(made), text)
	}
	terminal.Warn(s.errs, text)
}

func jobsAre(made []slurm.JobID) string {
	if len(made) == 1 {
		return fmt.Sprintf("job %d is", made[0])
	}
	return "jobs " + ranges(made) + " are"
}

// doubt says what to do if it is unknown whether there is a job.
func (s *submission) doubt(a answer) error {
	return fmt.Errorf("%s: the job may or may not be submitted; before you try again, look with: %s", a.why, s.look())
}

// look is the command that finds the job if it exists.
func (s *submission) look() string {
	return "squeue --me -o '%i %j %k' | grep " + s.job.Token
}

// test asks sbatch whether and when the job could run.
func (s *submission) test(ctx context.Context) error {
	s.job.Batch = ""
	args, err := s.request.Args(s.job)
	if err != nil {
		return err
	}
	call, err := s.call(args, s.request.Batch(s.job))
	if err != nil {
		return err
	}
	answer := call.run(ctx)
	if answer.fate == unknown {
		return fmt.Errorf("%s; nothing was submitted", answer.why)
	}
	fmt.Fprint(s.out, answer.out)
	return answer.error()
}

// wake makes sluiced look now rather than in its next cycle. It MUST NOT delay the user:
// the job is submitted. It reports whether sluiced was reached.
func (s *submission) wake(id slurm.JobID) bool {
	err := error(wire.ErrNoDaemon)
	if reach.Askable(s.site) {
		err = s.event(id)
	}
	if errors.Is(err, wire.ErrNoDaemon) {
		terminal.Warn(s.errs, fmt.Sprintf("sluiced is not running: job %d waits until it is, or until Slurm starts it on its minimum after %s (%s)", id, terminal.Clock(s.site.Cycle.Abandon), howToStart(s.site)))
	}
	return err == nil
}

func (s *submission) event(id slurm.JobID) error {
	daemon, err := reach.Dial(s.site)
	if err != nil {
		return err
	}
	return daemon.Nudge(elastic.JobID(id), "submit")
}

// howToStart says what to type, depending on whose sluiced it would be.
func howToStart(c etc.Config) string {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(c.Paths.Socket, home+"/") {
		return "start yours with 'sluiced --user'"
	}
	return "ask your administrators, or see 'systemctl status sluiced'"
}
