package workload_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// data is a path within the published data, which is not part of the project.
func data(t testing.TB, parts ...string) string {
	t.Helper()
	dir := os.Getenv("SLUICE_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED: no published data (%v); set SLUICE_DATA to the directory that holds testbench-a and testbench-b", err)
	}
	return filepath.Join(append([]string{dir}, parts...)...)
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*math.Abs(b) }

// TestPublishedEpochs: seconds of an epoch as the published simulator gives them
// (petuum/adaptdl osdi21-artifact, simulator/applications.py and simulator.py,
// with scipy 1.17): step time with accumulation, times the iterations that its
// accounting of progress needs, over the epochs. Splits of more than four nodes
// depend on the triangulation that scipy happens to find.
func TestPublishedEpochs(t *testing.T) {
	profiles, err := workload.OpenProfiles(data(t, "testbench-a", "profiles"))
	if err != nil {
		t.Fatal(err)
	}
	even := func(nodes int) []int { return slices.Repeat([]int{4}, nodes) }
	for _, c := range []struct {
		application      string
		batch            int
		split            []int
		seconds, percent float64
	}{
		{"cifar10", 2048, []int{4, 4}, 8.689923344741878, 0},
		{"cifar10", 2048, []int{1, 2, 1, 3}, 8.076973626067796, 0},
		{"cifar10", 2048, []int{2, 1, 3, 1}, 8.076973626067796, 0}, // the same ring
		{"bert", 384, []int{1}, 6917.803199275792, 0},              // 32 passes
		{"yolov3", 64, []int{4}, 282.0003779107649, 0},             // at most 8 a GPU
		{"imagenet", 6400, even(4), 581.1896662944497, 0},
		{"ncf", 32768, []int{1}, 4.5935352327208765, 0}, // one GPU takes two passes
		{"deepspeech2", 640, []int{1, 2}, 116.0285631294629, 0},
		{"cifar10", 4096, []int{3}, 22.12178035475998, 0}, // 683 a GPU would pass the most
		{"imagenet", 3200, even(8), 330.6572056202328, 1e-12},
		{"imagenet", 6400, even(12), 218.75305519734954, 1e-12},
		{"bert", 384, even(6), 582.4062030865844, 1e-12},
	} {
		f, err := profiles.Speeds(c.application, c.batch)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Seconds(c.split); !near(got, c.seconds, c.percent/100+1e-12) {
			t.Errorf("%s at %d on %v: %v s an epoch, published %v", c.application, c.batch, c.split, got, c.seconds)
		}
	}
}

// TestPublishedWorkloads: every job can run on one GPU, and the work in all is
// what it was when it was first read.
func TestPublishedWorkloads(t *testing.T) {
	profiles, err := workload.OpenProfiles(data(t, "testbench-a", "profiles"))
	if err != nil {
		t.Fatal(err)
	}
	for name, hours := range map[string]float64{"workload-1": 1037.15, "workload-2": 921.49, "workload-3": 392.22, "workload-4": 1048.36} {
		w, err := workload.ReadPolluxWith(data(t, "testbench-a", "workloads", name+".csv"), profiles)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for j := range w.Jobs {
			sum += j.Speeds.Seconds([]int{1}) * j.Spec.Total / 3600
			for n := 1; n <= j.Spec.Max; n++ {
				checkRuns(t, j, n)
			}
		}
		if w.Count != 160 || !near(sum, hours, 1e-4) {
			t.Errorf("%s: %d jobs of %.2f hours on one GPU, want 160 of %v", name, w.Count, sum, hours)
		}
	}
}

// checkRuns checks that a job can run on n GPUs, packed four a node and spread.
func checkRuns(t *testing.T, j workload.Job, n int) {
	t.Helper()
	packed := slices.Repeat([]int{4}, n/4)
	if n%4 > 0 {
		packed = append(packed, n%4)
	}
	spread := slices.Repeat([]int{1}, min(n, 16))
	for i := range max(0, n-16) {
		spread[i%16]++
	}
	for _, split := range [][]int{packed, spread} {
		if s := j.Speeds.Seconds(split); !(s > 0) || math.IsInf(s, 0) {
			t.Fatalf("%s on %v: %v s a unit", j.Name, split, s)
		}
	}
}

func TestPublishedTraces(t *testing.T) {
	for trace, gpus := range map[string]string{"195job": "A100", "elasticVpollux_e": "T4"} {
		w, err := workload.ReadElasticFlow(data(t, "testbench-b", "traces", trace+".csv"), data(t, "testbench-b", "throughputs", gpus))
		if err != nil {
			t.Fatal(err)
		}
		if w.Count != 195 {
			t.Errorf("%s: %d jobs, want 195", trace, w.Count)
		}
		for j := range w.Jobs {
			if s := j.Speeds.Seconds([]int{j.Asked}); math.IsInf(s, 0) || j.Deadline <= j.Submit {
				t.Errorf("%s: job %s on the %d GPUs asked for: %v s a step, from %v to %v", trace, j.Name, j.Asked, s, j.Submit, j.Deadline)
			}
		}
	}
}
