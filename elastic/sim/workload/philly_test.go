package workload_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

const phillyLog = "testdata/traces/philly.json"

func TestReadPhillyHistory(t *testing.T) {
	h, err := workload.ReadPhillyHistory(phillyLog, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Run{
		{ID: "application_2", User: "u2", Account: "bb", Partition: "bb", Start: time.Minute, End: 6 * time.Minute, Took: 5 * time.Minute, GPUs: 1, Nodes: 1},
		// Ten minutes on two GPUs are five on the four of the longest attempt.
		{ID: "application_1", User: "u1", Account: "aa", Partition: "aa", Submit: 30 * time.Minute, Start: 40 * time.Minute, End: 2 * time.Hour,
			Took: 65 * time.Minute, GPUs: 4, Nodes: 2},
	}
	if !reflect.DeepEqual(h.Runs, want) {
		t.Errorf("runs\n%+v\nwant\n%+v", h.Runs, want)
	}
	skipped := []workload.Count{{What: workload.SkipNoGPU, N: 1}, {What: workload.SkipUnstarted, N: 2}, {What: workload.SkipRunning, N: 1}, {What: workload.SkipInstant, N: 1}}
	if !slices.Equal(h.Skipped, skipped) {
		t.Errorf("skipped %v, want %v", h.Skipped, skipped)
	}
	if h.PeakGPUs != 7 || h.PerNode != 2 || h.MostNodes != 2 || h.First.Format(time.DateTime) != "2017-10-07 00:30:00" {
		t.Errorf("%+v", h)
	}
}

func TestReadPhilly(t *testing.T) {
	w, h, err := workload.ReadPhilly(phillyLog, workload.Likely)
	if err != nil {
		t.Fatal(err)
	}
	jobs := slices.Collect(w.Jobs)
	if w.Count != 2 || len(jobs) != 2 || w.Note == "" {
		t.Fatalf("%+v: %d jobs", w, len(jobs))
	}
	for i, j := range jobs {
		r := h.Runs[i]
		split := slices.Repeat([]int{r.GPUs / r.Nodes}, r.Nodes)
		if took := j.Speeds.Seconds(split) * j.Spec.Total; !near(took, r.Took.Seconds(), 1e-9) || j.Asked != r.GPUs {
			t.Errorf("%s takes %v s on the %v it had, want %v", j.Name, took, split, r.Took)
		}
	}
}

func TestPhillyClusters(t *testing.T) {
	h, err := workload.ReadPhillyHistory(phillyLog, []string{"bb"})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Runs) != 1 || h.Runs[0].Partition != "bb" || h.Skipped[0] != (workload.Count{What: workload.SkipPartition, N: 6}) {
		t.Errorf("%+v", h)
	}
}

func TestPhillyErrors(t *testing.T) {
	const attempt = `"attempts":[{"start_time":"2017-10-07 01:10:00","end_time":"2017-10-07 02:10:00","detail":[{"gpus":["gpu0"]}]}]`
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "log.json:1:1: the file ends before the list of jobs does"},
		{"another thing", `{"jobs":[]}`, "log.json:1:1: want a list of jobs, as in cluster_job_log"},
		{"no jobs", "[]", "log.json: no finished job on GPUs among 0"},
		{"cut off", "[\n {\"jobid\":\"a\"},\n", "log.json:3:1: the file ends before the list of jobs does"},
		{"cut off in a job", "[\n {\"jobid\":\n", "log.json:2:2: the file ends before"},
		{"no JSON", "[\n {\"jobid\":\"a\"},\n {jobid:1}]", "log.json:3:2: invalid character 'j'"},
		{"a number for a name", "[\n {\"jobid\":7}]", "log.json:2:2: json: cannot unmarshal number"},
		{"a time that is none", "[\n {\"submitted_time\":\"today\"}]", `log.json:2:2: time "today": want one such as 2017-10-07 01:11:39`},
		{"no submit", "[{\"jobid\":\"a\"," + attempt + "}]", `log.json:1:2: job "a" has no submitted_time`},
	} {
		path := filepath.Join(t.TempDir(), "log.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := workload.ReadPhillyHistory(path, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// FuzzPhilly: no log panics or hangs, and every run that is read makes sense.
func FuzzPhilly(f *testing.F) {
	text, err := os.ReadFile(phillyLog)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`[{"attempts":[{"start_time":"1970-01-01 00:00:00","end_time":"2200-12-31 23:59:59","detail":[{"gpus":["",""]}]}],"submitted_time":"2200-01-01 00:00:00"}]`))
	path := filepath.Join(f.TempDir(), "log.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := workload.ReadPhillyHistory(path, nil)
		if err != nil {
			return
		}
		for _, r := range h.Runs {
			if r.Submit < 0 || r.Start < r.Submit || r.GPUs < 1 || r.Nodes < 1 || r.Nodes > r.GPUs || r.Took <= 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}
