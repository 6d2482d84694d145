package runner_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/nodes"
)

// banners returns what the banners of a file say, one line each.
func banners(t *testing.T, file string) (out []string) {
	t.Helper()
	for line := range strings.Lines(slurp(file)) {
		if b, ok := runner.ParseBanner(line); ok {
			kind := "begins"
			if b.End {
				kind = "ended"
			}
			if b.Job != jobID || time.Since(b.At) > time.Hour {
				t.Errorf("banner %+v", b)
			}
			out = append(out, fmt.Sprintf("%d %s: %s", b.Segment, kind, strings.Join(b.Words, ", ")))
		}
	}
	return out
}

const withBanners = "SLUICE_BANNERS=yes"

// TestBanners: every run says in the output where it begins, and why it ended.
func TestBanners(t *testing.T) {
	l := newJob(t, `printf "no newline"; `+trainer).start(withBanners)
	l.tells("from 0")
	now := time.Now()
	request := checkpoint.Request{Job: jobID, ID: "a", Asked: now, Deadline: now.Add(time.Minute), Target: nodes.Placement{{Node: "gpu1", GPUs: 2}, {Node: "gpu2", GPUs: 1}}}
	must(t, l.mail.Ask(token, request))
	l.reach(checkpoint.Waiting)
	l.stop()
	l.exits(143)
	l.restarts = 1
	l.start(withBanners)
	l.tells("from 1")
	l.ask("b")
	l.reach(checkpoint.Waiting)
	l.stop()
	l.exits(143)
	want := []string{"0 begins: 2 GPUs on gpu1:2, from the start", "0 ended: resized to 3 GPUs on gpu1:2+gpu2:1",
		"1 begins: 2 GPUs on gpu1:2, resumed from checkpoint 00000001 (step 1, epoch 1)", "1 ended: stopped, to wait for GPUs"}
	if got := banners(t, l.out); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := banners(t, l.errs); !slices.Equal(got, want) {
		t.Errorf("in the errors: %q", got)
	}
	if w := l.word(); w.Output != l.out || w.Errors != l.errs {
		t.Errorf("the output is in %q and %q", w.Output, w.Errors)
	}
}

