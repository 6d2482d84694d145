package workload_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

var updateGenerated = flag.Bool("update-generated", false, "write testdata/generate/*.txt anew; read the diff before you commit it")

func generate(t testing.TB, name string, seed uint64, opts workload.Options) workload.Workload {
	t.Helper()
	w, err := workload.Generate(name, seed, opts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// alone is the job's run time on the split, by itself.
func alone(j workload.Job, split ...int) time.Duration {
	return time.Duration(j.Spec.Total * j.Speeds.Seconds(split) * float64(time.Second))
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "generate", name)
	if *updateGenerated {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (-update-generated writes it anew):\n%s", path, got)
	}
}

// TestGeneratedJobsAreKnownByHeart: the jobs of a seed never change, since figures
// are published with them.
func TestGeneratedJobsAreKnownByHeart(t *testing.T) {
	for _, name := range []string{"w1", "w4@10m", "powerlaw@20", "bursty@20", "power@0.5"} {
		w := generate(t, name, 1, workload.Options{GPUs: 64})
		var b strings.Builder
		fmt.Fprintf(&b, "%s seed %d: %d jobs; %s\n", w.Name, w.Seed, w.Count, w.Note)
		for j := range w.Jobs {
			fmt.Fprintf(&b, "%-6s %-6s %9.3f s  asked %2d  %d-%d %v  %8.3f %s of %-13s %.4f s\n", j.Name, j.User, j.Submit.Seconds(), j.Asked,
				j.Spec.Min, j.Spec.Max, j.Spec.Sizes, j.Spec.Total, j.Spec.Unit, j.Spec.Model, j.Speeds.Seconds([]int{1}))
		}
		golden(t, strings.ReplaceAll(name, "@", "-")+".txt", b.String())
	}
}

// TestEveryGenerator: what is promised of any workload.
func TestEveryGenerator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(workload.Generators()).Draw(t, "generator")
		opts := workload.Options{
			GPUs: rapid.IntRange(1, 300).Draw(t, "gpus"), PerNode: rapid.IntRange(1, 16).Draw(t, "per node"),
			Jobs: rapid.IntRange(1, 60).Draw(t, "jobs"), Load: rapid.Float64Range(.2, 3).Draw(t, "load"),
		}
		w, err := workload.Generate(g.Name, rapid.Uint64().Draw(t, "seed"), opts)
		if err != nil {
			t.Fatal(err)
		}
		first, second := slices.Collect(w.Jobs), slices.Collect(w.Jobs)
		if len(first) != w.Count || w.Count != opts.Jobs || w.Note == "" {
			t.Fatalf("%d jobs, Count %d, asked for %d; note %q", len(first), w.Count, opts.Jobs, w.Note)
		}
		names, last := map[string]bool{}, time.Duration(0)
		for i, j := range first {
			if fmt.Sprint(j) != fmt.Sprint(second[i]) || j.Speeds != second[i].Speeds {
				t.Fatalf("job %d is %v, and on the second walk %v", i, j, second[i])
			}
			checkJob(t, j, opts.GPUs)
			if names[j.Name] || j.Submit < last {
				t.Fatalf("job %q comes twice, or at %v before %v", j.Name, j.Submit, last)
			}
			names[j.Name], last = true, j.Submit
		}
	})
}

// checkJob: a spec that a user could have given, speeds that are numbers.
func checkJob(t *rapid.T, j workload.Job, gpus int) {
	spec := j.Spec
	spec.Token = strings.Repeat("0", 32)
	if err := spec.Validate(); err != nil {
		t.Fatalf("%s: %v", j.Name, err)
	}
	if spec.Total <= 0 || !spec.Allows(max(j.Asked, spec.Min), gpus) {
		t.Fatalf("%s: total %v, asked %d of %+v on %d", j.Name, spec.Total, j.Asked, spec, gpus)
	}
	for _, n := range spec.Options(gpus) {
		if s := j.Speeds.Seconds([]int{n}); !(s > 0) || math.IsInf(s, 0) {
			t.Fatalf("%s takes %v s a unit on %d GPUs", j.Name, s, n)
		}
	}
}

