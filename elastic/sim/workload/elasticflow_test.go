package workload_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

const toyThroughputs = "testdata/throughputs"

func TestReadElasticFlow(t *testing.T) {
	w, err := workload.ReadElasticFlow("testdata/traces/elasticflow-long.csv", toyThroughputs)
	if err != nil {
		t.Fatal(err)
	}
	jobs := slices.Collect(w.Jobs)
	if w.Count != 2 || len(jobs) != 2 || w.Name != "elasticflow-long" {
		t.Fatalf("%+v: %d jobs", w, len(jobs))
	}
	a, b := jobs[0], jobs[1]
	if a.Name != "a" || a.Submit != 0 || a.Deadline != 1000*time.Second || b.Submit != 100*time.Second || b.Deadline != 300*time.Second {
		t.Errorf("%s from %v to %v, then %s from %v to %v", a.Name, a.Submit, a.Deadline, b.Name, b.Submit, b.Deadline)
	}
	if s := a.Spec; !slices.Equal(s.Sizes, []int{1, 2, 4}) || s.Min != 1 || s.Max != 4 || s.Total != 100 || s.Unit != elastic.Steps || s.Model != "net-64" {
		t.Errorf("a: %+v", s)
	}
	if s := b.Spec; !slices.Equal(s.Sizes, []int{2, 8}) || s.Min != 2 || b.Asked != 2 {
		t.Errorf("b cannot run on 1 nor 4 GPUs: %+v, asked %d", s, b.Asked)
	}
	for _, c := range []struct {
		split []int
		want  float64
	}{{[]int{1}, .5}, {[]int{2, 2}, .2}, {[]int{4}, .2}, {[]int{3}, math.Inf(1)}, {[]int{8}, math.Inf(1)}, {nil, math.Inf(1)}} {
		if got := a.Speeds.Seconds(c.split); got != c.want {
			t.Errorf("a on %v: %v s a step, want %v", c.split, got, c.want)
		}
	}
}

// TestElasticFlowSpellings: the other names of the columns.
func TestElasticFlowSpellings(t *testing.T) {
	w, err := workload.ReadElasticFlow("testdata/traces/elasticflow-short.csv", toyThroughputs)
	if err != nil {
		t.Fatal(err)
	}
	for j := range w.Jobs {
		if j.Spec.Total != 100 || j.Deadline != 1000*time.Second || j.Asked != 4 {
			t.Errorf("%+v; it took 16 GPUs, and 4 is the most that run", j)
		}
	}
}

func TestElasticFlowErrors(t *testing.T) {
	const header = "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu\n"
	for _, c := range []struct{ name, trace, table, want string }{
		{"no such model", header + "0,1,2,other,3,64,1\n", "", `trace.csv:2: model "other": open`},
		{"no such batch", header + "0,1,2,net,3,65,1\n", "", `trace.csv:2: model "net" has no row for global batch 65 in`},
		{"a batch that runs nowhere", header + "0,1,2,net,3,256,1\n", "", "has no row for global batch 256"},
		{"a path for a model", header + "0,1,2,../net,3,64,1\n", "", "want the name of a file in"},
		{"due before it comes", header + "0,5,2,net,5,64,1\n", "", `trace.csv:2:11: ddl is "5"; want a time after the job's submit`},
		{"no work", header + "0,5,0,net,6,64,1\n", "", `iteration is "0"; want a number from 1`},
		{"a column is missing", "job_id,iteration\n", "", "trace.csv:1: no column submit_time or submission_time among job_id,iteration"},
		{"no GPUs in the table", header + "0,1,2,net,3,64,1\n", "global_batch_size,gpus\n64,1\n", "net.csv:1: want a column for each number of GPUs, such as 1,2,4"},
		{"a column twice", header + "0,1,2,net,3,64,1\n", "global_batch_size,1,1\n64,1,1\n", "net.csv:1: want a column for each number of GPUs"},
		{"a row twice", header + "0,1,2,net,3,64,1\n", "global_batch_size,1\n64,1\n64,1\n", `net.csv:3:1: global_batch_size is "64"; this batch has a row already`},
		{"a speed that is none", header + "0,1,2,net,3,64,1\n", "global_batch_size,1\n64,quick\n", `net.csv:2:4: 1 is "quick"; want a number from 0`},
		{"a negative speed", header + "0,1,2,net,3,64,1\n", "global_batch_size,1\n64,-1\n", `1 is "-1"`},
	} {
		dir := t.TempDir()
		if c.table == "" {
			text, err := os.ReadFile(filepath.Join(toyThroughputs, "net.csv"))
			if err != nil {
				t.Fatal(err)
			}
			c.table = string(text)
		}
		path := filepath.Join(dir, "trace.csv")
		for name, text := range map[string]string{path: c.trace, filepath.Join(dir, "net.csv"): c.table} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := workload.ReadElasticFlow(path, dir)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// FuzzElasticFlow: no text of a trace or a table panics or hangs, and every job
// that is read can run.
func FuzzElasticFlow(f *testing.F) {
	const header = "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu\n"
	f.Add(header+"0,1,2,net,3,64,1\n", "global_batch_size,1,2,4\n64,1,nan,\n")
	f.Add(header+"0,1e9,2,net,1e9,64,1\n", "\xef\xbb\xbfglobal_batch_size,8\n64,1e-300\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, trace, table string) {
		path := filepath.Join(dir, "trace.csv")
		for name, text := range map[string]string{path: trace, filepath.Join(dir, "net.csv"): table} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w, err := workload.ReadElasticFlow(path, dir)
		if err != nil {
			return
		}
		for j := range w.Jobs {
			if s := j.Speeds.Seconds([]int{j.Asked}); !(s > 0) || math.IsInf(s, 0) || j.Deadline <= j.Submit || j.Submit < 0 {
				t.Errorf("%+v takes %v s a step", j, s)
			}
		}
	})
}
