package runner_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// trainer saves when asked, then waits to be stopped or to train on.
const trainer = `
n=$(basename "${SLUICE_RESUME:-0}"); n=$((10#$n))
say "from $n"
while :; do
  await
  n=$((n+1)); save $n "$request"
  pause "$request"
  say "on after $n"
done
`

func TestExitCodes(t *testing.T) {
	for script, want := range map[string]int{
		"exit 0":                   0,
		"exit 3":                   3,
		"kill -9 $$":               137,
		"kill -USR1 $$":            138,
		"exit 255":                 255,
		"true; }  syntax error":    2,
		"exec /no/such/program":    127,
		"exec sh -c 'kill -15 $$'": 143,
	} {
		t.Run(script, func(t *testing.T) {
			l := newJob(t, script).start()
			l.exits(want)
			if w := l.word(); w.State != checkpoint.Exited || w.Exit == nil || w.Exit.Code != want {
				t.Errorf("last word %+v", w)
			}
		})
	}
}

// TestNeverHeardOfSluice: arguments, input, output and the rest of the
// environment come as from Slurm.
func TestNeverHeardOfSluice(t *testing.T) {
	l := newJob(t, `cat; echo "$# $1,$2 $HELLO ${SLURM_NTASKS-none} $SLUICE_SPLIT $SLUICE_RESTARTS [$SLUICE_RESUME]"; echo err >&2; exit 4`)
	l.start("HELLO=world")
	l.exits(4)
	if got, want := slurp(l.out), "2 first arg,second world none gpu1:2 0 []\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if got := slurp(l.errs); got != "err\n" {
		t.Errorf("standard error %q: the runner has nothing to say", got)
	}
}

func TestMissingInterpreter(t *testing.T) {
	l := newJob(t, "")
	must(t, os.WriteFile(filepath.Join(l.dir, "script"), []byte("#!/no/such/shell\n"), 0o700))
	l.start().exits(127)
	if !strings.Contains(slurp(l.errs), "/no/such/shell") {
		t.Errorf("says %q", slurp(l.errs))
	}
}

func TestOutsideOfAJobRunsPlainly(t *testing.T) {
	l := newJob(t, `echo "${SLURM_NTASKS} ${SLUICE_JOB_DIR-none}"; exit 6`)
	plain := filepath.Join(t.TempDir(), "not-a-token")
	must(t, os.Rename(l.dir, plain))
	l.dir = plain
	l.start().exits(6)
	if got := slurp(l.out); got != "1 none\n" || !strings.Contains(slurp(l.errs), "fixed size") {
		t.Errorf("printed %q, said %q", got, slurp(l.errs))
	}
}

func TestMove(t *testing.T) {
	l := newJob(t, trainer).start()
	if w := l.reach(checkpoint.Training); w.FirstLine.IsZero() || w.Job != jobID || w.Split.String() != "gpu1:2" {
		t.Errorf("word %+v", w)
	}
	l.ask("r1")
	w := l.reach(checkpoint.Waiting)
	if a := w.Answer; a == nil || a.Request != "r1" || a.Checkpoint != "00000001" || a.Error != "" || a.Step != 1 || a.Committed.IsZero() || a.Verified.Before(a.Committed) {
		t.Fatalf("answer %+v", w.Answer)
	}
	l.stop()
	l.exits(143)
	// As after the requeue: the request was answered and counts no more.
	l.restarts = 1
	must(t, l.mail.Aim(token, checkpoint.Target{Job: jobID, Incarnation: 1, Checkpoint: "00000001"}))
	l.start()
	w = l.reach(checkpoint.Training)
	if w.Resumed != "00000001" || w.Incarnation != 1 || w.Answer != nil || w.Note != "" {
		t.Errorf("word %+v", w)
	}
	l.tells("from 1")
	l.ask("r2")
	if w := l.reach(checkpoint.Waiting); w.Answer.Checkpoint != "00000002" {
		t.Errorf("answer %+v", w.Answer)
	}
}

