package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestTheWholeGroupIsKilled: a program that hangs, and the children it started, have
// ended when the call returns its error.
func TestTheWholeGroupIsKilled(t *testing.T) {
	s := newStubs(t)
	hang := `sleep 300 & echo $! > $here/child; wait`
	for _, name := range []string{"squeue", "scontrol", "sbatch"} {
		s.set(name, hang)
	}
	c := s.client(Config{Timeout: 300 * time.Millisecond})
	for _, k := range []struct {
		name string
		do   func(context.Context) error
		want error
	}{
		{"query", func(ctx context.Context) error { _, err := c.Jobs(ctx); return err }, slurm.ErrControllerDown},
		{"change", func(ctx context.Context) error { return c.RequeueHold(ctx, 7) }, slurm.ErrUnknownOutcome},
		{"submit", func(ctx context.Context) error { _, _, err := c.Submit(ctx, slurm.Submission{}); return err }, slurm.ErrUnknownOutcome},
	} {
		if err := k.do(context.Background()); !errors.Is(err, k.want) {
			t.Errorf("%s: %v; want %v", k.name, err, k.want)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(s.read("child")))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, k.name+": child killed", func() bool { return dead(pid) })
	}
}

// dead reports whether the process has ended or is a zombie.
func dead(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(b), ") Z ")
}

func TestCancelledCalls(t *testing.T) {
	s := newStubs(t)
	c := s.client(Config{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Cancel(ctx, 7); !errors.Is(err, context.Canceled) || len(s.calls()) != 0 {
		t.Errorf("cancelled before the call: %v", err)
	}
	for _, name := range []string{"squeue", "scontrol"} {
		s.set(name, `touch $here/started; sleep 300`)
	}
	inFlight := func(do func(ctx context.Context) error) error {
		_ = os.Remove(filepath.Join(s.dir, "started"))
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- do(ctx) }() // the call under test blocks until cancelled
		eventually(t, "started", func() bool { _, err := os.Stat(filepath.Join(s.dir, "started")); return err == nil })
		cancel()
		return <-done
	}
	if err := inFlight(func(ctx context.Context) error { _, err := c.Jobs(ctx); return err }); !errors.Is(err, context.Canceled) {
		t.Errorf("a query cut off by its caller: %v", err)
	}
	if err := inFlight(func(ctx context.Context) error { return c.Release(ctx, 7) }); !errors.Is(err, slurm.ErrUnknownOutcome) {
		t.Errorf("a change cut off by its caller: %v", err)
	}
}

func TestTooMuchOutput(t *testing.T) {
	s := newStubs(t)
	s.set("sbatch", `yes "Submitted batch job 7"`)
	_, _, err := s.client(Config{}).Submit(context.Background(), slurm.Submission{})
	if !errors.Is(err, slurm.ErrGarbage) {
		t.Errorf("endless output: %v", err)
	}
	s.set("scontrol", `yes error | head -c 10000000 >&2; echo "Invalid job id specified" >&2; exit 1`)
	err = s.client(Config{}).Release(context.Background(), 7)
	var e *slurm.Error
	if !errors.As(err, &e) || len(e.Words) > maxWords+3 {
		t.Errorf("10 MB of errors: %.100v", err)
	}
}

// TestAChildThatKeepsThePipes: the program exited with 0; a child that it left must not
// delay the call.
func TestAChildThatKeepsThePipes(t *testing.T) {
	s := newStubs(t)
	s.set("scontrol", `sleep 300 & echo $! > $here/child`)
	if err := s.client(Config{}).Release(context.Background(), 7); err != nil {
		t.Errorf("%v", err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(s.read("child")))
	eventually(t, "child killed", func() bool { return dead(pid) })
}

func TestKilledPrograms(t *testing.T) {
	s := newStubs(t)
	s.set("scontrol", `kill -9 $$`)
	s.set("squeue", `kill -9 $$`)
	c := s.client(Config{})
	if err := c.Release(context.Background(), 7); !errors.Is(err, slurm.ErrUnknownOutcome) {
		t.Errorf("a change that was killed: %v", err)
	}
	if _, err := c.Jobs(context.Background()); !errors.Is(err, slurm.ErrControllerDown) {
		t.Errorf("a query that was killed: %v", err)
	}
}

func TestMissingPrograms(t *testing.T) {
	if _, err := New(Config{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("without a clock: %v", err)
	}
	if _, err := New(Config{Dir: t.TempDir(), Now: time.Now}); !errors.Is(err, slurm.ErrMissingProgram) {
		t.Errorf("an empty folder: %v", err)
	}
	s := newStubs(t)
	if err := os.Remove(filepath.Join(s.dir, "sinfo")); err != nil {
		t.Fatal(err)
	}
	c := s.client(Config{})
	if _, err := c.Nodes(context.Background()); !errors.Is(err, slurm.ErrMissingProgram) {
		t.Errorf("without sinfo: %v", err)
	}
	if err := c.Release(context.Background(), 7); err != nil {
		t.Errorf("the others still work: %v", err)
	}
	s.set("scancel", "")
	s.program("scancel", "#!/nonexistent/interpreter\n")
	if err := c.Cancel(context.Background(), 7); !errors.Is(err, slurm.ErrMissingProgram) {
		t.Errorf("a program that cannot be started: %v", err)
	}
}

// TestEnvironment: queries see a built environment and nothing else; sbatch sees
// its user's.
func TestEnvironment(t *testing.T) {
	for _, kv := range []string{"SBATCH_PARTITION=evil", "SQUEUE_USERS=evil", "SQUEUE_FORMAT=evil", "SINFO_FORMAT=evil", "SCONTROL_ALL=1",
		"SCANCEL_STATE=evil", "LD_PRELOAD_X=evil", "SLURM_CLUSTERS=evil", "SLURM_TIME_FORMAT=relative", "TZ=Asia/Tokyo", "LC_ALL=de_DE.UTF-8"} {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	t.Setenv("SLURM_CONF", "/etc/inherited.conf")
	s := newStubs(t)
	for _, name := range programs {
		s.set(name, `env | sort > $here/env`)
	}
	c := s.client(Config{Conf: "/etc/our.conf", Env: []string{"SLURM_JWT=token", "LD_PRELOAD=evil.so", "SLURM_CLUSTERS=evil", "TZ=evil", "malformed"}})
	ctx := context.Background()
	_ = c.Release(ctx, 7)
	got := strings.Fields(s.read("env"))
	got = slices.DeleteFunc(got, func(kv string) bool { return strings.HasPrefix(kv, "PWD=") || strings.HasPrefix(kv, "_=") })
	want := []string{"LANG=C", "LC_ALL=C", "PATH=/usr/bin:/bin", "SLURM_CONF=/etc/our.conf", "SLURM_JWT=token", "SLURM_TIME_FORMAT=%s", "TZ=UTC"}
	if !slices.Equal(got, want) {
		t.Errorf("scontrol saw %q, want %q", got, want)
	}
	_, _, _ = c.Submit(ctx, slurm.Submission{})
	if env := s.read("env"); !strings.Contains(env, "SBATCH_PARTITION=evil") || !strings.Contains(env, "SLURM_CONF=/etc/inherited.conf") {
		t.Errorf("sbatch did not see its user's environment: %s", env)
	}
	_, _, _ = c.Submit(ctx, slurm.Submission{Env: []string{"A=b"}})
	if env := s.read("env"); !strings.Contains(env, "A=b") || !strings.Contains(env, "SLURM_CONF=/etc/our.conf") || strings.Contains(env, "evil") {
		t.Errorf("sbatch with a given environment saw: %s", env)
	}
}
