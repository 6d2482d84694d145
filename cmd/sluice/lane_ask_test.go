package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/pythontest"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// askProgram answers with the points 1, 2, 3, ...; it notes what it is told, and does what FAULTS says once.
const askProgram = `import json, os, sys, time
faults = os.environ.get("FAULTS", "")
def once(fault):
    if fault not in faults.split():
        return False
    try:
        os.close(os.open(os.environ["LOG"] + "." + fault, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
log = open(os.environ["LOG"] + ".%d.%d" % (time.time_ns(), os.getpid()), "w")
for text in sys.stdin:
    log.write(text); log.flush()
    e = json.loads(text)
    if e["event"] == "hello":
        assert e["metric"] == "score" and e["direction"] == "maximize" and e["space"][0]["name"] == "x", e
    if e["event"] == "tell" and once("dies"):
        sys.exit("it dies")
    if e["event"] not in ("ask", "refused"):
        continue
    if once("hangs"):
        time.sleep(1000)
    if once("babbles"):
        print("hello, world", flush=True)
    if once("strays"):
        print(json.dumps({"trial": e["trial"], "point": {"x": 99}}), flush=True)
        continue
    if e["trial"] > int(os.environ.get("MOST", "1000")):
        print(json.dumps({"trial": e["trial"], "none": True}), flush=True)
        continue
    print(json.dumps({"trial": e["trial"], "point": {"x": e["trial"]}}), flush=True)
`

func newAskBench(t *testing.T, change func(*sweep.Sweep)) *sweepBench {
	b := newSweepBench(t, func(s *sweep.Sweep) {
		s.Algorithm, s.Params, s.Trials, s.Parallel = "ask", []string{"x=int:1:50"}, 5, 1
		change(s)
	})
	b.must(os.WriteFile(filepath.Join(b.dir, "ask.py"), []byte(askProgram), 0o644))
	b.sweep.Searcher = []string{"/usr/bin/python3", filepath.Join(b.dir, "ask.py")}
	b.write()
	return b
}

// heard returns what each process of the searcher was told, in the order of their starts.
func (b *sweepBench) heard() (out [][]string) {
	files, err := filepath.Glob(filepath.Join(b.dir, "log.*.*"))
	b.must(err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		b.must(err)
		out = append(out, strings.Split(strings.TrimSpace(string(text)), "\n"))
	}
	return out
}

// asked lists the trials for which the searcher was asked and answered: each may be there once.
func (b *sweepBench) checkAsked(trials int) {
	b.t.Helper()
	all := b.heard()
	last := all[len(all)-1]
	points := map[int]int{}
	var told []string
	for _, text := range last {
		var e struct {
			Event string
			Trial int
		}
		b.must(json.Unmarshal([]byte(text), &e))
		switch e.Event {
		case "point", "ask":
			points[e.Trial]++
		case "tell":
			told = append(told, text)
		}
	}
	for n := 1; n <= trials; n++ {
		if points[n] != 1 {
			b.t.Errorf("the last searcher learned of the point of trial %d %d times:\n%s", n, points[n], strings.Join(last, "\n"))
		}
	}
	seen := map[string]bool{}
	for _, text := range told {
		if seen[text] {
			b.t.Errorf("told twice: %s", text)
		}
		seen[text] = true
	}
	// Each process is told the same as the one before it, in the same order, and more.
	for i, one := range all[:len(all)-1] {
		var before, after []string
		for _, text := range one {
			if strings.Contains(text, `"event":"tell"`) {
				before = append(before, text)
			}
		}
		for _, text := range all[i+1] {
			if strings.Contains(text, `"event":"tell"`) {
				after = append(after, text)
			}
		}
		if len(after) < len(before) || strings.Join(after[:len(before)], "\n") != strings.Join(before, "\n") {
			b.t.Errorf("process %d was told\n%s\nand the next\n%s", i, strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
	}
}

// TestAsk: the points of a sweep are those that a program of the user's answers, whatever it does once:
// it dies, prints something else, or a point that is not of the space. It has no more points than it says.
func TestAsk(t *testing.T) {
	for _, faults := range []string{"", "dies babbles strays"} {
		t.Run(faults, func(t *testing.T) {
			b := newAskBench(t, func(s *sweep.Sweep) { s.Trials = 9 })
			b.slurm([]int{101}, nil)
			b.starts()
			cmd := b.lane(101, 0, "FAULTS="+faults, "MOST=4")
			v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.Exhausted })
			b.must(cmd.Wait())
			if len(v.Book.Trials) != 4 {
				t.Errorf("%+v", v.row())
			}
			for _, trial := range v.Book.Trials {
				if trial.Point != fmt.Sprintf("x=%d", trial.Number) || trial.State != book.Done || trial.Start != 1 {
					t.Errorf("%+v", trial)
				}
			}
			b.checkAsked(4)
		})
	}
}