func TestWithdrawnWhileWaiting(t *testing.T) {
	l := newJob(t, trainer).start()
	for i, id := range []string{"a", "b"} {
		l.ask(id)
		l.reach(checkpoint.Waiting)
		l.withdraw()
		if w := l.reach(checkpoint.Training); w.Answer != nil {
			t.Errorf("the answer stands: %+v", w.Answer)
		}
		l.tells("on after " + strconv.Itoa(i+1))
	}
}

func TestIgnoresRequest(t *testing.T) {
	l := newJob(t, "until [ -e $SLUICE_JOB_DIR/go ]; do sleep 0.01; done; exit 5").start()
	l.ask("a")
	l.reach(checkpoint.Saving)
	l.withdraw()
	l.reach(checkpoint.Training)
	must(t, os.WriteFile(filepath.Join(l.dir, "go"), nil, 0o644))
	l.exits(5)
}

// TestExitsAfterItsAnswer: exit 0 must not make the job complete; taken back,
// training starts again from what it saved, in the same run.
func TestExitsAfterItsAnswer(t *testing.T) {
	for _, how := range []string{"exit 0", "exit 1", "kill -9 $$"} {
		t.Run(how, func(t *testing.T) {
			l := newJob(t, `n=$(basename "${SLUICE_RESUME:-0}"); say "from $n port $((MASTER_PORT > 9999))"; await; save $((10#$n+1)) "$request"; `+how).start()
			l.ask("a")
			l.reach(checkpoint.Waiting)
			l.until("the script's end is told", func() bool { return l.word().Exit != nil })
			if w := l.word(); w.State != checkpoint.Waiting {
				t.Fatalf("word %+v", w)
			}
			l.withdraw()
			l.tells("from 00000001 port 1")
			l.ask("b")
			l.until("a second answer", func() bool { w := l.word(); return w.Answer != nil && w.Answer.Checkpoint == "00000002" })
			l.stop()
			l.exits(143)
		})
	}
}

// TestExitsMidway: no answer, so the code is the job's.
func TestExitsMidway(t *testing.T) {
	for script, want := range map[string]int{"await; exit 0": 0, "await; exit 1": 1, "await; mkdir $SLUICE_CHECKPOINTS/00000001; kill -9 $$": 137} {
		l := newJob(t, script).start()
		l.ask("a")
		l.exits(want)
	}
}

// TestFinishesWhileAsked: the work is done; there is nothing to resume.
func TestFinishesWhileAsked(t *testing.T) {
	l := newJob(t, `await; save 1 "$request"; echo '{"time":1e9,"restarts":0,"event":"finished","done":3}' >>$SLUICE_JOB_DIR/progress.jsonl; exit 0`).start()
	l.ask("a")
	l.exits(0)
}

func TestTornAnswer(t *testing.T) {
	l := newJob(t, `await; SUM=$(printf '0%.0s' {1..64}) save 1 "$request"; until [ -e $SLUICE_JOB_DIR/go ]; do sleep 0.01; done; save 2 "$request"; pause "$request"; sleep 100`).start()
	l.ask("a")
	l.until("an answer that it is torn", func() bool { return l.word().Answer != nil })
	if w := l.word(); w.State != checkpoint.Saving || w.Answer.Checkpoint != "" || !strings.Contains(w.Answer.Error, "damaged") {
		t.Fatalf("word %+v, answer %+v", w, w.Answer)
	}
	must(t, os.WriteFile(filepath.Join(l.dir, "go"), nil, 0o644))
	if w := l.reach(checkpoint.Waiting); w.Answer.Checkpoint != "00000002" || w.Answer.Error != "" {
		t.Errorf("answer %+v", w.Answer)
	}
}

