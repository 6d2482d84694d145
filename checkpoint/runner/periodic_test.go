package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/runner"
)

// progress says how far the script is, as the library does.
const progress = `
at() { printf '{"time":%s,"restarts":%s,"event":"progress","done":%d,"step":%d}\n' "$(date +%s)" "$SLUICE_RESTARTS" "$1" "$1" >>"$SLUICE_JOB_DIR/progress.jsonl"; }
`

func often(l *live) *live {
	l.config.Every, l.config.First = runner.Every{Time: 100 * time.Millisecond}, 100*time.Millisecond
	return l
}

// TestSavesByTime: nobody but the runner asks; the program trains on, sluiced is not told
// of a job that waits, and old checkpoints go.
func TestSavesByTime(t *testing.T) {
	l := often(newJob(t, `for n in 1 2 3 4 5; do await; save $n "$request"; say "saved $n"; pause "$request"; done; say done; while :; do sleep 0.01; done`)).start()
	for !strings.Contains(l.story(), "done") {
		if s := l.word().State; s == checkpoint.Saving || s == checkpoint.Waiting {
			t.Fatalf("it says that it is %s", s)
		}
		l.until("it goes on", func() bool { time.Sleep(10 * time.Millisecond); return true })
	}
	l.until("only two are kept", func() bool { return len(l.saved()) == 2 })
}

// TestSaysItsInterval: how often it saves is said, and follows from what a save took.
func TestSaysItsInterval(t *testing.T) {
	l := newJob(t, `await; say asked; save 1 "$request"; pause "$request"; say on; while :; do sleep 0.01; done`)
	l.config.Every, l.config.First = runner.Every{Auto: true}, 500*time.Millisecond
	l.start()
	if w := l.reach(checkpoint.Training); w.Every != 0.5 || w.Cost != 0 {
		t.Errorf("before its first: every %g s, a save takes %g s", w.Every, w.Cost)
	}
	l.tells("asked")
	l.until("the cost of a save is told", func() bool { return l.word().Cost > 0 })
	w := l.word()
	want := runner.Interval(time.Duration(w.Cost*float64(time.Second)), runner.UsualMTBF)
	if got := time.Duration(w.Every * float64(time.Second)); (got - want).Abs() > time.Second {
		t.Errorf("every %v, a save takes %g s: want %v", got, w.Cost, want)
	}
}

// TestSluicedComesFirst: its request replaces the runner's own.
func TestSluicedComesFirst(t *testing.T) {
	l := often(newJob(t, `await; say asked; until [ "$(requested)" = theirs ]; do sleep 0.01; done; save 1 theirs; pause theirs; say on`)).start()
	l.tells("asked")
	l.ask("theirs")
	if w := l.reach(checkpoint.Waiting); w.Answer == nil || w.Answer.Request != "theirs" {
		t.Errorf("word %+v", w)
	}
	l.withdraw()
	l.exits(0)
}

// TestSilentScriptIsLeftAlone: no signal, no other end.
func TestSilentScriptIsLeftAlone(t *testing.T) {
	l := often(newJob(t, `sleep 1; exit 0`)).start()
	l.exits(0)
	if w := l.word(); w.LastWords != nil || slurp(l.errs) != "" {
		t.Errorf("%+v, said %q", w, slurp(l.errs))
	}
}

// TestEndsWhenAsked: a program that saves and ends upon a request has not completed its
// work. It is started again, once, and not asked any more.
func TestEndsWhenAsked(t *testing.T) {
	for _, late := range []string{"", "sleep 0.5; "} { // while the request stands, or after
		l := often(newJob(t, `[ -n "$SLUICE_RESUME" ] && { sleep 1; say "resumed $(requested)"; exit 0; }; await; save 1 "$request"; `+late+`exit 0`)).start()
		l.exits(0)
		if got := l.story(); got != "resumed \n" {
			t.Errorf("late %q: story %q, said %q", late, got, slurp(l.errs))
		}
	}
}

// TestJudgedRetries: a typo fails at once; what was killed on its way goes on from its
// checkpoint; what fails at the same step twice is given up.
func TestJudgedRetries(t *testing.T) {
	judged := func(script string) *live {
		l := newJob(t, progress+`say "from ${SLUICE_RESUME##*/}"; `+script)
		l.config.Judge, l.config.Backoff = true, 10*time.Millisecond
		return l
	}
	for name, c := range map[string]struct {
		script, story string
		code          int
	}{
		"typo":      {`nonsense`, "from \n", 127},
		"killed":    {`[ -n "$SLUICE_RESUME" ] && exit 0; save 1 ""; at 3; kill -9 $$`, "from \nfrom 00000001\n", 0},
		"same step": {`at 3; exit 4`, "from \nfrom \n", 4},
		"always":    {`echo >>$SLUICE_JOB_DIR/n; at $(wc -l <$SLUICE_JOB_DIR/n); exit 4`, "from \nfrom \nfrom \n", 4},
	} {
		l := judged(c.script).start()
		l.exits(c.code)
		if l.story() != c.story {
			t.Errorf("%s: story %q, want %q", name, l.story(), c.story)
		}
	}
}

// TestKilledRightAfterOwnSave: that is a failure, not an answer to the request.
func TestKilledRightAfterOwnSave(t *testing.T) {
	l := often(newJob(t, `[ -n "$SLUICE_RESUME" ] && { await; save 2 "$request"; pause "$request"; say "asked again"; sleep 20; exit 0; }; await; save 1 "$request"; kill -9 $$`))
	l.config.Judge, l.config.Backoff = true, 300*time.Millisecond
	l.start(withBanners)
	l.until("it waits to be started again", func() bool { return !l.word().RetryAt.IsZero() })
	if waits := l.word(); waits.Final || waits.RetryAt.After(waits.Beat.Add(time.Minute)) {
		t.Errorf("%+v", waits)
	}
	l.tells("asked again")
	l.until("no more once it was", func() bool { return l.word().RetryAt.IsZero() })
	if out := slurp(l.out); !strings.Contains(out, "retry 1 of 2") {
		t.Error(out)
	}
}

// TestSignalBesideOwnRequest: only where it is named, and only to what listens.
func TestSignalBesideOwnRequest(t *testing.T) {
	l := often(newJob(t, `bash -c 'trap "touch $SLUICE_JOB_DIR/heard" USR1; until [ -e $SLUICE_JOB_DIR/heard ]; do sleep 0.01; done'; say heard; exit 0`))
	l.config.Signal = "USR1"
	l.start().exits(0)
	if _, err := os.Stat(filepath.Join(l.dir, "heard")); err != nil {
		t.Error(err)
	}
}