// TestSystemAsMix: every twenty jobs have the stated mix, sizes lie in their
// classes, and the time between jobs changes nothing but the time between jobs.
func TestSystemAsMix(t *testing.T) {
	bounds := []time.Duration{11 * time.Minute, 61 * time.Minute, 121 * time.Minute, 361 * time.Minute}
	for k, want := range [][]int{{8, 6, 4, 2}, {0, 12, 6, 2}, {0, 7, 7, 6}, {0, 2, 6, 12}} {
		name := fmt.Sprintf("w%d", k+1)
		for seed := range uint64(20) {
			jobs := slices.Collect(generate(t, name, seed, workload.Options{}).Jobs)
			slow := slices.Collect(generate(t, name+"@20m", seed, workload.Options{}).Jobs)
			got := make([]int, 4)
			for i, j := range jobs {
				size := alone(j, 1)
				if size < 6*time.Minute {
					t.Errorf("%s seed %d: a job of %v", name, seed, size)
				}
				got[slices.IndexFunc(bounds, func(b time.Duration) bool { return size < b })]++
				stretched := time.Duration(float64(j.Submit) * 20 / 15)
				if fmt.Sprint(j.Spec) != fmt.Sprint(slow[i].Spec) || (slow[i].Submit-stretched).Abs() > time.Second {
					t.Errorf("%s seed %d job %d: %+v, at 20 min %+v", name, seed, i, j, slow[i])
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s seed %d: mix %v, want %v", name, seed, got, want)
			}
		}
	}
}

// TestOfferedLoad: what the long run brings is the load asked for, in GPU time at
// the sizes asked for, however the jobs come.
func TestOfferedLoad(t *testing.T) {
	for _, tc := range []struct {
		name string
		opts workload.Options
		want float64
	}{
		{"powerlaw@200000", workload.Options{}, .8},
		{"bursty@200000", workload.Options{GPUs: 500, PerNode: 4}, .8},
		{"powerlaw:200000", workload.Options{GPUs: 64, Load: 1.5, PerNode: 4}, 1.5},
	} {
		gpus := tc.opts.GPUs
		if gpus == 0 {
			gpus = 10_000
		}
		perNode := max(tc.opts.PerNode, 4)
		if tc.opts.PerNode == 0 {
			perNode = 8
		}
		asked, last := 0.0, time.Duration(0)
		for j := range generate(t, tc.name, 7, tc.opts).Jobs {
			split := slices.Repeat([]int{j.Asked}, 1)
			if n := (j.Asked + perNode - 1) / perNode; n > 1 {
				split = slices.Repeat([]int{perNode}, n)
			}
			asked += float64(j.Asked) * alone(j, split...).Seconds()
			last = j.Submit
		}
		if got := asked / (float64(gpus) * last.Seconds()); math.Abs(got/tc.want-1) > .06 {
			t.Errorf("%s on %d GPUs: load %.3f, want %.3f", tc.name, gpus, got, tc.want)
		}
	}
}

// TestBurstyIsBursty: per quarter of an hour, counts of jobs vary far more than
// Poisson's, and days are busier than nights.
func TestBurstyIsBursty(t *testing.T) {
	spread := func(name string) (dispersion, dayOverNight float64) {
		counts, byHour := map[int]float64{}, [24]float64{}
		last := 0
		for j := range generate(t, name, 3, workload.Options{}).Jobs {
			last = int(j.Submit / (15 * time.Minute))
			counts[last]++
			byHour[int(j.Submit/time.Hour+8)%24]++
		}
		sum, squares := 0.0, 0.0
		for i := range last {
			sum += counts[i]
			squares += counts[i] * counts[i]
		}
		mean := sum / float64(last)
		return (squares/float64(last) - mean*mean) / mean, (byHour[14] + byHour[15] + byHour[16]) / (byHour[2] + byHour[3] + byHour[4])
	}
	if d, day := spread("powerlaw@300000"); d > 1.3 || day > 1.1 || day < .9 {
		t.Errorf("powerlaw: dispersion %.2f, day over night %.2f", d, day)
	}
	if d, day := spread("bursty@300000"); d < 20 || day < 2 || day > 8 {
		t.Errorf("bursty: dispersion %.2f, day over night %.2f", d, day)
	}
}

func TestNoSuchWorkload(t *testing.T) {
	for _, tc := range []struct {
		name string
		opts workload.Options
		want string
	}{
		{"w9", workload.Options{}, `workload "w9": no such generator; there are w1, w2, w3, w4, powerlaw, bursty, power`},
		{"", workload.Options{}, "no such generator"},
		{"w1@", workload.Options{}, `nothing follows "@"`},
		{"w1@-5m", workload.Options{}, `mean time between jobs "-5m": want such as 15m`},
		{"w1@15", workload.Options{}, "want such as 15m"},
		{"powerlaw@many", workload.Options{}, `"many" jobs: want a number from 1 to 10000000`},
		{"bursty:99999999999", workload.Options{}, "want a number"},
		{"power@1", workload.Options{}, "want a number between 0 and 1"},
		{"power@nan", workload.Options{}, "want a number between 0 and 1"},
		{"w1", workload.Options{Jobs: -1}, "-1 jobs"},
		{"w1", workload.Options{Arrival: -time.Second}, "mean time between jobs -1s"},
		{"powerlaw", workload.Options{Load: math.NaN()}, "load NaN"},
		{"powerlaw", workload.Options{GPUs: 1, Load: 1e-9}, "want a load that brings one"},
		{"powerlaw", workload.Options{GPUs: -4}, "-4 GPUs"},
		{"powerlaw", workload.Options{PerNode: -4}, "-4 GPUs a node"},
	} {
		if _, err := workload.Generate(tc.name, 0, tc.opts); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q %+v: %v, want %s", tc.name, tc.opts, err, tc.want)
		}
	}
}

