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

// paced tells its pace as the library does, one step in 10 ms, and never ends.
const paced = `
pace() { printf '{"time":%s,"restarts":%s,"event":"pace","done":0,"gpus":2,"pace":0.01,"steps":%d}\n' "$(date +%s.%N)" "$SLUICE_RESTARTS" "$1" >>"$SLUICE_JOB_DIR/progress.jsonl"; }
trap 'say asked to end; exit 1' TERM
say "steps $SLUICE_PROFILE_STEPS"
`

// A run that only measures ends in peace as soon as its steps are measured; the
// program, which would train on, is ended.
func TestMeasuredRunEnds(t *testing.T) {
	l := newJob(t, paced+"while :; do pace 4; sleep 0.05; done")
	l.config.Profile = runner.Profile{Warmup: 3, Steps: 10, Limit: time.Minute}
	l.start()
	l.exits(0)
	l.tells("steps 3+10")
	if w := l.word(); w.State != checkpoint.Exited || w.Exit == nil || w.Exit.Code != 0 {
		t.Errorf("last word %+v", w)
	}
	if said := slurp(l.errs); !strings.Contains(said, "the speed on 2 GPU(s) is measured") {
		t.Errorf("said %q", said)
	}
	if n := strings.Count(slurp(filepath.Join(l.dir, checkpoint.ProgressFile)), `"pace"`); n < 3 {
		t.Errorf("ended after %d lines of 4 steps", n)
	}
}

// One that never says anything ends when its time is over, and so do its children.
func TestMeasuredRunHasALimit(t *testing.T) {
	l := newJob(t, "sleep 600 & echo $! >$SLUICE_JOB_DIR/child; wait")
	l.config.Profile = runner.Profile{Steps: 10, Limit: 300 * time.Millisecond}
	l.start()
	l.exits(0)
	child := strings.TrimSpace(slurp(filepath.Join(l.dir, "child")))
	if _, err := os.Stat("/proc/" + child); err == nil {
		t.Errorf("process %s of the script is left", child)
	}
	if said := slurp(l.errs); !strings.Contains(said, "is over") {
		t.Errorf("said %q", said)
	}
}

// A program that ends by itself before that ends as ever; a job that is measured
// in its first minutes only (no limit) is not ended at all.
func TestMeasuredRunEndsByItself(t *testing.T) {
	l := newJob(t, paced+"pace 4; exit 3")
	l.config.Profile = runner.Profile{Steps: 10, Limit: time.Minute}
	l.start()
	l.exits(3)

	l = newJob(t, paced+"pace 100; sleep 0.3; say trained on; exit 0")
	l.config.Profile = runner.Profile{Warmup: 5, Steps: 10}
	l.start()
	l.exits(0)
	l.tells("steps 5+10")
	l.tells("trained on")
}

// Without a profile the variable is there and empty: it must not be another job's.
func TestNotMeasured(t *testing.T) {
	l := newJob(t, `say "steps [$SLUICE_PROFILE_STEPS]"`)
	l.start("SLUICE_PROFILE_STEPS=1+2")
	l.exits(0)
	l.tells("steps []")
}

func TestProfileFlag(t *testing.T) {
	for text, want := range map[string]string{"5+20": "5+20", "0+1": "0+1", "": "error", "5": "error", "+5": "error", "5+": "error", "5+0": "error", "-1+5": "error", "5+20x": "error", "5+20+3": "error"} {
		var p runner.Profile
		got := "error"
		if p.Set(text) == nil {
			got = p.String()
		}
		if got != want {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
}
