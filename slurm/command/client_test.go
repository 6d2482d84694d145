package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

var background = context.Background()

func TestJobsAndNodesThroughTheClient(t *testing.T) {
	for _, release := range releases {
		s := newStubs(t)
		s.replay("squeue", release, "squeue.txt")
		s.replay("sinfo", release, "sinfo.txt")
		c := s.client(Config{})
		jobs, err := c.Jobs(background)
		if err != nil || len(jobs) < 20 || !slices.IsSortedFunc(jobs, func(a, b slurm.Job) int { return int(a.ID - b.ID) }) {
			t.Errorf("%s: %d jobs, %v", release, len(jobs), err)
		}
		told, err := parseJobs(fixture(t, release, "squeue.txt"), fixtureDelimiter)
		if err != nil || !slices.EqualFunc(jobs, told, func(j slurm.Job, d slurm.Detail) bool { return reflect.DeepEqual(j, d.Job) }) {
			t.Errorf("%s: other jobs than were told of: %+v, %v", release, jobs, err)
		}
		nodes, err := c.Nodes(background)
		if err != nil || len(nodes) != 3 {
			t.Errorf("%s: %d nodes, %v", release, len(nodes), err)
		}
		if calls := s.calls(); len(calls) != 2 || calls[0] != "squeue [-h] [-a] [-t] [all]" {
			t.Errorf("one call each: %q", calls)
		}
	}
}

// TestTheNonceChanges: two calls never share a delimiter.
func TestTheNonceChanges(t *testing.T) {
	if a, b := newDelimiter(), newDelimiter(); a == b || len(a.field) < 18 {
		t.Errorf("%q, then %q", a, b)
	}
}

func TestEmptyAndUnreadableAnswers(t *testing.T) {
	for _, k := range []struct {
		name, body string
		want       error
	}{
		{"no jobs", ``, nil},
		{"localised", `echo 'Keine Aufträge'`, slurm.ErrGarbage},
		{"binary", `head -c 4096 /dev/urandom`, slurm.ErrGarbage},
		{"half", `f=${SQUEUE_FORMAT2:-$5}; n=${f#*:@}; printf "1@${n%%|*}|2"`, slurm.ErrGarbage},
		{"another format", `f=${SQUEUE_FORMAT2:-$5}; n=${f#*:@}; printf "1@${n%%|*}|2@${n%%|*}.\n"`, slurm.ErrGarbage},
		{"empty, and the controller is down", `echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2`, slurm.ErrControllerDown},
		{"a warning beside nothing", `echo "squeue: error: Ignoring obsolete FastSchedule=1 option" >&2`, nil},
	} {
		s := newStubs(t)
		s.set("squeue", k.body)
		s.set("sinfo", k.body)
		c := s.client(Config{})
		jobs, err := c.Jobs(background)
		if !errors.Is(err, k.want) || (err == nil) != (k.want == nil) || len(jobs) != 0 {
			t.Errorf("%s: %d jobs, %v", k.name, len(jobs), err)
		}
		nodes, err := c.Nodes(background)
		if !errors.Is(err, k.want) || (err == nil) != (k.want == nil) || len(nodes) != 0 {
			t.Errorf("%s: %d nodes, %v", k.name, len(nodes), err)
		}
		if e := (*slurm.Error)(nil); errors.As(err, &e) && e.JobID != 0 {
			t.Errorf("%s: sinfo was asked about no job, and the error is about job %d", k.name, e.JobID)
		}
	}
}

