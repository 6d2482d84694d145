package metrics

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// laneOf returns the report of a lane with so many GPUs; 0 = it waits.
func laneOf(id, gpus int, token string) publish.JobReport {
	jr := jobOf(id, gpus)
	if gpus == 0 {
		jr.Job = &elastic.Job{ID: elastic.JobID(id), Phase: elastic.Waiting}
	}
	jr.Record.Tag.Spec.Sweep = token
	return jr
}

// TestSweeps: sweeps, trials and lanes are counted by state, and trials that end once each, not those
// that had ended when the daemon started.
func TestSweeps(t *testing.T) {
	m := newMetrics(t, Options{Jobs: true})
	best := -0.5
	known := map[string]Sweep{
		"a": {Number: 1, Metric: "loss", State: "running", Trials: map[string]int{"running": 2, "done": 5, "failed": 1}, Level: 2, Best: &best},
		"b": {Number: 4, Metric: "acc", State: "paused", Trials: map[string]int{"paused": 3, "waiting": 1}},
		"d": {Number: 6, Metric: "acc", State: "over", Trials: map[string]int{"done": 7}},
	}
	r := reportOf(noon, laneOf(1, 1, "a"), laneOf(2, 1, "a"), laneOf(3, 0, "a"), laneOf(4, 0, "b"), laneOf(5, 0, "c"))
	m.Sweeps(known)
	m.Cycle(r, time.Second, nil)
	wants(t, m, `sluice_sweeps{state="running"} 1`, `sluice_sweeps{state="paused"} 1`, `sluice_sweeps{state="over"} 1`, `sluice_sweeps{state="waiting"} 1`,
		`sluice_sweep_trials{state="done"} 12`, `sluice_sweep_trials{state="paused"} 3`, `sluice_sweep_trials{state="stopped"} 0`,
		`sluice_sweep_lanes{state="first"} 1`, `sluice_sweep_lanes{state="further"} 1`, `sluice_sweep_lanes{state="waiting"} 3`,
		`sluice_sweep_level{sweep="1"} 2`, `sluice_sweep_best{metric="loss",sweep="1"} -0.5`, `sluice_sweep_trials_ended_total{how="done"} 0`)
	a := known["a"]
	a.Trials = map[string]int{"done": 7, "failed": 2}
	for range 2 {
		m.Sweeps(map[string]Sweep{"a": a})
		m.Cycle(r, time.Second, nil)
	}
	m.Configure(Options{})
	m.Cycle(r, time.Second, nil)
	wants(t, m, `sluice_sweep_trials_ended_total{how="done"} 2`, `sluice_sweep_trials_ended_total{how="failed"} 1`)
	if text := scrape(t, m, ""); strings.Contains(text, "sluice_sweep_best{") || strings.Contains(text, `sweep="1"`) {
		t.Error("a sweep has series of its own although jobs are not asked for")
	}
	var none *Metrics
	none.Sweeps(known)
}

// TestSweepsWithoutALane: the time counts from the submission or from the loss of the last lane, and not
// while a sweep is paused or has a lane.
func TestSweepsWithoutALane(t *testing.T) {
	m := newMetrics(t, Options{})
	state, at := "waiting", noon
	step := func(minutes int, gpus int, want string) {
		t.Helper()
		at = at.Add(time.Duration(minutes) * time.Minute)
		m.Sweeps(map[string]Sweep{"a": {Number: 1, Metric: "acc", State: state}})
		m.Cycle(reportOf(at, laneOf(1, gpus, "a"), laneOf(2, 0, "a")), time.Second, nil)
		wants(t, m, "sluice_sweep_longest_without_lane_seconds "+want)
	}
	step(5, 0, "300") // since its submission
	step(5, 1, "0")
	step(5, 0, "0") // it has just lost it
	step(5, 0, "300")
	state = "paused"
	step(5, 0, "0")
	state = "waiting"
	step(5, 0, "0")
	step(1, 0, "60")
	held := laneOf(1, 0, "a")
	held.Job.UserHold = true
	later := laneOf(2, 0, "a")
	later.Record.Tag.Begin = at.Add(time.Hour)
	at = at.Add(time.Minute)
	m.Cycle(reportOf(at, held, later), time.Second, nil)
	wants(t, m, "sluice_sweep_longest_without_lane_seconds 0") // it is its user who waits
}

// TestSweepSeriesAreBounded: whatever the number of sweeps.
func TestSweepSeriesAreBounded(t *testing.T) {
	known := map[string]Sweep{}
	best := 1.0
	for i := range 3000 {
		known[fmt.Sprint("t", i)] = Sweep{Number: int64(i/2 + 1), UID: uint32(i % 2), Metric: fmt.Sprint("m", i), State: "running", Best: &best}
	}
	var g gauges
	g.sweeps(nil, known, 0, true)
	series := map[string]int{}
	for _, s := range g.list {
		key := s.Name + strings.Join(s.Labels, ",")
		if series[key]++; series[key] > 1 {
			t.Fatalf("%s twice", key)
		}
		series[s.Name]++
	}
	if series["sluice_sweep_best"] != mostSweeps || series["sluice_sweep_level"] != mostSweeps || g.list[len(g.list)-1].Labels[0] != "1401" {
		t.Errorf("%d and %d series, want %d of the newest: %v", series["sluice_sweep_best"], series["sluice_sweep_level"], mostSweeps, g.list[len(g.list)-1])
	}
}

// TestSweepAlert: Prometheus raises the alert for a sweep that has no lane while GPUs could be freed,
// and not where none could.
func TestSweepAlert(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("NOT TESTED: no promtool on PATH (Debian: apt-get install prometheus)")
	}
	rules, err := filepath.Abs("../../etc/prometheus-alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	text := "rule_files: [" + rules + "]\nevaluation_interval: 1m\ntests:\n"
	for _, c := range []struct {
		further string
		alerts  string
	}{{"2", "\n      exp_alerts:\n      - exp_labels: {severity: warning, instance: i, job: j}\n        exp_annotations: {summary: \"a sweep has had no lane for 40m 0s, though GPUs are idle or others' further lanes run\", description: \"'sluice sweep list' shows the sweeps, 'sluice explain JOB' says what its first lane waits for.\"}\n"}, {"0", "\n      exp_alerts: []\n"}} {
		text += `- interval: 1m
  input_series:
  - series: sluice_sweep_longest_without_lane_seconds{instance="i",job="j"}
    values: 0+60x60
  - series: sluice_gpus{instance="i",job="j",type="a100",use="idle"}
    values: 0x60
  - series: sluice_sweep_lanes{instance="i",job="j",state="further"}
    values: ` + c.further + `x60
  alert_rule_test:
    - eval_time: 40m
      alertname: SluiceSweepWithoutLane` + c.alerts
	}
	file := filepath.Join(t.TempDir(), "test.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
