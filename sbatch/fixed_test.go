package sbatch

import (
	"slices"
	"strings"
	"testing"
)

// TestFixedSize: if none of sluice's size options is set, sbatch's own are the job's
// fixed size, and they are not passed to sbatch a second time.
func TestFixedSize(t *testing.T) {
	for _, tc := range []struct {
		args, env, line string
		gpus, nodes     int
	}{
		{"job", "", "#SBATCH --gpus=2", 2, 0},
		{"-G 3 -O job", "", "", 3, 0},
		{"job", "SBATCH_GPUS=4", "", 4, 0},
		{"job", "", "#SBATCH --gres=gpu:2", 2, 1},
		{"job", "", "#SBATCH --gres=gpu", 1, 1},
		{"job", "", "#SBATCH --gpus-per-node=4 --nodes=1 --ntasks=1", 4, 1},
		{"-N1 job", "", "#SBATCH -G2", 2, 1},
		{"--gpus-per-task=2 job", "", "", 2, 0},
		{"--tres-per-task=gres/gpu:2 job", "", "", 2, 0},
		{"--tres-per-task=gres/gpu=2 job", "", "", 2, 0},
		{"--gpus=gpu:3 job", "", "", 3, 0},
		{"--gpus=4 job", "", "#SBATCH --gpus=2", 4, 0},
		{"job", "", "#SBATCH --gpus=2\n#SLUICE --epochs=9 --allow-uneven", 2, 0},
	} {
		var env []string
		if tc.env != "" {
			env = []string{tc.env}
		}
		r := merge(t, tc.args, env, tc.line)
		if r.Spec.Min != tc.gpus || r.Spec.Max != tc.gpus || r.Spec.Nodes != tc.nodes || r.Sized() != nil {
			t.Errorf("%+v: got %s, %v", tc, specText(r.Spec), r.Sized())
		}
		args, err := r.Args(Job{Token: token, Batch: "/b"})
		said := strings.Join(args, " ") + string(r.Batch(Job{Sluice: "/s", Script: "/x"})) + strings.Join(Without(env), " ")
		if err != nil || strings.Count(strings.ToLower(said), "gpus") > strings.Count(tc.line, "epochs") && strings.Contains(said, "--gpus") ||
			strings.Count(said, "--gres=") != 1 || strings.Contains(said, "tres-per-task") || strings.Count(said, "--nodes") != 1 {
			t.Errorf("%+v: %v, sbatch is told %s", tc, err, said)
		}
	}
	if left := Without([]string{"SBATCH_TRES_PER_TASK=cpu:2", "SBATCH_GPUS=1"}); !slices.Equal(left, []string{"SBATCH_TRES_PER_TASK=cpu:2"}) {
		t.Errorf("sbatch's environment: %q", left)
	}
}

// TestTypes: a GPU type is given in a fixed size or in --gpu-types.
func TestTypes(t *testing.T) {
	for args, want := range map[string]string{
		"--gpus=a100:4 job":                       "min=4 max=4 types=a100",
		"--gres=gpu:a100:2 job":                   "min=2 max=2 nodes=1 types=a100",
		"--gres=gpu:a100 job":                     "min=1 max=1 nodes=1 types=a100",
		"--gpus=2 --gpu-types=a100,h100,a100 job": "min=2 max=2 types=a100,h100",
		"--max-gpus=8 --gpu-types=h100 job":       "min=1 max=8 types=h100",
	} {
		r := merge(t, args, nil)
		if got := specText(r.Spec); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
		said, err := r.Args(Job{Token: token, Batch: "/b"})
		if gres := "--gres=gpu:" + map[bool]string{true: r.Spec.Types[0] + ":"}[len(r.Spec.Types) == 1]; err != nil || !strings.Contains(strings.Join(said, " "), gres) {
			t.Errorf("%s: %q, want %s", args, said, gres)
		}
	}
}

// TestSizeless: a script without a size is refused, with what to type.
func TestSizeless(t *testing.T) {
	const want = "job.sh: nothing says how many GPUs the job can use; for a fixed size give --gpus=N; " +
		"for a program that saves when asked and resumes give --min-gpus=1 --max-gpus=N, as options or on a #SLUICE line"
	for _, line := range []string{"", "#SBATCH --time=5 --cpus-per-gpu=2", "#SLUICE --cpus-per-gpu=2", "#SLUICE --retries=2"} {
		if err := merge(t, "job", nil, line).Sized(); err == nil || err.Error() != want {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{"#SLUICE --min-gpus=1", "#SLUICE --epochs=9", "#SLUICE --model=net", "#SLUICE --checkpoint-signal=USR2"} {
		if err := merge(t, "job", nil, line).Sized(); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	if err := merge(t, "job", []string{"SLUICE_MAX_GPUS=4"}).Sized(); err != nil {
		t.Error(err)
	}
}

// TestDigest: a script has one digest, whatever its arguments; a different way of saving
// gives a different digest.
func TestDigest(t *testing.T) {
	one := merge(t, "--max-gpus=4 job a", nil).digest()
	if two := merge(t, "--max-gpus=8 job b", nil).digest(); len(one) != 12 || one != two {
		t.Errorf("%s and %s", one, two)
	}
	for _, other := range []Request{merge(t, "--checkpoint-glob=x job", nil), merge(t, "--checkpoint-signal=USR1 job", nil), merge(t, "job", nil, "true")} {
		if other.digest() == one {
			t.Error("another script has the same digest")
		}
	}
}
