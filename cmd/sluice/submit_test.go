package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// program writes an executable shell script that plays sbatch.
func program(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sbatch")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSbatchFates(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       answer
	}{
		{"accepted", "echo Submitted batch job 7; echo hm >&2", answer{out: "Submitted batch job 7\n"}},
		{"refused", "echo no >&2; exit 3", answer{fate: refused, code: 3}},
		{"lost", "echo Zero Bytes were transmitted or received >&2; exit 1", answer{fate: unknown, code: 1, why: "slurmctld's answer to sbatch was lost"}},
		{"killed", "kill -9 $$", answer{fate: unknown, why: "sbatch was ended by signal: killed"}},
		{"killed once it had named the job", "echo Submitted batch job 7; kill -9 $$", answer{out: "Submitted batch job 7\n", why: "signal: killed"}},
		{"failed once it had named the job", "echo Submitted batch job 7; echo Zero Bytes were transmitted or received >&2; exit 3", answer{out: "Submitted batch job 7\n", why: "exit status 3"}},
		{"failed, with a plugin's number", "echo 42; exit 3", answer{fate: refused, code: 3, out: "42\n"}},
		{"--parsable", "echo 7; exit 3", answer{out: "7\n", why: "exit status 3"}},
	} {
		var errs bytes.Buffer
		c := sbatchCall{program: program(t, tc.body), args: []string{tc.name}, limit: time.Minute, errs: &errs}
		if got := c.run(context.Background()); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
	var errs bytes.Buffer
	c := sbatchCall{program: filepath.Join(t.TempDir(), "absent"), limit: time.Minute, errs: &errs}
	if got := c.run(context.Background()); got.fate != refused || got.code != 1 || !strings.Contains(errs.String(), "cannot be run: no such file") {
		t.Errorf("%+v %s", got, errs.String())
	}
}

// unwritable fails as a full disk does.
type unwritable struct{}

func (unwritable) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestSbatchSpeaksToNobody: what sbatch prints cannot be passed on. It runs on, its job is one, and
// what it printed still says whether its answer was lost.
func TestSbatchSpeaksToNobody(t *testing.T) {
	for body, want := range map[string]answer{
		"echo your account ends soon >&2; sleep .1; echo again >&2; echo Submitted batch job 7": {out: "Submitted batch job 7\n"},
		"echo no >&2; exit 3": {fate: refused, code: 3},
		"echo Zero Bytes were transmitted or received >&2; exit 1": {fate: unknown, code: 1, why: "slurmctld's answer to sbatch was lost"},
	} {
		c := sbatchCall{program: program(t, body), limit: time.Minute, errs: unwritable{}}
		if got := c.run(context.Background()); got != want {
			t.Errorf("%s: got %+v, want %+v", body, got, want)
		}
	}
}

