package bench

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/python"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/whole"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/etc"
)

func liveOf(t *testing.T, name string) *live {
	t.Helper()
	w, err := workload.Generate(name, 1, workload.Options{Jobs: 8})
	if err != nil {
		t.Fatal(err)
	}
	return &live{
		o:    LiveOptions{Figures: io.Discard, Story: io.Discard}.withDefaults(),
		jobs: hasten(w, 60),
		price: elastic.Price{
			Save: 400 * time.Millisecond, Drain: 600 * time.Millisecond, Start: 1500 * time.Millisecond, Load: 300 * time.Millisecond,
		},
	}
}

func TestHasten(t *testing.T) {
	w, err := workload.Generate("w2@10m", 1, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	slow, fast := slices.Collect(w.Jobs), slices.Collect(hasten(w, 60).Jobs)
	for i := range slow {
		if fast[i].Submit != slow[i].Submit/60 && fast[i].Submit-slow[i].Submit/60 > time.Microsecond {
			t.Errorf("job %d comes at %v, want %v", i, fast[i].Submit, slow[i].Submit/60)
		}
		split := []int{4, 2}
		if got, want := fast[i].Speeds.Seconds(split), slow[i].Speeds.Seconds(split)/60; got != want {
			t.Errorf("job %d: %v s a unit, want %v", i, got, want)
		}
		if fast[i].Spec.Total != slow[i].Spec.Total {
			t.Errorf("job %d has another amount of work", i)
		}
	}
}

// Moves simulated after the fit cost what was measured.
func TestFit(t *testing.T) {
	l := liveOf(t, "w1@10m")
	if err := l.fit(context.Background()); err != nil {
		t.Fatal(err)
	}
	p, err := policy.ByName("knapsack")
	if err != nil {
		t.Fatal(err)
	}
	out, err := whole.Simulate(context.Background(), l.simulation(p), l.jobs)
	if err != nil {
		t.Fatal(err)
	}
	if off := out.Price.Total() - l.price.Total(); off.Abs() > 300*time.Millisecond {
		t.Errorf("a simulated move costs %v after the fit, want %v", out.Price, l.price)
	}
}

func TestPredict(t *testing.T) {
	l := liveOf(t, "w1@10m")
	if err := l.fit(context.Background()); err != nil {
		t.Fatal(err)
	}
	p, err := policy.ByName("fcfs")
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.predict(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if ratio := got.whole / got.replay; ratio < 0.95 || ratio > 1.05 || got.wholeRestarts != 0 {
		t.Errorf("got %+v: want two predictions alike, and no restarts under fcfs", got)
	}
}

func TestLiveConfigIsValid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluice.toml")
	if err := os.WriteFile(path, []byte(liveConfig("ef", elastic.Price{Load: 1500 * time.Microsecond})), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := etc.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Policy.Name != "ef" || c.Cycle.Period != livePeriod || c.Resize.Payback != liveLimits.Payback || c.Resize.Load != 1500*time.Microsecond {
		t.Errorf("got %+v", c)
	}
}

func TestSubmitOptions(t *testing.T) {
	got := strings.Join(submitOptions(workload.Job{Name: "j", Spec: elastic.Spec{Min: 2, Max: 4, AllowUneven: true, Total: 1e6, Model: "m"}}), " ")
	if want := "--job-name=j --output=j.out --min-gpus=2 --epochs=1000000 --max-gpus=4 --allow-uneven --model=m"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSpeedTable(t *testing.T) {
	table := speedTable(workload.Assumed{Unit: 8})
	if len(table) != 4+16+64 || table["4,4,4"] != 8.0/12 || table["1"] != 8 || table["1,3"] != 2 {
		t.Errorf("got %v", table)
	}
}

func TestParseEnds(t *testing.T) {
	tests := map[string]struct {
		text, failed string
		ended        int
		bad          bool
	}{
		"running":   {text: "1 RUNNING N/A job1\n2 PENDING 1700000000 job2"},
		"some over": {text: "1 COMPLETED 1700000000 job1\n2 COMPLETING 1700000000 job2\n", ended: 1},
		"failed":    {text: "1 FAILED 1700000000 job1", failed: "job1"},
		"cancelled": {text: "1 CANCELLED 1700000000 job1", failed: "job1"},
		"no time":   {text: "1 COMPLETED N/A job1", bad: true},
		"empty":     {text: "", bad: true},
		"garbage":   {text: "slurm_load_jobs error", bad: true},
	}
	for name, tc := range tests {
		ends, failed, err := parseEnds(tc.text)
		if len(ends) != tc.ended || failed != tc.failed || (err != nil) != tc.bad {
			t.Errorf("%s: got %v, %q, %v", name, ends, failed, err)
		}
	}
}

// The emulated training takes the time in its table, saves on request, continues if it is
// not stopped, and resumes from its checkpoint.
func TestEmulatedTraining(t *testing.T) {
	dir := t.TempDir()
	if err := python.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	write := func(name string, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	speeds, _ := json.Marshal(speedTable(workload.Assumed{Unit: 2}))
	args := []string{"-S", "-u", write("train.py", train), write("speeds.json", string(speeds)), "2"}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed: the emulated training is not tried")
	}
	jobDir := filepath.Join(dir, "job")
	if err := os.MkdirAll(filepath.Join(jobDir, "checkpoints"), 0o700); err != nil {
		t.Fatal(err)
	}
	start := func(more ...string) *exec.Cmd {
		cmd := exec.Command("python3", args...)
		cmd.Env = append(os.Environ(), append([]string{"PYTHONPATH=" + dir, "SLUICE_SPLIT=gpu1:1,gpu3:1", "SLUICE_GPUS=2", "SLUICE_NODES=2",
			"SLUICE_JOB_DIR=" + jobDir, "SLUICE_CHECKPOINTS=" + filepath.Join(jobDir, "checkpoints"), "SLUICE_REQUEST=" + filepath.Join(dir, "request.json")}, more...)...)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	began := time.Now()
	cmd := start()
	defer func() { _ = cmd.Process.Kill() }()
	request := write("request.json", `{"request":"r1"}`)
	manifest := filepath.Join(jobDir, "checkpoints", "00000001", "manifest.json")
	for i := 0; ; i++ {
		if _, err := os.Stat(manifest); err == nil {
			break
		}
		if i > 1000 {
			t.Fatal("no checkpoint after the request")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := os.Remove(request); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("took %v for 2 units of 1 s", took)
	}
	log, err := os.ReadFile(filepath.Join(jobDir, "progress.jsonl"))
	if err != nil || !strings.Contains(string(log), `"hello"`) || !strings.Contains(string(log), `"finished"`) || !strings.Contains(string(log), `"gpus": 2`) {
		t.Errorf("progress: %v\n%s", err, log)
	}
	again := start("SLUICE_RESUME=" + filepath.Dir(manifest))
	if err := again.Wait(); err != nil {
		t.Fatal(err)
	}
	log, _ = os.ReadFile(filepath.Join(jobDir, "progress.jsonl"))
	if !strings.Contains(string(log), `"resumed"`) {
		t.Errorf("it did not resume:\n%s", log)
	}
}

func TestLiveDefaults(t *testing.T) {
	o := LiveOptions{}.withDefaults()
	if o.Jobs != 20 || o.Faster != 60 || !slices.Equal(o.Policies, []string{"fcfs", "ef", "knapsack", "lookahead"}) {
		t.Errorf("got %+v", o)
	}
}