func TestBannersOfEnds(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":                             "0 ended: completed: exit code 0",
		"exit 3":                             "0 ended: failed: exit code 3",
		"kill -SEGV $$":                      "0 ended: failed: killed by signal SEGV",
		"touch $SLUICE_JOB_DIR/up; sleep 99": "0 ended: stopped by Slurm",
	} {
		l := newJob(t, script).start(withBanners)
		if strings.Contains(want, "Slurm") {
			l.until("it is up", func() bool { _, err := os.Stat(filepath.Join(l.dir, "up")); return err == nil })
			l.stop()
		}
		<-l.done
		if got := banners(t, l.out); len(got) != 2 || got[1] != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

// flaky fails until it was tried often enough, and saves at the second try.
const flaky = `
n=$(cat $SLUICE_JOB_DIR/tries 2>/dev/null || echo 0); n=$((n+1)); echo $n >$SLUICE_JOB_DIR/tries
say "try $n from ${SLUICE_RESUME##*/}"
[ $n = 2 ] && save 1 ""
`

// TestRetries: a training that fails is started again from its newest valid
// checkpoint, and progress counts anew.
func TestRetries(t *testing.T) {
	l := newJob(t, flaky+`[ $n = 4 ] && exit 0; [ $n = 3 ] && kill -9 $$; exit 4`)
	l.config.Retries = 2
	l.start(withBanners).exits(0)
	if got, want := l.story(), "try 1 from \ntry 2 from \ntry 3 from 00000001\ntry 4 from 00000001\n"; got != want {
		t.Errorf("story %q, want %q", got, want)
	}
	if w := l.word(); w.LastWords != nil || !strings.Contains(w.Note, "started again, 3 time(s)") {
		t.Errorf("word %+v", w)
	}
	got := banners(t, l.out)
	want := []string{"0 begins: 2 GPUs on gpu1:2, from the start", "0 ended: failed: exit code 4, to be started again",
		"0 begins: retry 1 of 2, 2 GPUs on gpu1:2, from the start", "0 ended: failed: exit code 4, to be started again",
		"0 begins: retry 1 of 2, 2 GPUs on gpu1:2, resumed from checkpoint 00000001 (step 1, epoch 1)"}
	if len(got) != 8 || !slices.Equal(got[:5], want) || got[7] != "0 ended: completed: exit code 0" {
		t.Errorf("%q", got)
	}
}

func TestRetriesEnd(t *testing.T) {
	l := newJob(t, flaky+`echo "boom $n"; exit 4`)
	l.config.Retries = 1
	l.start().exits(4)
	// Once for nothing, once more because the second had saved.
	if got := strings.Count(l.story(), "try"); got != 3 {
		t.Errorf("%d tries", got)
	}
	if w := l.word(); w.LastWords == nil || w.LastWords.Why != "exit code 4; it was started again 2 time(s) before" || !slices.Equal(w.LastWords.Lines, []string{"boom 3"}) {
		t.Errorf("last words %+v", w.LastWords)
	}
}

// TestNotRetried: what ended well, or because Slurm said so.
func TestNotRetried(t *testing.T) {
	l := newJob(t, `say up; exit 0`)
	l.config.Retries = 3
	l.start().exits(0)
	if l.story() != "up\n" {
		t.Errorf("story %q", l.story())
	}
	l = newJob(t, `trap "" TERM; bash -c 'echo up >>$SLUICE_JOB_DIR/story; while :; do sleep 0.01; done'; exit 1`)
	l.config.Retries = 3
	l.start().tells("up")
	l.cmd.Process.Signal(syscall.SIGTERM)
	l.until("it was told", func() bool { time.Sleep(100 * time.Millisecond); return true })
	must(t, exec.Command("pkill", "-KILL", "-P", strconv.Itoa(l.word().PID)).Run())
	l.exits(137)
	if l.story() != "up\n" {
		t.Errorf("story %q", l.story())
	}
}

// TestLastWords: why it died, who died first, and what it said.
func TestLastWords(t *testing.T) {
	l := newJob(t, `echo "epoch 1"; mkdir -p $SLUICE_JOB_DIR/ranks/0.0
echo '{"name":"gpu2","rank":3,"code":137,"signal":"KILL"}' >$SLUICE_JOB_DIR/ranks/0.0/failed
printf 'Traceback (most recent call last):\n  File "x"\nValueError: no \033[31m\n' >&2; exit 1`).start()
	l.exits(1)
	w := l.word().LastWords
	if w == nil || w.Why != "exit code 1; rank 3 on node gpu2 failed first (signal KILL); ValueError: no  [31m" || len(w.Lines) != 3 || w.Lines[2] != "ValueError: no  [31m" {
		t.Fatalf("last words %+v", w)
	}
	l = newJob(t, `await; mkdir $SLUICE_CHECKPOINTS/00000001; echo saving; exit 9`).start()
	l.ask("a")
	l.exits(9)
	if w := l.word().LastWords; w == nil || w.Why != "exit code 9; it was asked to save and ended before that was done" || !slices.Equal(w.Lines, []string{"saving"}) {
		t.Errorf("last words %+v", w)
	}
	l = newJob(t, `say ready; while :; do sleep 0.01; done`).start()
	l.tells("ready")
	l.stop()
	l.exits(143)
	if w := l.word().LastWords; w == nil || !strings.HasPrefix(w.Why, "Slurm ended the job") {
		t.Errorf("last words %+v", w)
	}
}

// TestGPUsGivenBack: a daemon that holds a GPU is gone before the run ends; what
// is not of this run is named and left alone.
func TestGPUsGivenBack(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		if err := syscall.Mknod(filepath.Join(dir, fmt.Sprint("gpu1-", i)), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
			t.Skipf("LOUD SKIP: device files can only be made as root: %v", err)
		}
	}
	other := exec.Command("bash", "-c", "exec 7<>"+dir+"/gpu1-1; echo up >"+dir+"/up; exec sleep 1000")
	other.Env = []string{"SLURM_JOB_ID=42", "PATH=" + os.Getenv("PATH")}
	must(t, other.Start())
	defer func() { other.Process.Kill(); other.Wait() }()
	for _, ending := range []string{"exit 0", `await; save 1 "$request"; pause "$request"`} {
		l := newJob(t, `exec 7<>`+dir+`/gpu1-0; (setsid bash -c 'trap "" TERM; echo $$ >$SLUICE_JOB_DIR/pid; while :; do sleep 0.01; done' &)
until [ -s $SLUICE_JOB_DIR/pid ]; do sleep 0.01; done; say up; `+ending)
		l.until("the other is up", func() bool { return slurp(dir+"/up") != "" })
		l.start("SLURM_JOB_GPUS=0,1", "SLUICE_GPU_FILES="+dir+"/%n-%d", "SLURMD_NODENAME=gpu1")
		l.tells("up")
		code := 0
		if ending != "exit 0" {
			l.ask("a")
			l.reach(checkpoint.Waiting)
			l.stop()
			code = 143
		}
		l.exits(code)
		if pid := strings.TrimSpace(slurp(filepath.Join(l.dir, "pid"))); strings.Contains(slurp("/proc/"+pid+"/cmdline"), "trap") {
			t.Errorf("process %s is left", pid)
		}
		want := fmt.Sprintf("still held at the end: %s/gpu1-1 by process %d (sleep)", dir, other.Process.Pid)
		if w := l.word(); w.Note != want {
			t.Errorf("note %q, want %q", w.Note, want)
		}
	}
	if other.ProcessState != nil || syscall.Kill(other.Process.Pid, 0) != nil {
		t.Error("it was killed")
	}
}

// TestRunnerKilled: the script goes with its runner; what is left then is Slurm's
// to end.
func TestRunnerKilled(t *testing.T) {
	l := newJob(t, `echo $$ >$SLUICE_JOB_DIR/pid; say up; trap "" TERM; while :; do sleep 0.01; done`).start()
	l.tells("up")
	pid := strings.TrimSpace(slurp(filepath.Join(l.dir, "pid")))
	must(t, l.cmd.Process.Kill())
	l.until("the script is gone", func() bool {
		stat := slurp("/proc/" + pid + "/stat")
		return stat == "" || strings.Contains(stat, ") Z ")
	})
}