// TestAskMoves: where the lane that asks goes away, and sluiced is started again, another lane takes over:
// its searcher is told the same, and is not asked again for what was answered.
func TestAskMoves(t *testing.T) {
	b := newAskBench(t, func(s *sweep.Sweep) { s.Parallel, s.Trials, s.Tries = 2, 6, []string{"x=40"} })
	b.slurm([]int{101, 102}, nil)
	b.starts()
	first := b.lane(101, 0, "PAUSE=0.2")
	b.until("two trials", func(v *sweepView) bool { return len(v.Book.Trials) >= 2 })
	second := b.lane(102, 0, "PAUSE=0.05")
	b.until("the second lane to run a trial", func(v *sweepView) bool { return len(v.Book.Trials) >= 3 })
	b.stop()
	b.must(first.Process.Kill())
	first.Wait()
	b.slurm([]int{102}, nil)
	b.starts()
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(second.Wait())
	for _, trial := range v.Book.Trials {
		want := fmt.Sprintf("x=%d", trial.Number)
		if trial.Number == 1 {
			want = "x=40"
		}
		if trial.Point != want || trial.State != book.Done {
			t.Errorf("%+v", trial)
		}
	}
	b.checkAsked(6)
	if n := len(b.heard()); n != 2 {
		t.Errorf("%d processes searched", n)
	}
}

// TestAskExplained: a searcher that does not answer holds up no trial, and explain says what is wrong.
func TestAskExplained(t *testing.T) {
	b := newAskBench(t, func(s *sweep.Sweep) {})
	b.sweep.Searcher = []string{"/bin/sh", "-c", "echo no such sampler >&2; exit 3"}
	b.write()
	b.slurm([]int{101}, nil)
	b.starts()
	b.lane(101, 0)
	b.until("a status", func(v *sweepView) bool { return v.searcher().Failures > 0 })
	var out strings.Builder
	cmd := &sweepCall{cmd: newSweepCommand()}
	cmd.cmd.SetOut(&out)
	b.must(cmd.explain(b.view()))
	if !strings.Contains(out.String(), "searcher: failed") || !strings.Contains(out.String(), "exit code 3: no such sampler") {
		t.Errorf("%s", out.String())
	}
}

// TestOptunaSweep: a sampler of Optuna searches, trials that fall behind are told as pruned, and the journal
// has each trial once, although the process that searches is killed in between.
func TestOptunaSweep(t *testing.T) {
	python := pythontest.Optuna(t)
	b := newAskBench(t, func(s *sweep.Sweep) {
		s.Algorithm, s.Trials, s.Epochs, s.Params = "asha+ask", 8, 4, []string{"x=float:1:2", "opt=choice:sgd,adamw", "m=float:0:1 if opt=sgd"}
	})
	journal := filepath.Join(b.dir, "journal.log")
	b.sweep.Searcher = []string{python, "-m", "sluice.optuna", "--sampler", "TPESampler", "--option", "n_startup_trials=3", "--storage", journal}
	b.write()
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0)
	b.until("three trials", func(v *sweepView) bool { return len(v.Book.Trials) >= 3 })
	killed := 0
	b.must(eachProcess(func(pid int, argv []string) {
		if slices.Contains(argv, journal) {
			killed++
			b.must(syscall.Kill(pid, syscall.SIGKILL))
		}
	}))
	if killed != 1 {
		t.Errorf("%d searchers ran", killed)
	}
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	if len(v.Book.Trials) != 8 {
		t.Errorf("%+v", v.row())
	}
	out, err := exec.Command(python, "-c", `import json, sys, optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
study = optuna.load_study(study_name="sluice-101", storage=JournalStorage(JournalFileBackend(sys.argv[1])))
print(json.dumps([[t.user_attrs["sluice_trial"], t.state.name, t.params["x"]] for t in study.trials if "sluice_trial" in t.user_attrs]))`, journal).Output()
	b.must(err)
	var told [][]any
	b.must(json.Unmarshal(out, &told))
	seen := map[float64]bool{}
	for _, one := range told {
		number := one[0].(float64)
		if seen[number] {
			t.Errorf("trial %v is in the journal twice", number)
		}
		seen[number] = true
		if trial := v.Book.Trial(int(number)); trial == nil || !strings.Contains(trial.Point, fmt.Sprintf("x=%v", one[2])) {
			t.Errorf("%v in the journal is %+v", one, trial)
		}
	}
	if len(seen) != 8 {
		t.Errorf("the journal has %v", told)
	}
}

// eachProcess goes through the processes of this machine.
func eachProcess(visit func(pid int, argv []string)) error {
	entries, err := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")) // it may have ended
			visit(pid, strings.Split(string(line), "\x00"))
		}
	}
	return err
}