// TestJobInEachState: a job that runs, or is suspended, has GPUs on each of its nodes, be it
// one; scontrol is asked about no other. A program that fails is no answer.
func TestJobInEachState(t *testing.T) {
	const away = `echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1`
	squeue := fixture(t, "22.05", "jobs", "typed.squeue")
	details, err := parseJobs(squeue, fixtureDelimiter)
	if err != nil || len(details[0].Nodes) != 1 {
		t.Fatalf("%+v, %v", details, err)
	}
	id := details[0].ID
	for _, k := range []struct {
		name, squeue, body string
		split              int
		calls              int
		want               error
	}{
		{"running", squeue, "", 1, 2, nil},
		{"suspended", strings.Replace(squeue, "RUNNING", "SUSPENDED", 1), "", 1, 2, nil},
		{"running, on no node yet", strings.Replace(squeue, "gpu3@", "@", 1), "", 0, 1, nil},
		{"completing", strings.Replace(squeue, "RUNNING", "COMPLETING", 1), "", 0, 1, nil},
		{"ended", strings.Replace(squeue, "RUNNING", "COMPLETED", 1), "", 0, 1, nil},
		{"pending, its last nodes still shown", strings.Replace(squeue, "RUNNING", "PENDING", 1), "", 0, 1, nil},
		{"squeue fails", "", away, 0, 1, slurm.ErrControllerDown},
		{"scontrol fails", squeue, away, 0, 2, slurm.ErrControllerDown},
	} {
		s := newStubs(t)
		s.replay("squeue", "22.05", "jobs", "typed.squeue")
		s.write("squeue.out", k.squeue)
		if k.squeue == "" {
			s.set("squeue", k.body)
		}
		s.write("scontrol.out", fixture(t, "22.05", "jobs", "typed.scontrol"))
		s.set("scontrol", cmp.Or(k.body, `cat $here/scontrol.out`))
		d, err := s.client(Config{}).Job(background, id)
		if !errors.Is(err, k.want) || (err == nil) != (k.want == nil) || errors.Is(err, slurm.ErrNotFound) || len(d.Split) != k.split || err == nil && d.ID != id {
			t.Errorf("%s: %+v, %v", k.name, d, err)
		}
		if calls := s.calls(); len(calls) != k.calls {
			t.Errorf("%s: %q", k.name, calls)
		}
	}
}

func TestJob(t *testing.T) {
	for _, release := range releases {
		s := newStubs(t)
		c := s.client(Config{})
		details, err := parseJobs(fixture(t, release, "jobs", "uneven.squeue"), fixtureDelimiter)
		if err != nil {
			t.Fatal(err)
		}
		id := details[0].ID
		s.replay("squeue", release, "jobs", "uneven.squeue")
		s.write("scontrol.out", fixture(t, release, "jobs", "uneven.scontrol"))
		s.set("scontrol", `cat $here/scontrol.out`)
		d, err := c.Job(background, id)
		if err != nil || fmt.Sprint(d.Split) != "[{gpu2 2 [2 3]} {gpu3 1 [0]}]" {
			t.Errorf("%s: %v, %v", release, d.Split, err)
		}
		if want := []string{fmt.Sprintf("squeue [-h] [-a] [-t] [all] [-j] [%d]", id), fmt.Sprintf("scontrol [-d] [-o] [show] [job] [%d]", id)}; !slices.Equal(s.calls(), want) {
			t.Errorf("%s: other calls than %q", release, want)
		}
		// The two answers were given at different times.
		s.write("scontrol.out", strings.ReplaceAll(fixture(t, release, "jobs", "uneven.scontrol"), "Nodes=gpu3 CPU", "Nodes=gpu1 CPU"))
		if _, err := c.Job(background, id); !errors.Is(err, slurm.ErrGarbage) || len(s.calls()) != 4 {
			t.Errorf("%s: other nodes: %v", release, err)
		}
		if _, err := c.Job(background, id+1); !errors.Is(err, slurm.ErrNotFound) {
			t.Errorf("%s: squeue names another job: %v", release, err)
		}
		// A job that is not running takes one program call.
		s.calls()
		s.replay("squeue", release, "jobs", "held.squeue")
		held, _ := parseJobs(fixture(t, release, "jobs", "held.squeue"), fixtureDelimiter)
		if d, err := c.Job(background, held[0].ID); err != nil || d.Split != nil || !d.Held || !d.Requeue || len(s.calls()) != 1 {
			t.Errorf("%s: held: %+v, %v", release, d, err)
		}
	}
	c := newStubs(t).client(Config{})
	if _, err := c.Job(background, 0); !errors.Is(err, slurm.ErrNotFound) {
		t.Errorf("job 0: %v", err)
	}
	if _, err := c.Job(background, 5); !errors.Is(err, slurm.ErrNotFound) {
		t.Errorf("an empty answer: %v", err)
	}
	if _, err := c.Job(background, 1); err == nil || !strings.Contains(err.Error(), "lists no such job") {
		t.Errorf("the first job there can be: %v", err)
	}
}

