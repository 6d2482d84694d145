package lane

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// hosting gives a lane a host with this shell command, in which $HOST is the host's folder.
func hosting(t *testing.T, l *lane, command string) {
	t.Helper()
	family, err := process.Found()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(family.Close)
	l.family, l.inner, l.signals = family, t.TempDir(), make(chan os.Signal, 1)
	l.host = &host{folder: filepath.Join(l.inner, hosts, "h")}
	if err := os.MkdirAll(l.host.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	l.host.output, err = os.Create(filepath.Join(l.inner, "output"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.host.output.Close() })
	l.host.child, err = family.Start(process.Command{Argv: []string{"/bin/sh", "-c", command}, Env: append(os.Environ(), "HOST="+l.host.folder), Stdout: l.host.output, Stderr: l.host.output})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDeafHost: a host that does not end at SIGTERM is killed, and what it started with it: it would
// train on beside the trial's next lane, and never take up another trial.
func TestDeafHost(t *testing.T) {
	l, _ := newLane(t, sweep.Tell{})
	l.End = 300 * time.Millisecond
	hosting(t, l, "trap '' TERM; echo begun; while :; do sleep 1; done")
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if text, _ := os.ReadFile(l.host.output.Name()); len(text) > 0 {
			break
		}
	}
	l.endHost()
	if l.host.alive() {
		t.Fatal("it lives")
	}
	(&trial{lane: l}).rest()
	if left := l.family.KillBut(func() []*process.Child { return nil }, time.Second); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestGiven: a host takes over each variable that a trial has of its own: its seed, for example, is not
// that of the trial before.
func TestGiven(t *testing.T) {
	l, _ := newLane(t, sweep.Tell{})
	one := &trial{lane: l, tell: sweep.Tell{Trial: 2, Start: 1, Repeat: 1}}
	l.sweep.Seed = 7
	folder := t.TempDir()
	if err := writeIn(folder, diedFile, died{1, 9}); err != nil {
		t.Fatal(err)
	}
	env := one.environment(nil)
	if code := StandIn(folder, env, time.Now, os.Stderr); code != 9 {
		t.Errorf("exit code %d", code)
	}
	var handed next
	readJSON(folder, nextFile, &handed)
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "SLUICE_") && handed.Environment[name] != value {
			t.Errorf("%s is %q, want %q", name, handed.Environment[name], value)
		}
	}
	if handed.Environment["SLUICE_SEED"] != "8" {
		t.Errorf("%+v", handed)
	}
}

// TestRunnerOfATrialEnds: a host whose trial failed because the trial's runner ended trains on no more; one
// that is through with its trial goes on.
func TestRunnerOfATrialEnds(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]any
		lives bool
	}{
		"it trains":                {map[string]any{nextFile: next{Version: 1, ID: "b"}, atFile: at{ID: "b"}, readyFile: ready{After: "a"}}, false},
		"it has not taken it up":   {map[string]any{nextFile: next{Version: 1, ID: "b"}, readyFile: ready{After: "a"}}, false},
		"it was handed none":       {nil, true},
		"it is through":            {map[string]any{nextFile: next{Version: 1, ID: "b"}, readyFile: ready{After: "b"}}, true},
		"it is through, and fails": {map[string]any{nextFile: next{Version: 1, ID: "b"}, readyFile: ready{After: "b", Failed: true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newLane(t, sweep.Tell{})
			hosting(t, l, "sleep 60")
			for file, value := range c.files {
				if err := writeIn(l.host.folder, file, value); err != nil {
					t.Fatal(err)
				}
			}
			one := &trial{lane: l, tell: sweep.Tell{Trial: 1, Start: 1}, folder: l.saved(t, 1)}
			var err error
			one.child, err = l.family.Start(process.Command{Argv: []string{"/bin/false"}, Env: os.Environ(), Stdout: l.host.output, Stderr: l.host.output})
			if err == nil {
				err = one.ends()
			}
			if err != nil {
				t.Fatal(err)
			}
			if l.host.alive() != c.lives {
				t.Errorf("the host lives: %v", !c.lives)
			}
			if e := events(t, l); len(e) != 1 || e[0].How != sweep.Failed || e[0].Words != "exit code 1" {
				t.Errorf("%+v", e)
			}
			l.family.KillAll(time.Second)
		})
	}
}

// TestNotStartedAgain: a trial that its host did not take up, and that cannot be started in a process of its own
// either, has failed, and says why.
func TestNotStartedAgain(t *testing.T) {
	l, ask := newLane(t, sweep.Tell{Trial: 1, Start: 1})
	hosting(t, l, `while [ ! -e "$HOST/next.json" ]; do sleep 0.01; done; exit 1`)
	l.script, l.Poll, l.Sluice = []byte("#!/bin/sh\n"), 5*time.Millisecond, filepath.Join(l.inner, "sluice")
	l.Env = append(os.Environ(), "HOST="+l.host.folder)
	runner := `#!/bin/sh
rm "$0"
echo '{"version":1,"id":"b"}' > "$HOST/next.json"
while [ ! -e "$HOST/died.json" ]; do sleep 0.01; done
exit 1
`
	err := errors.Join(os.WriteFile(l.Sluice, []byte(runner), 0o700), os.WriteFile(filepath.Join(l.Sweep, wanted), nil, 0o600))
	if err == nil {
		err = l.trial(ask, sweep.Tell{Trial: 1, Start: 1, Point: "x=1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if e := events(t, l); len(e) != 1 || e[0].How != sweep.Failed || !e[0].Node || !strings.Contains(e[0].Words, "could not be started") {
		t.Errorf("%+v", e)
	}
}
