package runner_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
	"github.com/sluice-hpc/sluice/checkpoint/runner"
)

// The tests of this file run whole runners, each in a process of its own: a
// runner adopts and ends whatever its process started.

const (
	asRunner = "SLUICE_TEST_AS_RUNNER"
	token    = "0123456789abcdef0123456789abcdef"
	jobID    = 42
	patience = 30 * time.Second
)

// programName is what this test's program is called where it stands in for
// sluice, in the jobs of a lab.
const programName = "sluice-under-test"

func init() {
	if os.Getenv(asRunner) != "" {
		runner.ListenAlways()
	}
}

func TestMain(m *testing.M) {
	if code, is := runner.Part(os.Args, time.Now); is {
		os.Exit(code)
	}
	if os.Getenv(confine.Marker) != "" {
		os.Exit(runInside(os.Args[1:]))
	}
	if os.Getenv(asTrial) != "" {
		os.Exit(tryFence())
	}
	if filepath.Base(os.Args[0]) == programName {
		os.Exit(runAsSluice(os.Args[1], os.Args[2:]))
	}
	if os.Getenv(asRunner) != "" {
		os.Exit(runAsRunner())
	}
	flag.Parse()
	os.Exit(m.Run())
}

// How long a step may hang, and a stranded job waits, in the jobs of a lab.
const (
	lingerEnv   = "SLUICE_TEST_LINGER"
	patienceEnv = "SLUICE_TEST_PATIENCE"
)

// settings are what a test may set of a runner in another process.
type settings struct {
	Keep, Retries                      int
	Poll, Beat, Grace, Patience, Stuck time.Duration
	Stands, Linger                     time.Duration
	Gauge                              string
	Adopt                              runner.Adopt
	Profile                            runner.Profile
	Unit                               string
	Judge                              bool
	Backoff, First                     time.Duration
	Every                              runner.Every
	Signal                             string
	Fence                              string // path of fence.json
}

// runAsRunner is what `sluice run` does, with shorter times.
func runAsRunner() int {
	var s settings
	if err := json.Unmarshal([]byte(os.Getenv(asRunner)), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	os.Unsetenv(asRunner)
	c := runner.Config{Keep: s.Keep, Retries: s.Retries, Poll: s.Poll, Beat: s.Beat, Grace: s.Grace, Patience: s.Patience, Stuck: s.Stuck, Stands: s.Stands, Linger: s.Linger, Gauge: s.Gauge, Adopt: s.Adopt, Profile: s.Profile, Unit: s.Unit,
		Judge: s.Judge, Backoff: s.Backoff, First: s.First, Every: s.Every, Signal: s.Signal}
	c.Script, c.Args, c.Env = os.Args[1], os.Args[2:], os.Environ()
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Now, c.Host, c.Sluice = time.Now, "testhost", "/bin/sluice"
	if s.Fence != "" {
		f, err := confine.Read(s.Fence)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 99
		}
		c.Fence, c.Python = &f, os.Getenv("SLUICE_PYTHON")
		c.Sluice, _ = os.Executable()
	}
	return runner.Run(c)
}