func TestVerbs(t *testing.T) {
	s := newStubs(t)
	c := s.client(Config{})
	for _, k := range []struct {
		do   func() error
		want string
	}{
		{func() error { return c.RequeueHold(background, 7) }, "scontrol [requeuehold] [Incomplete] [7]"},
		{func() error { return c.RequeueRunning(background, 7) }, "scontrol [requeue] [Incomplete] [7]"},
		{func() error { return c.Start(background, 7) }, "scontrol [update] [JobId=7] [StartTime=now+1]"},
		{func() error { return c.StartFirst(background, 7) }, "scontrol [update] [JobId=7] [StartTime=now]"},
		{func() error { return c.Release(background, 7) }, "scontrol [release] [7]"},
		{func() error { return c.Cancel(background, 7) }, "scancel [7]"},
		{func() error { return c.Signal(background, 7, "USR1", true) }, "scancel [--batch] [--signal=USR1] [7]"},
		{func() error { return c.Signal(background, 7, "sigterm", false) }, "scancel [--signal=TERM] [7]"},
		{func() error { return c.Signal(background, 7, "12", true) }, "scancel [--batch] [--signal=12] [7]"},
	} {
		if err := k.do(); err != nil {
			t.Errorf("%s: %v", k.want, err)
		}
		if calls := s.calls(); len(calls) != 1 || calls[0] != k.want {
			t.Errorf("ran %q, want %q", calls, k.want)
		}
	}
	for _, signal := range []string{"", "USR1 8", "-9", "--ctld", "0", "../x", strings.Repeat("A", 40)} {
		if err := c.Signal(background, 7, signal, true); !errors.Is(err, slurm.ErrRefused) || len(s.calls()) != 0 {
			t.Errorf("signal %q: %v", signal, err)
		}
	}
}

// TestHoldNeverWeakensAHold: uhold would turn an administrator's hold into one
// the user can lift.
func TestHoldNeverWeakensAHold(t *testing.T) {
	for _, k := range []struct{ kind, want string }{
		{"adminheld", ""}, {"held", ""}, {"requeueheld", ""},
		{"pending", "scontrol [uhold]"}, {"even", "scontrol [uhold]"},
	} {
		s := newStubs(t)
		s.replay("squeue", "22.05", "jobs", k.kind+".squeue")
		details, _ := parseJobs(fixture(t, "22.05", "jobs", k.kind+".squeue"), fixtureDelimiter)
		if err := s.client(Config{}).Hold(background, details[0].ID); err != nil {
			t.Errorf("%s: %v", k.kind, err)
		}
		if calls := s.calls()[1:]; len(calls) > 0 != (k.want != "") || k.want != "" && !strings.HasPrefix(calls[0], k.want) {
			t.Errorf("%s: ran %q, want %q", k.kind, calls, k.want)
		}
	}
}

