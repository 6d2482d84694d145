package main

import (
	"os"
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestExpand: what Slurm knows names the tasks as what sluiced knows does.
func TestExpand(t *testing.T) {
	own := uint32(os.Getuid())
	job := func(id slurm.JobID, uid uint32, state slurm.State, a elastic.Array) slurm.Job {
		tag := elastic.Tag{Spec: elastic.Spec{Token: testToken, Min: 1, Array: a}}
		return slurm.Job{ID: id, UID: uid, State: state, Comment: tag.String()}
	}
	known := tagged([]slurm.Job{
		job(101, own, slurm.Completed, elastic.Array{Index: 0, Count: 3}),
		job(102, own, slurm.Running, elastic.Array{Job: 101, Index: 1, Count: 3}),
		job(103, own, slurm.Pending, elastic.Array{Job: 101, Index: 2, Count: 3}),
		job(104, own+1, slurm.Pending, elastic.Array{Job: 101, Index: 2, Count: 3}),
		job(105, own+1, slurm.Pending, elastic.Array{Index: 0, Count: 2}),
		job(106, own+1, slurm.Pending, elastic.Array{Job: 105, Index: 1, Count: 2}),
		{ID: 107, Comment: "mine"}, {ID: 108, Comment: "sluice/1 array=x"},
	})
	for arg, want := range map[string][]elastic.JobID{
		"101_*": {102, 103}, "101_[0-1]": {101, 102}, "101_2": {103}, "105_*": {105, 106}, "101_*:9,7": {102, 103, 9, 7}, "5-7": {5, 6, 7},
		"109_*": nil, "101_3": nil,
	} {
		words, err := present.JobWords([]string{arg})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := expand(words, known); !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%s: %v, %v", arg, got, err)
		}
	}
	for _, bad := range []string{"", "x", "1_", "1_x", "1_2%1", "0", "-1", "1-", "1-2_3", "3-1", "1-999999", "1,", "1_[1-3"} {
		if words, err := present.JobWords([]string{bad}); err == nil {
			t.Errorf("%q was read as %v", bad, words)
		}
	}
}