// runAsSluice is `sluice run SCRIPT` and `sluice ranks -- COMMAND`.
func runAsSluice(verb string, args []string) int {
	host, _ := os.Hostname()
	if verb == "run" {
		linger, _ := time.ParseDuration(os.Getenv(lingerEnv)) // not set: as usual
		patience, _ := time.ParseDuration(os.Getenv(patienceEnv))
		return runner.Run(runner.Config{Script: args[0], Keep: 2, Env: os.Environ(), Now: time.Now, Host: host,
			Linger: linger, Patience: patience, Sluice: os.Args[0], Python: os.Getenv("SLUICE_PYTHON"), Beat: time.Second, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	}
	if ranks.NeedsSrun(os.Environ()) {
		srun, err := exec.LookPath("srun")
		if err == nil {
			err = syscall.Exec(srun, append([]string{"srun", os.Args[0], verb}, args...), os.Environ())
		}
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	return ranks.Run(ranks.Config{Argv: args[1:], Env: os.Environ(), Host: host, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
}

// library is what the scripts of the tests train with.
const library = `
requested() { sed -n 's/.*"request":"\([^"]*\)".*/\1/p' "$SLUICE_REQUEST" 2>/dev/null; }
# save SEQUENCE REQUEST: commit a checkpoint; SUM overrides the checksum
save() {
  local d=$SLUICE_CHECKPOINTS/$(printf %08d "$1")
  mkdir -p "$d"; echo "weights $1" >"$d/model"
  local sum=${SUM:-$(sha256sum <"$d/model" | cut -d' ' -f1)}
  printf '{"version":1,"job":%s,"token":"%s","restarts":%s,"sequence":%d,"step":%d,"epoch":%d,"created":"%s","gpus":1,"request":"%s","files":[{"path":"model","size":%d,"sha256":"%s"}]}\n' \
    "$SLUICE_JOB_ID" "$(basename "$SLUICE_JOB_DIR")" "$SLUICE_RESTARTS" "$1" "$1" "$1" \
    "$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)" "$2" "$(stat -c %s "$d/model")" "$sum" >"$d/m.new"
  mv "$d/m.new" "$d/manifest.json"
}
say() { echo "$*" >>"$SLUICE_JOB_DIR/story"; }
await() { until [ -n "$(requested)" ]; do sleep 0.01; done; request=$(requested); }
pause() { while [ "$(requested)" = "$1" ]; do sleep 0.01; done; }
`

// live is one job with its folders, over as many runs as the test starts.
type live struct {
	*testing.T
	dir, outbox string
	mail        *checkpoint.Mailbox
	restarts    int
	config      settings
	cmd         *exec.Cmd
	done        chan struct{}
	out, errs   string // files
	uid         uint32 // of the runner
	inner       string // the program's folder
}

func newJob(t *testing.T, script string) *live {
	t.Helper()
	base := t.TempDir()
	return newJobIn(t, base, script)
}

func newJobIn(t *testing.T, base, script string) *live {
	t.Helper()
	l := &live{T: t, uid: uint32(os.Getuid()), inner: filepath.Join(base, "jobs", token), dir: filepath.Join(base, "jobs", token), outbox: filepath.Join(base, "outbox"),
		out: filepath.Join(t.TempDir(), "out"), errs: filepath.Join(t.TempDir(), "errs"),
		config: settings{Poll: 20 * time.Millisecond, Beat: 100 * time.Millisecond, Grace: 500 * time.Millisecond, Patience: time.Hour, Keep: 2}}
	must(t, os.MkdirAll(l.dir, 0o755))
	must(t, os.WriteFile(filepath.Join(l.dir, "script"), []byte("#!/bin/bash\n"+library+script), 0o600))
	var err error
	l.mail, err = checkpoint.NewMailbox(filepath.Join(base, "jobs"), l.outbox)
	must(t, err)
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a run; extra entries are added to its environment.
func (l *live) start(extra ...string) *live {
	l.Helper()
	config, err := json.Marshal(l.config)
	must(l, err)
	l.cmd = exec.Command(os.Args[0], filepath.Join(l.dir, "script"), "first arg", "second")
	l.cmd.Env = append([]string{asRunner + "=" + string(config), "PATH=" + os.Getenv("PATH"), "SLURM_JOB_ID=42",
		fmt.Sprintf("SLURM_RESTART_COUNT=%d", l.restarts), "SLURM_JOB_NODELIST=gpu1", "SLURM_GPUS_ON_NODE=2", "SLURM_NTASKS=1", "SLUICE_BANNERS=no"}, extra...)
	l.cmd.Stdout, l.cmd.Stderr = appending(l, l.out), appending(l, l.errs)
	must(l, l.cmd.Start())
	done := make(chan struct{})
	l.done = done
	cmd := l.cmd
	go func() { cmd.Wait(); close(done) }() // ends with the runner, which the test ends
	l.Cleanup(func() { cmd.Process.Kill(); <-done; l.killScript() })
	return l
}

// killScript ends what a runner that was killed could not end.
func (l *live) killScript() {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range environs {
		if strings.Contains(slurp(p), "SLUICE_JOB_DIR="+l.dir+"\x00") {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p))); err == nil {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

func appending(t testing.TB, p string) *os.File {
	f, err := os.OpenFile(p, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// until waits for something to become true.
func (l *live) until(what string, true_ func() bool) {
	l.Helper()
	for deadline := time.Now().Add(patience); !true_(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("not in %v: %s; word %+v; stderr: %s", patience, what, l.word(), slurp(l.errs))
		}
	}
}

// word is the runner's present word; zero when there is none of this run.
func (l *live) word() checkpoint.Runner {
	w, ok, err := l.mail.Runner(token, l.uid)
	if err != nil {
		l.Errorf("the daemon cannot read the runner's word: %v", err)
	}
	if !ok || w.Restarts != l.restarts {
		return checkpoint.Runner{}
	}
	return w
}

func (l *live) reach(state checkpoint.RunnerState) checkpoint.Runner {
	l.Helper()
	l.until("state "+string(state), func() bool { return l.word().State == state })
	return l.word()
}

// exits waits for the runner's end and compares the exit code.
func (l *live) exits(want int) {
	l.Helper()
	select {
	case <-l.done:
	case <-time.After(patience):
		l.Fatalf("does not end; word %+v; stderr: %s", l.word(), slurp(l.errs))
	}
	status := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() || status.ExitStatus() != want {
		l.Fatalf("ended with %v, want %d; stderr: %s", l.cmd.ProcessState, want, slurp(l.errs))
	}
}

func (l *live) stop() { l.cmd.Process.Signal(syscall.SIGTERM) }

func (l *live) ask(id string) {
	l.Helper()
	now := time.Now()
	must(l, l.mail.Ask(token, checkpoint.Request{Job: jobID, ID: id, Restarts: l.restarts, Asked: now, Deadline: now.Add(time.Minute), Why: "to test"}))
}

// askToStop is ask, and the job will be stopped once it has answered.
func (l *live) askToStop(id string) {
	l.Helper()
	now := time.Now()
	must(l, l.mail.Ask(token, checkpoint.Request{Job: jobID, ID: id, Restarts: l.restarts, Asked: now, Deadline: now.Add(time.Minute), Why: "to test", Stop: true}))
}

func (l *live) withdraw() { l.Helper(); must(l, l.mail.Withdraw(token)) }

// story is what the script said so far.
func (l *live) story() string { return slurp(filepath.Join(l.inner, "story")) }

func (l *live) tells(line string) {
	l.Helper()
	l.until("the script says "+line, func() bool { return strings.Contains("\n"+l.story(), "\n"+line+"\n") })
}

func slurp(p string) string {
	data, _ := os.ReadFile(p)
	return string(data)
}