func TestVersion(t *testing.T) {
	for release, want := range map[string]Version{"20.11": {20, 11, 4}, "22.05": {22, 5, 8}, "24.11": {24, 11, 5}, "26.05": {26, 5, 5}} {
		s := newStubs(t)
		s.write("config", fixture(t, release, "config.txt"))
		s.set("scontrol", `[ -e $here/down ] && { rm $here/down; echo "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)" >&2; exit 1; }; cat $here/config`)
		s.write("down", "")
		c := s.client(Config{})
		if _, err := c.Version(background); !errors.Is(err, slurm.ErrControllerDown) {
			t.Errorf("%s: a failure: %v", release, err)
		}
		for range 2 {
			if got, err := c.Version(background); err != nil || got != want {
				t.Errorf("%s: %v, %v", release, got, err)
			}
		}
		if calls := s.calls(); len(calls) != 2 {
			t.Errorf("%s: asked %d times, want 2: a failure is not kept, an answer is", release, len(calls))
		}
		prefix := "gres:gpu"
		if release == "20.11" {
			prefix = "gpu"
		}
		if got := want.gpuPrefix(); got != prefix {
			t.Errorf("%s: GPUs are spelled %s, want %s", release, got, prefix)
		}
	}
	s := newStubs(t)
	s.set("scontrol", `echo "Konfiguration von 2026"`)
	if _, err := s.client(Config{}).Version(background); !errors.Is(err, slurm.ErrGarbage) {
		t.Errorf("garbage: %v", err)
	}
}

func TestSubmit(t *testing.T) {
	for _, k := range []struct {
		name, body string
		id         slurm.JobID
		line       string
		want       error
	}{
		{"plain", `echo "Submitted batch job 12"`, 12, "Submitted batch job 12", nil},
		{"parsable", `echo 12`, 12, "12", nil},
		{"parsable, cluster", `echo "12;alpha"`, 12, "12;alpha", nil},
		{"cluster", `echo "Submitted batch job 12 on cluster alpha"`, 12, "Submitted batch job 12 on cluster alpha", nil},
		{"a plugin's banner", `echo "Welcome. Job 99 of today"; echo "Submitted batch job 12"`, 12, "Submitted batch job 12", nil},
		{"test only", `echo "sbatch: Job 3 to start at noon" >&2`, 0, "sbatch: Job 3 to start at noon", nil},
		{"refused", `echo "sbatch: error: Batch job submission failed: Invalid partition name specified" >&2; exit 1`, 0, "", slurm.ErrRefused},
		{"lost", `echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1`, 0, "", slurm.ErrUnknownOutcome},
		{"waits", `echo "Submitted batch job 12"; sleep 300`, 12, "Submitted batch job 12", nil},
	} {
		s := newStubs(t)
		s.set("sbatch", k.body)
		id, line, err := s.client(Config{Timeout: time.Second}).Submit(background, slurm.Submission{})
		if id != k.id || line != k.line || !errors.Is(err, k.want) || (err == nil) != (k.want == nil) {
			t.Errorf("%s: %d, %q, %v", k.name, id, line, err)
		}
	}
}

func TestSubmitPassesEverythingOn(t *testing.T) {
	s := newStubs(t)
	s.set("sbatch", `cat > $here/stdin; pwd > $here/pwd; echo "sbatch: note: moved to partition b" >&2; echo "Submitted batch job 12"`)
	dir := t.TempDir()
	var warned bytes.Buffer
	args := []string{"--hold", "-J", "a b\n'c'", "--comment=x=1 \"y\"", "-", "$HOME", "--", "*"}
	_, _, err := s.client(Config{}).Submit(background, slurm.Submission{Args: args, Dir: dir, Stdin: []byte("#!/bin/sh\nexit\n"), Stderr: &warned})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.calls(), "\n"); got != "sbatch ["+strings.Join(args, "] [")+"]" {
		t.Errorf("argv %q", got)
	}
	if s.read("stdin") != "#!/bin/sh\nexit\n" || strings.TrimSpace(s.read("pwd")) != dir || !strings.Contains(warned.String(), "moved to partition b") {
		t.Errorf("stdin %q, folder %q, warning %q", s.read("stdin"), s.read("pwd"), warned.String())
	}
}
