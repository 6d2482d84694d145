package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/slurm"
)

// stage is the progress of a size.
type stage int

const (
	waiting   stage = iota // waits for idle GPUs
	submitted              // its job runs, or has just ended
	measured               // there is a result, or a reason why there is none
)

// profiledSize is one size of a profile.
type profiledSize struct {
	p     *profiling
	stage stage
	point speed.Point
	log   checkpoint.Measurement // what its run reported
	note  string                 // messages of the program for readers

	sub    submission
	folder string
	at     time.Time // submitted
	runs   bool      // its job has started
	exited time.Time // the script ended
	nudged time.Time
}

// outputFile is the path of a run's output, in its job's folder.
const outputFile = "output"

// submit submits the size's job in the same way as 'sluice submit'.
func (s *profiledSize) submit(ctx context.Context) {
	s.sub = s.p.base
	s.sub.name()
	s.folder = filepath.Dir(s.sub.job.Script)
	output, limit := filepath.Join(s.folder, outputFile), s.p.options.measure.Limit
	s.sub.request = s.p.base.request.Fixed(s.point.GPUs,
		[]string{fmt.Sprintf("--job-name=profile-%d-gpus", s.point.GPUs), fmt.Sprintf("--time=%d", int(limit/time.Minute)+5)},
		[]string{"--output=" + output, "--error=" + output})
	s.sub.job.Run = append(runOptions(s.sub.site, s.sub.request), "--profile="+s.p.options.measure.String(), "--profile-limit="+limit.String())
	// An interrupt waits for sbatch's answer: a job with an unknown number could not be
	// cancelled.
	id, err := s.sub.create(context.WithoutCancel(ctx), s.p.user)
	s.point.Job = int64(id)
	switch {
	case err != nil:
		s.fail("%v", err)
		return
	case id == 0:
		s.fail("sbatch did not print the job's number; look for it with: %s", s.sub.look())
		return
	}
	s.stage, s.at = submitted, time.Now()
	s.sub.wake(id)
	s.p.say("job %d measures %d steps on %s", id, s.p.options.measure.Steps, terminal.Plural(s.point.GPUs, "GPU"))
}

// follow checks the state of the job. Its report is read by sluiced as well: its folder
// stays until sluiced has seen the end.
func (s *profiledSize) follow(ctx context.Context, report wire.Report) {
	if at := scriptEnded(s.folder); !at.IsZero() && s.exited.IsZero() {
		s.exited = time.Now()
	}
	job, known := findJob(report, s.point.Job)
	s.runs = s.runs || known && (job.GPUs > 0 || job.Ended) || !s.exited.IsZero()
	switch {
	case known && job.Ended:
		s.finish(ctx, job)
	case !s.exited.IsZero():
		s.hurry()
		if time.Since(s.exited) > profileEnd {
			s.finish(ctx, job)
		}
	case !s.runs && time.Since(s.at) > s.p.options.wait:
		if s.end(ctx) {
			s.fail("job %d did not start in %v: %s; see 'sluice nodes', or type --wait=1h", s.point.Job, s.p.options.wait, stuck(job))
			s.clear()
		}
	case s.runs && time.Since(s.at) > s.p.options.wait+s.p.options.measure.Limit+5*time.Minute:
		if s.end(ctx) { // whatever it does, this is enough
			s.finish(ctx, job)
		}
	}
}

// end cancels the job and waits until it has ended; false if an interrupt came in
// between, which ends it again.
func (s *profiledSize) end(ctx context.Context) bool {
	s.cancel(ctx)
	s.gone(ctx)
	return ctx.Err() == nil
}

func findJob(report wire.Report, id int64) (wire.Job, bool) {
	for _, j := range report.Jobs {
		if j.JobID == id {
			return j, true
		}
	}
	return wire.Job{}, false
}

// stuck is the reason for which a job does not start.
func stuck(j wire.Job) string {
	switch {
	case j.Reason != "":
		return j.Reason
	case j.SlurmReason != "":
		return "Slurm says " + j.SlurmReason
	}
	return "sluiced has not seen it yet"
}

// hurry wakes sluiced: its next cycle may be 30 s away.
func (s *profiledSize) hurry() {
	if time.Since(s.nudged) > 2*time.Second {
		s.nudged = time.Now()
		_ = s.p.daemon.Nudge(elastic.JobID(s.point.Job), "end") // on an error sluiced looks by itself
	}
}

// finish reads the run's report and removes everything of the run.
func (s *profiledSize) finish(ctx context.Context, job wire.Job) {
	s.read()
	said := s.output()
	if spans, _ := s.log.Spans(); len(spans) > 0 {
		s.stage, s.note = measured, emulation(said)
		s.p.say("job %d is done on %s", s.point.Job, terminal.Plural(s.point.GPUs, "GPU"))
	} else {
		how, failed := s.ending(ctx, job)
		s.fail("job %d %s before it reported a step%s", s.point.Job, how, s.remedy(failed, said))
	}
	s.gone(ctx)
	s.clear()
}

