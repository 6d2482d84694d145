package sbatch

import (
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestDepend: sluice's arrays, and tasks of one, are replaced by their jobs; everything
// else is left to sbatch.
func TestDepend(t *testing.T) {
	tasks := func(array elastic.JobID) map[int]elastic.JobID {
		return map[elastic.JobID]map[int]elastic.JobID{101: {0: 101, 2: 102, 4: 104}, 200: {7: 200}}[array]
	}
	for text, want := range map[string]string{
		"afterok:101_*":                            "afterok:101:102:104",
		"afterok:101_4,afterany:7":                 "afterok:104,afterany:7",
		"afterany:5:101_[0-4:2]:6?after:200_7+5":   "afterany:5:101:102:104:6?after:200+5",
		"after:101_[0,2]+5:9":                      "after:101+5:102+5:9",
		"afterok:101":                              "",
		"afterok:101:102:104":                      "",
		"afterok:101_3":                            "", // no such task
		"afterok:300_3,afterok:300_*,afterok:3_[1": "",
		"singleton":                                "",
		"":                                         "",
		"afterok:x_1:_:101_":                       "",
	} {
		r, whole := Request{Dependency: text}.Depend(tasks)
		if r.depends != want || slices.Equal(whole, []elastic.JobID{101}) != (text == "afterok:101") {
			t.Errorf("%s: %q, %v", text, r.depends, whole)
		}
	}
	two := func(elastic.JobID) map[int]elastic.JobID { return map[int]elastic.JobID{0: 300, 1: 301} }
	if r, whole := (Request{Dependency: "afterok:300"}).Depend(two); r.depends != "" || !slices.Equal(whole, []elastic.JobID{300}) {
		t.Errorf("an array of two: %q, %v", r.depends, whole)
	}
	r := merge(t, "--min-gpus=1 -d afterok:101_2 job.sh", nil)
	r, _ = r.Depend(tasks)
	args, err := r.Args(Job{Batch: "/b"})
	if err != nil || !slices.Equal(args[len(args)-4:], []string{"-d", "afterok:101_2", "--dependency=afterok:102", "/b"}) {
		t.Errorf("%q, %v", args, err)
	}
}
