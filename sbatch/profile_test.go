package sbatch

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestProfileIsTwoOptions: sbatch's values stay sbatch's, in either spelling; no value,
// or sizes, are sluice's.
func TestProfileIsTwoOptions(t *testing.T) {
	for _, c := range []struct {
		name, args, script string
		env                []string
		sizes              []int
		sbatch             []string // of the command line
	}{
		{name: "sbatch's", args: "--profile=task job", sbatch: []string{"--profile=task"}},
		{name: "sbatch's, several", args: "--profile=energy,Task job", sbatch: []string{"--profile=energy,Task"}},
		{name: "sbatch's, in a word of its own", args: "--profile task job", sbatch: []string{"--profile", "task"}},
		{name: "sbatch's, abbreviated", args: "--prof all job", sbatch: []string{"--prof", "all"}},
		{name: "a plugin's, for sbatch to judge", args: "--profile=dcgm job", sbatch: []string{"--profile=dcgm"}},
		{name: "bare", args: "--profile --max-gpus=8 job", sizes: []int{1, 2, 4, 8}},
		{name: "bare before the script", args: "--max-gpus=3 --profile job", sizes: []int{1, 2}},
		{name: "bare, no maximum", args: "--min-gpus=2 --profile job", sizes: []int{2, 4, 8, 16}},
		{name: "bare, a wide range", args: "--max-gpus=64 --profile job", sizes: []int{1, 4, 16, 64}},
		{name: "bare, with steps", args: "--min-gpus=3 --max-gpus=12 --gpu-step=3 --profile job", sizes: []int{3, 6, 12}},
		{name: "bare, with sizes", args: "--gpu-sizes=1,3,4,9 --profile job", sizes: []int{1, 3, 9}},
		{name: "sizes", args: "--profile=4,1,2,2 job", sizes: []int{1, 2, 4}},
		{name: "sizes in a word of their own", args: "--profile 1,2 job", sizes: []int{1, 2}},
		{name: "a size of one", args: "--profile=4 job", sizes: []int{4}},
		{name: "in the script", args: "job", script: "#SLUICE --profile --max-gpus=4", sizes: []int{1, 2, 4}},
		{name: "in the script, with sizes", args: "job", script: "#SLUICE --profile 1,4", sizes: []int{1, 4}},
		{name: "both", args: "--profile=task job", script: "#SLUICE --profile=1,2", sizes: []int{1, 2}, sbatch: []string{"--profile=task"}},
		{name: "both in the script", args: "job", script: "#SBATCH --profile=task\n#SLUICE --profile=1,2", sizes: []int{1, 2}},
		{name: "in the environment", args: "job", env: []string{"SLUICE_PROFILE=1,2"}, sizes: []int{1, 2}},
		{name: "taken back", args: "--profile=no job", script: "#SLUICE --profile"},
		{name: "nothing", args: "job"},
	} {
		r := merge(t, c.args, c.env, strings.Split(c.script, "\n")...)
		if !slices.Equal(r.Spec.Profile, c.sizes) {
			t.Errorf("%s: sizes %v, want %v", c.name, r.Spec.Profile, c.sizes)
		}
		var handed []string
		for i, o := range r.options {
			if strings.HasPrefix(o, "--prof") || i > 0 && strings.HasPrefix(r.options[i-1], "--prof") && !strings.Contains(r.options[i-1], "=") {
				handed = append(handed, o)
			}
		}
		if !slices.Equal(handed, c.sbatch) {
			t.Errorf("%s: sbatch gets %q, want %q", c.name, handed, c.sbatch)
		}
	}
}

// TestProfileOfOneSize: with one size there is nothing to compare, and the user gets a
// message.
func TestProfileOfOneSize(t *testing.T) {
	r := merge(t, "--min-gpus=4 --max-gpus=4 --profile job", nil)
	if len(r.Spec.Profile) != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "one size") {
		t.Errorf("%v, %q", r.Spec.Profile, r.Warnings)
	}
}

// TestProfileSizesAreAccepted: few sizes, ascending, each accepted by the job.
func TestProfileSizesAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := elastic.Spec{Token: strings.Repeat("0", 32), Min: rapid.IntRange(1, 40).Draw(t, "min")}
		if rapid.Bool().Draw(t, "bounded") {
			s.Max = s.Min + rapid.IntRange(0, 500).Draw(t, "more")
		}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 1:
			s.Step = rapid.IntRange(2, 20).Draw(t, "step")
		case 2:
			s.Sizes = append(rapid.SliceOfN(rapid.IntRange(1, 600), 0, 6).Draw(t, "sizes"), s.Min)
			slices.Sort(s.Sizes)
			s.Sizes = slices.Compact(s.Sizes)
		}
		s.Profile = ProfileSizes(s)
		if len(s.Profile) == 0 || len(s.Profile) > mostProfiled || s.Profile[0] != s.Min {
			t.Fatalf("%v of %+v", s.Profile, s)
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestParseProfileSizes: --profile and 'sluice profile --sizes' accept the same.
func TestParseProfileSizes(t *testing.T) {
	if got, err := ParseProfileSizes("4,1,1"); err != nil || !slices.Equal(got, []int{1, 4}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "pow2", "1,", "0", "+1", "1,x", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"} {
		if got, err := ParseProfileSizes(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
