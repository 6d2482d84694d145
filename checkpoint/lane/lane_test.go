package lane

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// newLane is a lane with folders of its own, whose ask has this answer.
func newLane(t *testing.T, tell sweep.Tell) (*lane, sweep.Ask) {
	t.Helper()
	dir := t.TempDir()
	l := &lane{Config: Config{Sweep: filepath.Join(dir, "sweep"), Now: time.Now, Stdout: os.Stdout, Stderr: os.Stderr}.WithDefaults(),
		folder: filepath.Join(dir, "lane"), outbox: filepath.Join(dir, "outbox"), sweep: sweep.Sweep{Token: strings.Repeat("a", 32), Metric: sweep.Metric{Name: "acc", Max: true}}}
	for _, d := range []string{l.folder, l.outbox, l.Sweep} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ask := sweep.NewAsk(l.sweep.Token, 7, 0, time.Now())
	data, err := ask.Seal(tell)
	if err == nil {
		err = os.WriteFile(filepath.Join(l.outbox, sweep.TellFile), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l, ask
}

// saved makes a checkpoint of a trial, and returns its folder.
func (l *lane) saved(t *testing.T, n int) string {
	t.Helper()
	folder := filepath.Join(l.Sweep, sweep.Trials, sweep.TrialToken(l.sweep.Token, n))
	if err := os.MkdirAll(filepath.Join(folder, checkpoint.Checkpoints, "00000001"), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestHostable: a process trains many trials if no parameter is on the script's command lines, and never
// where each trial is a job, or its metric is found in its output.
func TestHostable(t *testing.T) {
	for _, c := range []struct {
		script           string
		own, regex, want bool
	}{{"python3 train.py", false, false, true}, {"python3 train.py --lr {lr}", false, false, false}, {"python3 train.py", true, false, false}, {"python3 train.py", false, true, false}} {
		l := &lane{script: []byte(c.script), sweep: sweep.Sweep{OwnJobs: c.own}}
		if c.regex {
			l.metric = regexp.MustCompile("acc=(.*)")
		}
		if got := l.hostable(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func events(t *testing.T, l *lane) (out []sweep.Event) {
	t.Helper()
	data, _ := os.ReadFile(filepath.Join(l.folder, sweep.EventFile)) // none yet
	for line := range strings.Lines(string(data)) {
		e, err := sweep.ParseEvent([]byte(strings.TrimSpace(line)))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// TestDrop: checkpoints are removed that sluiced names, but not those of a trial that runs again, nor
// those that sluiced does not name any more once the trial's folder is locked.
func TestDrop(t *testing.T) {
	l, ask := newLane(t, sweep.Tell{Trial: 9, Start: 1, Drop: []int{1, 2}})
	for n := 1; n <= 3; n++ {
		l.saved(t, n)
	}
	running, err := lock(l.saved(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	l.drop(ask, []int{1, 2, 3}) // 3 was named when this was read, and is not any more
	for n, want := range map[int]bool{1: false, 2: true, 3: true} {
		_, err := os.Stat(filepath.Join(l.Sweep, sweep.Trials, sweep.TrialToken(l.sweep.Token, n), checkpoint.Checkpoints))
		if is := err == nil; is != want {
			t.Errorf("trial %d has checkpoints: %v, want %v", n, is, want)
		}
	}
	if e := events(t, l); len(e) != 1 || e[0].Kind != sweep.Dropped || e[0].Trial != 1 {
		t.Errorf("%+v", e)
	}
	running.Close()
	l.drop(ask, []int{2})
	if e := events(t, l); len(e) != 2 || e[1].Trial != 2 {
		t.Errorf("once it does not run: %+v", e)
	}
}

// TestEpochs: a program may count from 0, by steps, or not at all.
func TestEpochs(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		want  []float64
	}{
		"from 0":           {`"epoch":0,"step":100,"done":0|"epoch":1,"step":200,"done":1`, []float64{0, 1}},
		"from 1":           {`"epoch":1,"done":1|"epoch":2,"done":2`, []float64{1, 2}},
		"steps from 0":     {`"step":0,"done":0|"step":50,"done":0`, []float64{0, 50}},
		"parts of epochs":  {`"done":0.5|"done":1`, []float64{.5, 1}},
		"nothing":          {`"done":0|"done":0|"done":0`, []float64{1, 2, 3}},
		"nothing any more": {`"done":7|"done":7`, []float64{7, 8}},
		"out of order":     {`"epoch":3,"done":3|"epoch":2,"done":2|"epoch":4,"done":4`, []float64{3, 4}},
	} {
		l, _ := newLane(t, sweep.Tell{})
		one := &trial{lane: l, tell: sweep.Tell{Trial: 1, Start: 1}}
		for line := range strings.SplitSeq(c.lines, "|") {
			p, err := checkpoint.ParseProgress([]byte(`{"time":1,"restarts":0,"event":"progress","metric":{"acc":0.5},` + line + "}"))
			if err != nil {
				t.Fatal(err)
			}
			one.line(p)
		}
		var got []float64
		for _, e := range events(t, l) {
			got = append(got, e.Epoch)
		}
		if x, _ := json.Marshal(got); string(x) != string(must(json.Marshal(c.want))) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