// TestSbatchIsCutOff: an sbatch that hangs is ended with everything it started, and the
// job's state is reported as unknown.
func TestSbatchIsCutOff(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pid")
	hang := "sleep 300 & echo $! > " + pids + "\nwait\n"
	var errs bytes.Buffer
	c := sbatchCall{program: program(t, hang), limit: 300 * time.Millisecond, errs: &errs}
	if got := c.run(context.Background()); got.fate != unknown || got.why != "sbatch gave no answer in 300ms and was stopped" {
		t.Errorf("%+v", got)
	}
	raw, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
	until(t, "the child of sbatch is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })

	ctx, cancel := context.WithCancel(context.Background())
	os.Remove(pids)
	c.limit = time.Minute
	go func() {
		for !exists(pids) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if got := c.run(ctx); got.fate != unknown || got.why != "interrupted while sbatch was running" {
		t.Errorf("%+v", got)
	}
	c = sbatchCall{program: program(t, "echo Submitted batch job 8\n"+hang), limit: 300 * time.Millisecond, errs: &errs}
	if got := c.run(context.Background()); got.fate != accepted || got.out != "Submitted batch job 8\n" {
		t.Errorf("cut off after the fact: %+v", got)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestJobID(t *testing.T) {
	for out, want := range map[string]slurm.JobID{
		"Submitted batch job 12\n": 12, "12\n": 12, "12;cluster\n": 12, "Submitted batch job 12 on cluster c\n": 12,
		"plugin: 99 hello\nSubmitted batch job 7\n": 7, "": 0, "no\n": 0, "Submitted batch job x\n": 0, "-3\n": 0, "+3\n": 0, "0\n": 0,
		"99999999999999999999\n": 0,
	} {
		if got, ok := jobID(out); got != want || ok != (want > 0) {
			t.Errorf("%q: got %d, %v; want %d", out, got, ok, want)
		}
	}
}

func TestErrorExit(t *testing.T) {
	for value, want := range map[string]terminal.ExitCode{"7": 7, "0": 1, "-1": 1, "x": 1, "256": 1} {
		if got := errorExit([]string{"A=1", "SLURM_EXIT_ERROR=" + value}); got != want {
			t.Errorf("%s: got %d, want %d", value, got, want)
		}
	}
	if got := errorExit(nil); got != 1 {
		t.Error(got)
	}
}

const testToken = "0123456789abcdef0123456789abcdef"

func TestFolder(t *testing.T) {
	old := syscall.Umask(0o077) // a user's umask must not lock sluiced out
	defer syscall.Umask(old)
	jobs := t.TempDir()
	f, err := makeFolder(jobs, testToken, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.fill([]byte("s"), []byte("b"), "https://h/"), f.keep()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"": 0o750 | fs.ModeDir, "checkpoints": 0o700 | fs.ModeDir, "script": 0o700, "batch": 0o600} {
		info, err := os.Stat(filepath.Join(jobs, testToken, name))
		if err != nil || info.Mode()&^fs.ModeSetgid != want {
			t.Errorf("%q: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	if _, err := makeFolder(jobs, testToken, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the folder was made twice: %v", err)
	}
	f.close()
}

// TestFolderIsNotFound: existing files under the job's name are neither used nor removed.
func TestFolderIsNotFound(t *testing.T) {
	jobs, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(jobs, testToken)); err != nil {
		t.Fatal(err)
	}
	if _, err := makeFolder(jobs, testToken, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if names, _ := os.ReadDir(elsewhere); len(names) > 0 || !exists(elsewhere) {
		t.Error("something happened behind the link")
	}
	if info, err := os.Lstat(filepath.Join(jobs, testToken)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was taken away: %v", err)
	}
}

func TestFindScript(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	other := filepath.Join(dir, "bin")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"here", "bin/there", "bin/here"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"here": "here", "there": filepath.Join(other, "there"), "./there": "./there", "/there": "/there", "nowhere": "nowhere", "../x": "../x",
	} {
		if got := findScript(name, "/nonexistent:"+other); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestWaiter(t *testing.T) {
	type look struct {
		report wire.Report
		none   bool // no daemon
		job    slurm.Detail
		err    error
		past   slurm.State // by accounting
	}
	job := func(state slurm.State, code, signal int) slurm.Detail {
		return slurm.Detail{Job: slurm.Job{State: state, ExitCode: code, ExitSignal: signal}}
	}
	report := func(ended bool) wire.Report { return wire.Report{Jobs: []wire.Job{{JobID: 5, Ended: ended}}} }
	moving := job(slurm.Preempted, 0, 0)
	moving.Requeued = true
	for name, tc := range map[string]struct {
		looks []look
		want  string
		asked int // times Slurm was asked
	}{
		"done":                {[]look{{none: true, job: job(slurm.Running, 0, 0)}, {none: true, job: job(slurm.Completed, 0, 0)}}, "", 2},
		"failed":              {[]look{{none: true, job: job(slurm.Failed, 3, 0)}}, "exit code 3", 1},
		"killed":              {[]look{{none: true, job: job(slurm.Cancelled, 0, 15)}}, "exit code 1", 1},
		"never started":       {[]look{{none: true, job: job(slurm.Cancelled, 0, 0)}}, "exit code 1", 1},
		"a move is no end":    {[]look{{none: true, job: moving}, {none: true, job: job(slurm.Completed, 0, 0)}}, "", 2},
		"the daemon knows":    {[]look{{report: report(false)}, {report: report(false)}, {report: report(true), job: job(slurm.Completed, 0, 0)}}, "", 1},
		"the daemon is new":   {[]look{{report: wire.Report{}, job: job(slurm.Completed, 0, 0)}}, "", 1},
		"the daemon is blind": {[]look{{report: wire.Report{Blind: "x", Jobs: report(false).Jobs}, job: job(slurm.Completed, 0, 0)}}, "", 1},
		"slurm is away":       {[]look{{none: true, err: slurm.ErrControllerDown}, {none: true, job: job(slurm.Completed, 0, 0)}}, "", 2},
		"long forgotten":      {[]look{{none: true, err: slurm.ErrNotFound, past: slurm.Completed}}, "", 1},
		"forgotten, failed":   {[]look{{none: true, err: slurm.ErrNotFound, past: slurm.Failed}}, "exit code 1", 1},
		"forgotten":           {[]look{{none: true, err: slurm.ErrNotFound}}, "job 5 ended, and Slurm no longer remembers how; see 'sacct -j 5'", 1},
	} {
		n, asked := -1, 0
		var said []string
		w := waiter{id: 5, period: time.Millisecond, say: func(s string) { said = append(said, s) }}
		w.runner = func() time.Time { return time.Time{} }
		w.daemon = func(context.Context) (wire.Report, error) {
			n++
			if tc.looks[n].none {
				return wire.Report{}, wire.ErrNoDaemon
			}
			return tc.looks[n].report, nil
		}
		w.slurm = func(context.Context, slurm.JobID) (slurm.Detail, error) {
			asked++
			return tc.looks[n].job, tc.looks[n].err
		}
		w.past = func(context.Context, slurm.JobID) (slurm.PastRun, bool) {
			return slurm.PastRun{State: tc.looks[n].past}, tc.looks[n].past != ""
		}
		if got := ended(w.run(context.Background())); got != tc.want || asked != tc.asked {
			t.Errorf("%s: %q after asking Slurm %d times, want %q after %d", name, got, asked, tc.want, tc.asked)
		}
		if down := name == "slurm is away"; down != (len(said) == 1) {
			t.Errorf("%s: said %q", name, said)
		}
	}
}

func ended(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestWaiterHearsTheRunner: its note is acted on at once, but after a stop for a resize
// sluice does not query Slurm indefinitely.
func TestWaiterHearsTheRunner(t *testing.T) {
	asked, looks := 0, 0
	w := waiter{id: 5, period: time.Millisecond, say: func(string) {}}
	w.runner = func() time.Time {
		looks++
		return time.Unix(int64(min(looks/20, 2)), 0) // 0, later 1, later 2
	}
	w.daemon = func(context.Context) (wire.Report, error) {
		return wire.Report{Jobs: []wire.Job{{JobID: 5}}}, nil
	}
	w.slurm = func(context.Context, slurm.JobID) (slurm.Detail, error) {
		if asked++; asked == 3*insist {
			return slurm.Detail{Job: slurm.Job{State: slurm.Completed}}, nil
		}
		return slurm.Detail{Job: slurm.Job{State: slurm.Pending}}, nil
	}
	if got := ended(w.run(context.Background())); got != "" || looks < 40 {
		t.Errorf("%q after %d looks", got, looks)
	}
}

func TestScriptEnded(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "{": {}, `{"version":1,"job":5,"state":"training","host":"n","first_line":"2026-03-04T12:00:00Z","beat":"2026-03-04T12:00:00Z"}`: {},
		`{"version":1,"job":5,"state":"exited","host":"n","first_line":"2026-03-04T12:00:00Z","beat":"2026-03-04T12:00:00Z","exit":{"code":3,"at":"2026-03-04T12:00:00Z"}}`: at,
	} {
		if err := os.WriteFile(filepath.Join(dir, "runner.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := scriptEnded(dir); !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if got := scriptEnded(filepath.Join(dir, "absent")); !got.IsZero() {
		t.Error(got)
	}
}

func TestWaiterIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := waiter{id: 5, period: time.Hour, say: func(string) {}}
	if err := w.run(ctx); err != terminal.ExitCode(130) {
		t.Errorf("interrupted: %v", err)
	}
}

// submitHere runs sluice submit in this process, for a site of its own.
func submitHere(t *testing.T, conf string, args ...string) (out, errs string, code int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.toml")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_CONF", path)
	var o, e bytes.Buffer
	code = run(append([]string{"submit"}, args...), &o, &e)
	return o.String(), e.String(), code
}

// TestSubmitWakesTheDaemon: after the line is printed, and without a word.
func TestSubmitWakesTheDaemon(t *testing.T) {
	service := controltest.New()
	socket := filepath.Join(t.TempDir(), "sock")
	d := &cannedDaemon{service: service, socket: socket}
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	bin := filepath.Dir(program(t, "echo Submitted batch job 77\n"))
	conf := fmt.Sprintf("[paths]\njobs = %q\nsocket = %q\n[slurm]\nbin = %q\n", t.TempDir(), socket, bin)
	out, errs, code := submitHere(t, conf, "--gpus=1", "--wrap=true")
	if out != "Submitted batch job 77\n" || errs != "" || code != 0 {
		t.Errorf("%d %q %q", code, out, errs)
	}
	// submit does not wait for the daemon; the test does.
	for deadline := time.Now().Add(10 * time.Second); !slices.Contains(service.Asked(), "wake"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the daemon was asked %q", service.Asked())
		}
	}
}

// TestSubmitOnSlurm submits to a real Slurm: the job is deferred, tagged and runs
// through this program, whose exit code is the script's.
func TestSubmitOnSlurm(t *testing.T) {
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 1, GPUs: 2})
	work := t.TempDir()
	sluice := filepath.Join(work, "sluice")
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, sluice) // under this name the test binary is sluice
	}
	if err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf("[paths]\njobs = %q\noutbox = %q\nsocket = %q\nsluice = %q\n[slurm]\nconf = %q\nbin = %q\n",
		l.JobsDir(), l.OutboxDir(), filepath.Join(work, "sock"), sluice, l.Conf(), filepath.Dir(l.Bin("sbatch")))
	t.Chdir(work)
	t.Setenv("SLUICE_BANNERS", "no") // the output is the script's alone
	script := "#!/bin/sh\n#SBATCH --comment='mine'\n#SLUICE --max-gpus=2 --model=m\necho \"$SLUICE_JOB_ID:$SLURM_GPUS_ON_NODE:$#:$1:$2\"\nexit 3\n"
	if err := os.WriteFile("it's.sh", []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := submitHere(t, conf, "--test-only", "it's.sh"); code != 0 || out != "" || !strings.Contains(errs, "to start at") {
		t.Errorf("--test-only: %d %q %q", code, out, errs)
	}
	if out, errs, code := submitHere(t, conf, "-p", "none", "it's.sh"); code != 1 || out != "" || !strings.Contains(errs, "sbatch: error: ") {
		t.Errorf("no such partition: %d %q %q", code, out, errs)
	}
	if names, _ := os.ReadDir(l.JobsDir()); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
	out, errs, code := submitHere(t, conf, "--parsable", "-o", "out", "it's.sh", "a b", ":")
	id, ok := jobID(out)
	if !ok || code != 0 {
		t.Fatalf("%d %q %q", code, out, errs)
	}
	client, err := slurmFor(etc.Config{Slurm: etc.Slurm{Conf: l.Conf(), Bin: filepath.Dir(l.Bin("sbatch"))}})
	if err != nil {
		t.Fatal(err)
	}
	job, err := client.Job(t.Context(), id)
	tag, bad := elastic.ParseTag(job.Comment)
	if err != nil || bad != nil || tag.Comment != "mine" || tag.Spec.Max != 2 || !job.Deferred(time.Now()) || job.Name != "it's.sh" || !job.Requeue {
		t.Fatalf("%+v, %v, %+v, %v", job, err, tag, bad)
	}
	if err := client.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	until(t, "the job has ended", func() bool {
		job, err = client.Job(t.Context(), id)
		return err == nil && job.State.Ended() && !job.Completing
	})
	said, _ := os.ReadFile("out")
	if want := fmt.Sprintf("%d:1:2:a b::\n", id); job.ExitCode != 3 || !strings.HasSuffix(string(said), want) {
		t.Errorf("state %s, exit code %d, output %q", job.State, job.ExitCode, said)
	}
	if err := endCode(job); err != terminal.ExitCode(3) {
		t.Errorf("--wait would exit with %v", err)
	}
}
