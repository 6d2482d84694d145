package runner_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

const onOneGPU = "SLURM_GPUS_ON_NODE=1"

// TestStandsStillOnceSaved: a program that knows of nothing trains no step twice: from the
// complete checkpoint on it stands still, until the job is stopped, and goes on where nobody
// comes to stop it.
func TestStandsStillOnceSaved(t *testing.T) {
	for name, wrapped := range map[string]string{"a loop": "", "below a shell": "bash -c 'while [ -e \"$OUT\" ]; do sleep 0.01; done' & "} {
		t.Run(name, func(t *testing.T) {
			l, out := newHabitual(t, wrapped+`n=0; while :; do n=$((n+1)); [ $((n % 20)) != 0 ] || own checkpoint-$n $n state.json; echo $n >"$OUT/t.new"; mv "$OUT/t.new" "$OUT/trained"; sleep 0.02; done`)
			l.start()
			l.says("adopted as checkpoint 00000001")
			l.askToStop("a")
			w := l.reach(checkpoint.Waiting)
			trained := func() string { return strings.TrimSpace(slurp(filepath.Join(out, "trained"))) }
			at := trained()
			time.Sleep(300 * time.Millisecond)
			if now := trained(); now != at {
				t.Errorf("it trained on from %s to %s", at, now)
			}
			if n, err := strconv.ParseInt(at, 10, 64); err != nil || n < w.Answer.Step-1 || n > w.Answer.Step+50 {
				t.Errorf("it stands at %s, saved at %d", at, w.Answer.Step)
			}
			l.withdraw()
			l.until("it trains on", func() bool { return trained() != at })
			l.askToStop("b")
			l.reach(checkpoint.Waiting)
			l.again()
			l.until("the next run resumes", func() bool { return strings.Contains(l.story(), "resume 0000000") })
		})
	}
}

// TestStopsRightAfterASave: of a program that takes 0.2 s a step, at the paces that users
// have, the median of the steps trained after the checkpoint that answers is at most 1.
func TestStopsRightAfterASave(t *testing.T) {
	for name, gpus := range map[string]string{"one GPU": onOneGPU, "two GPUs": "SLURM_GPUS_ON_NODE=2"} {
		t.Run(name, func(t *testing.T) {
			l, out := newHabitual(t, `n=0; while :; do n=$((n+1)); sleep 0.2; echo $n >"$OUT/trained.new"; mv "$OUT/trained.new" "$OUT/trained"; [ $((n % 10)) != 0 ] || own checkpoint-$n $n state.json; done`)
			l.config.Poll, l.config.Beat, l.config.Adopt.Still = 0, 0, 10*time.Second
			l.start(gpus)
			l.says("adopted as checkpoint 00000001")
			var again []int
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				l.askToStop(id)
				w := l.reach(checkpoint.Waiting)
				time.Sleep(500 * time.Millisecond) // sluiced is not there at once
				at, err := strconv.Atoi(strings.TrimSpace(slurp(filepath.Join(out, "trained"))))
				must(t, err)
				again = append(again, at-int(w.Answer.Step))
				l.withdraw()
				l.reach(checkpoint.Training)
			}
			t.Logf("steps trained after the checkpoint: %v", again)
			if slices.Sort(again); again[len(again)/2] > 1 {
				t.Errorf("median %d", again[len(again)/2])
			}
		})
	}
}

// TestFrozenWhileItWrites: a marker is there before all is written. What is adopted holds all.
func TestFrozenWhileItWrites(t *testing.T) {
	for name, c := range map[string]struct{ gpus, late string }{
		"a file stays open":   {onOneGPU, `exec 3>"$d/late"; echo '{}' >"$d/state.json"; sleep 0.6; echo all >&3; exec 3>&-`},
		"a file is not there": {"SLURM_GPUS_ON_NODE=2", `echo '{}' >"$d/state.json"; sleep 0.6; echo all >"$d/late"`},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newHabitual(t, `n=0; while :; do n=$((n+1)); d=$OUT/checkpoint-$n; mkdir "$d"; `+c.late+`; sleep 1.5; done`)
			l.config.Adopt.Still = time.Minute
			l.start(c.gpus)
			l.says("adopted as checkpoint 00000001")
			for _, id := range []string{"a", "b"} {
				l.askToStop(id)
				w := l.reach(checkpoint.Waiting)
				if got := slurp(filepath.Join(l.dir, "checkpoints", w.Answer.Checkpoint, "late")); got != "all\n" {
					t.Errorf("checkpoint %s holds %q", w.Answer.Checkpoint, got)
				}
				l.withdraw()
				l.reach(checkpoint.Training)
			}
		})
	}
}

// standing is how many processes of the job stand still, and how many there are.
func (l *live) standing() (still, all int) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range environs {
		if !strings.Contains(slurp(p), "SLUICE_JOB_DIR="+l.dir+"\x00") {
			continue
		}
		stat := slurp(filepath.Join(filepath.Dir(p), "stat"))
		if i := strings.LastIndexByte(stat, ')'); i > 0 && len(stat) > i+2 {
			all++
			if stat[i+2] == 'T' {
				still++
			}
		}
	}
	return still, all
}

// TestNothingIsLeftFrozen: whatever becomes of a move, the program goes on or is gone.
func TestNothingIsLeftFrozen(t *testing.T) {
	for name, c := range map[string]struct {
		then func(*live)
		gone bool
	}{
		"withdrawn":                 {func(l *live) { l.withdraw() }, false},
		"another request":           {func(l *live) { l.ask("z") }, false},
		"no stop follows":           {func(l *live) {}, false},
		"Slurm ends it":             {func(l *live) { l.stop() }, true},
		"the runner is killed":      {func(l *live) { l.cmd.Process.Kill() }, true},
		"a signal":                  {func(l *live) { l.withdraw(); l.cmd.Process.Signal(syscall.SIGUSR1) }, false},
		"the folder cannot be read": {func(l *live) { must(l, os.Rename(l.outbox, l.outbox+".away")) }, false},
		"its checkpoints are gone": {func(l *live) { // in one step: the runner may write there meanwhile
			must(l, os.Rename(filepath.Join(l.dir, "checkpoints"), filepath.Join(l.outbox, "gone")))
		}, false},
		"its own checkpoint is gone": {func(l *live) { must(l, os.RemoveAll(filepath.Dir(l.config.Adopt.Glob))) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := newHabitual(t, `bash -c 'sleep 1000 & while :; do sleep 0.1; done' & [ -n "$STAYS" ] || setsid sleep 1000 & n=0; while :; do n=$((n+1)); sleep 0.2; own checkpoint-$n $n state.json; done`)
			extra := []string{onOneGPU}
			if name == "the runner is killed" {
				extra = append(extra, "STAYS=1") // a session of its own is Slurm's to end, frozen or not
			}
			l.start(extra...)
			l.says("adopted as checkpoint 00000001")
			l.askToStop("a")
			l.reach(checkpoint.Waiting)
			l.until("it stands still", func() bool { still, all := l.standing(); return still == all && all > 4 })
			c.then(l)
			l.until("it goes on", func() bool { still, all := l.standing(); return still == 0 && (all > 0) != c.gone })
		})
	}
}