func TestParametric(t *testing.T) {
	amdahl := workload.Parametric{One: 100, Serial: .1, PerGPU: .001, PerNode: .01}
	for _, tc := range []struct {
		p     workload.Parametric
		split []int
		want  float64
	}{
		{amdahl, []int{1}, 100},
		{amdahl, []int{4}, 100 * (.9/4 + .1 + .003)},
		{amdahl, []int{1, 2, 1}, 100 * (.9/4 + .1 + .003 + .02)},
		{workload.Parametric{One: 8, Power: .5}, []int{4, 12}, 2},
		{amdahl, nil, math.Inf(1)},
	} {
		if got := tc.p.Seconds(tc.split); got != tc.want && math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%+v on %v: %v, want %v", tc.p, tc.split, got, tc.want)
		}
	}
	for want, p := range map[string]workload.Parametric{
		"one":                {},
		"serial 2":           {One: 1, Serial: 2},
		"power 2":            {One: 1, Power: 2},
		"exclude":            {One: 1, Power: .5, Serial: .1},
		"that is not negat":  {One: 1, PerGPU: math.NaN()},
		"shares of one, at ": {One: 1, PerNode: 1e9},
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", p, err, want)
		}
	}
	if err := amdahl.Check(); err != nil {
		t.Error(err)
	}
}

func BenchmarkPowerlaw(b *testing.B) { walk(b, "powerlaw") }
func BenchmarkBursty(b *testing.B)   { walk(b, "bursty") }

func walk(b *testing.B, name string) {
	w := generate(b, fmt.Sprintf("%s@%d", name, min(b.N, workload.MaxJobs)), 1, workload.Options{})
	b.ReportAllocs()
	b.ResetTimer()
	for range w.Jobs {
	}
}
