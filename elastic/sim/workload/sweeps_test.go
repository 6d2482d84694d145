package workload_test

import (
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

func TestSweepsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"sweeps:generated:trials=0":                 "trials=0: want 1 to 10000",
		"sweeps:generated:lanes=1001":               "lanes=1001: want 1 to 1000",
		"sweeps:generated:goal=2":                   "goal=2: want a number above 0 and at most 1, or none",
		"sweeps:generated:goal=NaN":                 "goal=NaN",
		"sweeps:generated:gap=-1s":                  "gap=-1s: want a time",
		"sweeps:generated:search=tpe":               "search=tpe: want asha or full",
		"sweeps:generated:what=1":                   `"what=1": want each of sweeps, gap`,
		"sweeps:generated:lanes=1:lanes=2":          `"lanes=2"`,
		"sweeps:/nowhere":                           "learning curves",
		"sweeps:":                                   "learning curves",
		"sweeps:generated:beside=nothing:lane":      `"lane": want`,
		"sweeps:generated:sweeps=1000:trials=10000": "want at most 500000 trials in all",
	} {
		if _, err := workload.ReadSweeps(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	s, err := workload.ReadSweeps("sweeps:generated:beside=nothing")
	if err == nil {
		_, err = s.Workload(1, workload.Options{})
	}
	if err == nil || !strings.Contains(err.Error(), "beside") {
		t.Errorf("%v", err)
	}
}

// TestSweepsAreDrawn: the seed decides, users take turns, and jobs beside come in their order.
func TestSweepsAreDrawn(t *testing.T) {
	s, err := workload.ReadSweeps("sweeps:generated:sweeps=5:users=2:trials=20:lanes=3:beside=w1@5m:9")
	if err != nil || s.Seed == nil || *s.Seed != 9 || strings.HasSuffix(s.Name, "9") {
		t.Fatalf("%+v, %v", s, err)
	}
	list := func(seed uint64) (out string) {
		w, err := s.Workload(seed, workload.Options{GPUs: 12, PerNode: 4})
		if err != nil || w.Count != 25 {
			t.Fatalf("%+v, %v", w, err)
		}
		for j := range w.Jobs {
			out += fmt.Sprintln(j.Name, j.User, j.Submit, j.Spec.Total)
			if a := j.Sweep; a != nil {
				out += fmt.Sprintln(a.Trials, a.Lanes, a.Goal, a.Seed, a.Task.Metric[0][0])
			}
		}
		return out
	}
	one := list(1)
	if one != list(1) || one == list(2) || !strings.Contains(one, "sweep2 user2") || !strings.Contains(one, "sweep3 user1") {
		t.Errorf("%s", one)
	}
}

// TestSweepsOfAFile reads learning curves in the form of testbench D.
func TestSweepsOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "task-7.csv.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	fmt.Fprint(z, "lr,acc_1,acc_2,sec_1,sec_2\n.1,50,60,1,3\n.2,40,70,2,4\n")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := workload.ReadSweeps("sweeps:" + path); err == nil || !strings.Contains(err.Error(), "trials=200: task 7 has 2 configurations") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{path, filepath.Dir(path)} {
		s, err := workload.ReadSweeps("sweeps:" + name + ":trials=2:sweeps=3:goal=none")
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Workload(1, workload.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for j := range w.Jobs {
			if j.Sweep.Task.Name != "7" || !math.IsInf(j.Sweep.Goal, 1) {
				t.Errorf("%+v", j.Sweep)
			}
		}
	}
}
