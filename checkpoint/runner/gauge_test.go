package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// gaugeProgram replaces sluice-nvml: it gets the same arguments and writes the same file.
const gaugeProgram = `#!/bin/bash
into=${1#--into=} node=${2#--node=}
echo "$BASHPID" >>"$into/gauge.pids"
mkdir -p "$into/gauge"
# say NODE UNFIT: a file as sluice-nvml writes it
say() {
  local f="$into/gauge/${SLURM_RESTART_COUNT:-0}.$1.json"
  printf '{"node":"%s","at":"%s","gpus":[{"index":0,"utilisation":0.25,"unfit":"%s"},{"index":1,"utilisation":0.75}]}\n' \
    "$1" "$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)" "$2" >"$f.new"
  mv "$f.new" "$f"
}
`

// gauged is a job beside whose script such a program runs.
func gauged(t *testing.T, script, program string) *live {
	t.Helper()
	l := newJob(t, script)
	l.config.Gauge = filepath.Join(l.dir, "gauge.sh")
	writeProgram(t, l.config.Gauge, gaugeProgram+program)
	return l
}

// gaugesGone: no gauge outlives its run: it would hold GPUs that are given back.
func (l *live) gaugesGone() int {
	l.Helper()
	pids := strings.Fields(slurp(filepath.Join(l.dir, "gauge.pids")))
	for _, pid := range pids {
		if cmd := slurp("/proc/" + pid + "/cmdline"); strings.Contains(cmd, "gauge.sh") {
			l.Errorf("gauge %s outlived its run", pid)
		}
	}
	return len(pids)
}

func TestGaugeSpeaksThroughTheWord(t *testing.T) {
	l := gauged(t, `until [ -e "$SLUICE_JOB_DIR/done" ]; do sleep 0.02; done`, `
say "$node" ""; say gpu2 ""; say gpu9 ""
until [ -e "$into/bad" ]; do sleep 0.02; say "$node" ""; done
while :; do say "$node" "XID 79: fallen off the bus"; sleep 0.1; done
`)
	l.start("SLURM_JOB_NODELIST=gpu[1-2]", "SLURMD_NODENAME=gpu1")
	l.until("both nodes' GPUs are in the word", func() bool { return len(l.word().Devices) == 2 })
	// What earlier runs, and jokers, put there.
	for name, text := range map[string]string{
		"7.gpu1.json": `{"node":"gpu1","at":"2026-01-01T00:00:00Z","gpus":[{"index":5,"utilisation":0}]}`,
		"0.gpu2":      `{`, "0..json": `{`, "nonsense": "", "0.gpu2.json": `{"node":"gpu3","gpus":[]}`,
	} {
		must(t, os.WriteFile(filepath.Join(l.dir, "gauge", name), []byte(text), 0o644))
	}
	for i, d := range l.word().Devices {
		if d.Node != fmt.Sprintf("gpu%d", i+1) || len(d.GPUs) != 2 || d.GPUs[1].Utilisation != 0.75 || d.GPUs[0].Unfit != "" {
			t.Errorf("%+v", d)
		}
	}
	must(t, os.WriteFile(filepath.Join(l.dir, "bad"), nil, 0o644))
	l.until("the bad GPU is in the word", func() bool {
		d := l.word().Devices
		return len(d) > 0 && strings.HasPrefix(d[0].GPUs[0].Unfit, "XID 79")
	})
	l.until("gpu2, of which nothing is heard any more, is gone from it", func() bool { return len(l.word().Devices) == 1 })
	must(t, os.WriteFile(filepath.Join(l.dir, "done"), nil, 0o644))
	l.exits(0)
	if n := l.gaugesGone(); n != 1 {
		t.Errorf("%d gauges were started", n)
	}
}

// TestNoGauge: without a driver, without the program, or with one that fails or hangs,
// the job runs normally.
func TestNoGauge(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		most    int // times it may be started
	}{
		"nothing to look at": {"exit 0", 1},
		"fails":              {"exit 127", 1}, // again after a minute
		"hangs":              {"trap '' TERM; while :; do sleep 1; done", 2},
		"writes nonsense":    {`echo '{"node":' >"$into/gauge/0.$node.json"; sleep 100`, 2},
		"cannot be started":  {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := gauged(t, `sleep 2; say over`, c.program)
			if c.most == 0 {
				must(t, os.Remove(l.config.Gauge))
			}
			l.start("SLURMD_NODENAME=gpu1")
			l.exits(0)
			if n := l.gaugesGone(); n > c.most {
				t.Errorf("started %d times", n)
			}
			if errs := slurp(l.errs); errs != "" {
				t.Errorf("the user was told: %s", errs)
			}
			if w := l.word(); w.State != checkpoint.Exited || len(w.Devices) != 0 || !strings.Contains(l.story(), "over") {
				t.Errorf("word %+v, story %q", w, l.story())
			}
		})
	}
}

// TestGaugeEndsWithItsScript: a run whose program saved and ended holds no GPU
// while it waits to be stopped, and the next start has a gauge of its own.
func TestGaugeEndsWithItsScript(t *testing.T) {
	l := gauged(t, `await; save 1 "$request"; say saved`, `while :; do say "$node" ""; sleep 0.05; done`)
	l.start("SLURMD_NODENAME=gpu1")
	l.until("it is looked at", func() bool { return len(l.word().Devices) == 1 })
	l.ask("1")
	l.tells("saved")
	l.reach(checkpoint.Waiting)
	time.Sleep(5 * l.config.Beat)
	l.gaugesGone()
	l.withdraw() // the script starts again from its checkpoint
	l.until("a second gauge looks", func() bool {
		return len(strings.Fields(slurp(filepath.Join(l.dir, "gauge.pids")))) == 2
	})
	l.stop()
	<-l.done
	l.gaugesGone()
}

// TestGaugeHasTheLastWord: the GPU error that ends the script is reported just before,
// and is in the runner's last note.
func TestGaugeHasTheLastWord(t *testing.T) {
	l := gauged(t, `until [ -e "$SLUICE_JOB_DIR/struck" ]; do sleep 0.01; done; exit 3`,
		`say "$node" ""; until [ -e "$into/strike" ]; do sleep 0.02; done; say "$node" "XID 95"; touch "$into/struck"; sleep 100`)
	l.config.Beat = 2 * time.Second // it will not look again before the end
	l.start("SLURMD_NODENAME=gpu1")
	l.until("it is looked at", func() bool { return len(l.word().Devices) == 1 })
	must(t, os.WriteFile(filepath.Join(l.dir, "strike"), nil, 0o644))
	l.exits(3)
	if w := l.word(); w.State != checkpoint.Exited || len(w.Devices) != 1 || w.Devices[0].GPUs[0].Unfit != "XID 95" {
		t.Errorf("the last word is %+v", w)
	}
	l.gaugesGone()
}
