package workload_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// listed is a workload of jobs that come at these seconds, each due in a minute.
func listed(seconds []int) workload.Workload {
	var jobs []workload.Job
	slices.Sort(seconds)
	for i, s := range seconds {
		at := time.Duration(s) * time.Second
		jobs = append(jobs, workload.Job{Name: fmt.Sprint("j", i), Submit: at, Deadline: at + time.Minute, Speeds: workload.Assumed{Unit: float64(i + 1)}})
	}
	return workload.Workload{Name: "w", Note: "made up", Seed: 7, Count: len(jobs), Jobs: slices.Values(jobs)}
}

// TestScale: the count is the load's, the order is time's, the span stays, every
// job comes as often as any other give or take one, and the same again is the same.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := listed(rapid.SliceOfN(rapid.IntRange(0, 10_000), 1, 50).Draw(t, "seconds"))
		load := rapid.Float64Range(.5, 4).Draw(t, "load")
		got, err := workload.Scale(w, load)
		if err != nil {
			t.Fatal(err)
		}
		jobs := slices.Collect(got.Jobs)
		if len(jobs) != got.Count || got.Count != int(math.Round(load*float64(w.Count))) {
			t.Fatalf("%d of %d jobs at %v", got.Count, w.Count, load)
		}
		again, _ := workload.Scale(w, load)
		if !slices.Equal(names(jobs), names(slices.Collect(again.Jobs))) {
			t.Fatal("the same load twice differs")
		}
		checkScaled(t, slices.Collect(w.Jobs), jobs)
	})
}

func names(jobs []workload.Job) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, fmt.Sprint(j.Name, j.Submit))
	}
	return out
}

func checkScaled(t *rapid.T, before, after []workload.Job) {
	first, last := before[0].Submit, before[len(before)-1].Submit
	gap := (last - first) / time.Duration(max(1, len(before)-1))
	times, seen := map[string]int{}, map[string]bool{}
	for i, j := range after {
		if i > 0 && j.Submit < after[i-1].Submit || j.Submit < first || j.Submit > last+gap {
			t.Fatalf("%s comes at %v; the first came at %v, the last at %v", j.Name, j.Submit, first, last)
		}
		if j.Deadline-j.Submit != time.Minute || seen[j.Name] {
			t.Fatalf("%s is due %v after its submit, twice: %v", j.Name, j.Deadline-j.Submit, seen[j.Name])
		}
		seen[j.Name] = true
		name, _, _ := strings.Cut(j.Name, "+")
		times[name]++
	}
	for _, n := range times {
		if least := len(after) / len(before); n < least || n > least+1 {
			t.Fatalf("a job comes %d times among %d of %d", n, len(after), len(before))
		}
	}
}

func TestScaleByOneIsTheWorkload(t *testing.T) {
	w := listed([]int{3, 4})
	got, err := workload.Scale(w, 1)
	if err != nil || got.Name != "w" || got.Note != "made up" || got.Count != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestScaleSaysWhatItDid(t *testing.T) {
	for load, want := range map[float64]string{
		.5: "made up; 0.5x the load: 2 of 4 jobs, drawn",
		2:  "made up; 2x the load: 4 jobs added to 4, each one of them again at another's time",
	} {
		got, err := workload.Scale(listed([]int{1, 2, 3, 4}), load)
		if err != nil || got.Note != want || got.Name != fmt.Sprintf("w-%gx", load) || got.Seed != 7 {
			t.Errorf("%+v, %v; want %q", got, err, want)
		}
	}
}

func TestScaleErrors(t *testing.T) {
	for _, load := range []float64{0, -1, math.NaN(), math.Inf(1), .1, 1e9} {
		if _, err := workload.Scale(listed([]int{1, 2, 3, 4}), load); err == nil {
			t.Errorf("load %v passes", load)
		}
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ format, path, profiles, want string }{
		{"pollux", toyPollux, toyProfiles, ""},
		{"elasticflow", "testdata/traces/elasticflow-long.csv", toyThroughputs, ""},
		{"philly", phillyLog, "", ""},
		{"sacct", site, "", ""},
		{"pollux", toyPollux, "", "testdata/traces/pollux.csv needs measured speeds: add --profiles DIR, a directory of one folder an application"},
		{"elasticflow", toyPollux, "", "add --profiles DIR, a directory of throughput tables"},
		{"swf", toyPollux, "", `workload format "swf": want pollux, elasticflow, philly, sacct, sluice`},
	} {
		w, err := workload.Read(c.format, c.path, c.profiles)
		if c.want == "" && (err != nil || w.Count == 0) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d jobs, %v; want %q", c.format, w.Count, err, c.want)
		}
	}
}