// remedy is what to do about a run that reported nothing.
func (s *profiledSize) remedy(failed bool, said []byte) string {
	switch {
	case failed:
		return s.lastWords(said)
	case s.sub.request.Adopt.Progress != "":
		return ". Does --progress-regex match the lines of its log? If they are rare, give it more time: --limit=30m" + s.lastWords(said)
	}
	return ". The program must call sluice.should_checkpoint() after every step, or its log must be read: --progress-regex"
}

// ending describes how the run ended, and whether that was a failure.
func (s *profiledSize) ending(ctx context.Context, job wire.Job) (how string, failed bool) {
	asked, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	detail, err := s.p.slurm.Job(asked, slurm.JobID(s.point.Job))
	switch {
	case err != nil || !detail.State.Ended():
		return "ended (" + job.State + ")", job.State != string(slurm.Completed)
	case detail.State == slurm.Cancelled:
		return "was cancelled", true
	case detail.ExitSignal != 0:
		return fmt.Sprintf("was ended by signal %d", detail.ExitSignal), true
	case detail.State == slurm.Completed:
		return "ended", false
	}
	return fmt.Sprintf("failed (%s, exit code %d)", detail.State, detail.ExitCode), true
}

// read reads the run's progress log.
func (s *profiledSize) read() {
	s.log = checkpoint.Measurement{Warmup: s.p.options.measure.Warmup}
	dir, err := checkpoint.OpenDir(s.folder)
	if err != nil {
		return
	}
	defer dir.Close()
	for offset := int64(0); ; {
		lines, next, _, err := dir.Progress(offset)
		for _, line := range lines {
			s.log.Add(line)
		}
		if err != nil || next == offset {
			break
		}
		offset = next
	}
	if _, nodes := s.log.Size(); nodes > 0 {
		s.point.Nodes = nodes
	}
}

// maxOutput is how much of a run's output is read, in bytes.
const maxOutput = 64 << 10

// output is the end of the run's output.
func (s *profiledSize) output() []byte {
	dir, err := checkpoint.OpenDir(s.folder)
	if err != nil {
		return nil
	}
	defer dir.Close()
	file, info, err := dir.Open(outputFile)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, _ := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-maxOutput), maxOutput))
	return data
}

// lastWords is the last output of the run, for an error: what its runner reported about
// its end. If the runner reported no failure it is the end of the run's output; "" if
// there is nothing.
func (s *profiledSize) lastWords(said []byte) string {
	words := checkpoint.NewLastWords("", spoken(said))
	if word, err := runnerWord(s.folder); err == nil && word.LastWords != nil {
		words = word.LastWords
	}
	text := strings.TrimSpace(lastWords(&wire.LastWords{Why: words.Why, Lines: words.Lines[max(0, len(words.Lines)-5):]}))
	if text == "" {
		return ""
	}
	return "; its last output:\n    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// spoken are the non-empty lines of an output as a terminal would show them: a progress
// bar overwrites itself.
func spoken(output []byte) (lines []string) {
	for line := range strings.Lines(string(output)) {
		line = strings.TrimRight(line, "\r\n")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if _, banner := runner.ParseBanner(line); !banner && strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// saysEmulated finds a line in which a program says that its times are emulated.
var saysEmulated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?im)^.*\bemulated\b.*$`) })

func emulation(output []byte) string {
	return terminal.Escape(terminal.Cut(string(bytes.TrimSpace(saysEmulated().Find(output))), 200))
}

// fail ends the size without a result.
func (s *profiledSize) fail(format string, args ...any) {
	s.stage = measured
	s.point.Error = fmt.Sprintf(format, args...)
}

func (s *profiledSize) cancel(ctx context.Context) {
	if err := s.p.slurm.Cancel(ctx, slurm.JobID(s.point.Job)); err != nil {
		terminal.Warn(s.p.errs, fmt.Sprintf("job %d: %v; end it with 'scancel %d'", s.point.Job, err, s.point.Job))
	}
	_ = s.p.daemon.Nudge(elastic.JobID(s.point.Job), "cancel") // on an error sluiced looks by itself
}

// gone waits until no process of the job runs any more.
func (s *profiledSize) gone(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, profileEnd)
	defer cancel()
	for ctx.Err() == nil {
		job, err := s.p.slurm.Job(ctx, slurm.JobID(s.point.Job))
		if err != nil || job.State.Ended() && !job.Completing {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// clear removes the job's folder.
func (s *profiledSize) clear() {
	jobs, err := os.OpenRoot(filepath.Dir(s.folder))
	if err == nil {
		defer jobs.Close()
		err = jobs.RemoveAll(filepath.Base(s.folder))
	}
	if err != nil {
		terminal.Warn(s.p.errs, fmt.Sprintf("the folder of job %d could not be removed: %v", s.point.Job, err))
	}
}
