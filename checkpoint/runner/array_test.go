package runner

import (
	"slices"
	"strings"
	"testing"
)

// TestArrayVariables: a task of an array is told of it by both names; a job that is none,
// of an outer one's nothing.
func TestArrayVariables(t *testing.T) {
	outer := []string{"SLURM_ARRAY_TASK_ID=9", "SLUICE_ARRAY_JOB_ID=5", "SLURM_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_OWN=mine"}
	told := func(a Array) (out []string) {
		for _, entry := range environment(outer, facts{job: 101, jobDir: "/j", array: a}) {
			if strings.Contains(entry, "_ARRAY_") {
				out = append(out, entry)
			}
		}
		return out
	}
	if got := told(Array{}); !slices.Equal(got, []string{"SLURM_ARRAY_OWN=mine"}) {
		t.Errorf("outside of an array: %q", got)
	}
	var a Array
	if err := a.Set("0_4/3:0-8:4"); err != nil {
		t.Fatal(err)
	}
	want := []string{"SLURM_ARRAY_OWN=mine",
		"SLUICE_ARRAY_JOB_ID=101", "SLURM_ARRAY_JOB_ID=101", "SLUICE_ARRAY_TASK_ID=4", "SLURM_ARRAY_TASK_ID=4",
		"SLUICE_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_TASK_COUNT=3", "SLUICE_ARRAY_TASK_MIN=0", "SLURM_ARRAY_TASK_MIN=0",
		"SLUICE_ARRAY_TASK_MAX=8", "SLURM_ARRAY_TASK_MAX=8", "SLUICE_ARRAY_TASK_STEP=4", "SLURM_ARRAY_TASK_STEP=4"}
	if got := told(a); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if err := a.Set("77_4/3:0-8:4"); err != nil || told(a)[1] != "SLUICE_ARRAY_JOB_ID=77" {
		t.Errorf("%v %q", err, told(a))
	}
	for _, bad := range []string{"", "1_2", "1_2/0:0-2:1", "1_9/3:0-8:4", "1_2/3:0-8:0", "-1_2/3:0-8:1", "1_2/3:0-8:1 ", "01_2/3:0-8:1"} {
		if a.Set(bad) == nil {
			t.Errorf("%q was read as %v", bad, a)
		}
	}
}