// TestTornAndExitsInPeace: it meant to be stopped; complete would be wrong.
func TestTornAndExitsInPeace(t *testing.T) {
	l := newJob(t, `if [ -z "$SLUICE_RESUME" ]; then save 1 ""; fi
if [ -e $SLUICE_JOB_DIR/again ]; then say again from $SLUICE_RESUME; exit 8; fi
say up; await; touch $SLUICE_JOB_DIR/again; SUM=$(printf '0%.0s' {1..64}) save 2 "$request"; exit 0`).start()
	l.tells("up")
	l.ask("a")
	l.exits(8)
	if !strings.Contains(l.story(), "again from "+l.dir+"/checkpoints/00000001") {
		t.Errorf("story %q", l.story())
	}
}

// TestUnnamedAnswer: a program that knows only the signal names no request. What
// it saved before it was asked is no answer.
func TestUnnamedAnswer(t *testing.T) {
	l := newJob(t, `save 1 ""; trap 'save 2 ""; say saved' USR1; say ready; while :; do sleep 0.01; done`).start()
	l.tells("ready")
	l.ask("a")
	l.cmd.Process.Signal(syscall.SIGUSR1)
	l.tells("saved")
	if w := l.reach(checkpoint.Waiting); w.Answer.Checkpoint != "00000002" {
		t.Errorf("answer %+v", w.Answer)
	}
}

// TestAsksOfAnotherRun: what an earlier run was asked, or answered, is nothing
// to this one, however long it lies there.
func TestAsksOfAnotherRun(t *testing.T) {
	l := newJob(t, trainer)
	l.restarts = 1
	l.ask("old")
	l.restarts = 2
	l.start().reach(checkpoint.Training)
	l.ask("new")
	l.reach(checkpoint.Waiting)
	l.stop()
	l.exits(143)
	l.restarts = 3
	now := time.Now()
	must(t, l.mail.Ask(token, checkpoint.Request{Job: jobID, ID: "new", Asked: now, Deadline: now.Add(time.Hour)}))
	l.start().tells("from 1")
	l.ask("newer")
	if w := l.reach(checkpoint.Waiting); w.Answer.Request != "newer" || w.Answer.Checkpoint != "00000002" {
		t.Errorf("answer %+v: it answered a request of another run", w.Answer)
	}
}

func TestStoppedWithoutAnswer(t *testing.T) {
	for script, want := range map[string]int{
		"trap 'say told; exit 9' TERM; say ready; while :; do sleep 0.01; done": 9,
		"say ready; while :; do sleep 0.01; done":                               143,
	} {
		l := newJob(t, script).start()
		l.tells("ready")
		l.stop()
		l.exits(want)
	}
}

// TestDeafWhileWaiting: its work is saved, so it may be killed at once.
func TestDeafWhileWaiting(t *testing.T) {
	l := newJob(t, `trap '' TERM; await; save 1 "$request"; while :; do sleep 0.01; done`).start()
	l.ask("a")
	l.reach(checkpoint.Waiting)
	l.stop()
	l.exits(143)
}

// TestLeavesNothingRunning: not even what left the process group.
func TestLeavesNothingRunning(t *testing.T) {
	l := newJob(t, `setsid bash -c 'trap "" TERM HUP; sleep 1001' & (setsid sleep 1002 &) ; sleep 1003 & echo $! >$SLUICE_JOB_DIR/pid
until [ $(pgrep -cx -f "sleep 100[123]") -ge 3 ]; do sleep 0.01; done; pgrep -x -f "sleep 100[123]" >$SLUICE_JOB_DIR/pids; exit 5`).start()
	l.exits(5)
	pids := strings.Fields(slurp(filepath.Join(l.dir, "pids")))
	if len(pids) < 3 {
		t.Fatalf("the script started %v", pids)
	}
	for _, pid := range pids {
		if _, err := os.Stat("/proc/" + pid); err == nil && strings.Contains(slurp("/proc/"+pid+"/cmdline"), "sleep") {
			t.Errorf("process %s is left", pid)
		}
	}
}

func TestHugeOutput(t *testing.T) {
	l := newJob(t, `head -c 50000000 /dev/zero | tr '\0' x; echo; echo end`).start()
	l.exits(0)
	if info, err := os.Stat(l.out); err != nil || info.Size() != 50_000_005 {
		t.Errorf("%v, %v", info.Size(), err)
	}
}
