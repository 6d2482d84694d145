package sbatch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"pgregory.net/rapid"
)

// merge returns the Request for words, variables and script lines.
func merge(t interface{ Fatal(...any) }, args string, env []string, lines ...string) Request {
	c, err := ParseCommandLine(strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Merge(c, env, mustScript(t, "#!/bin/sh\n"+strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMergeReadsTheSpec(t *testing.T) {
	r := merge(t, `--min-gpus=2 --max-gpus 16 --gpu-sizes=pow2 --epochs=90 --model=resnet50 --checkpoint-signal=SIGUSR2
		--grace=5:00 --allow-uneven --cpus-per-gpu=8 --mem-per-gpu=16G job.sh`, nil)
	want := elastic.Spec{Min: 2, Max: 16, Sizes: []int{2, 4, 8, 16}, AllowUneven: true, Total: 90, Unit: elastic.Epochs,
		Model: "resnet50", Signal: "USR2", Grace: 5 * time.Minute, CPUsPerGPU: 8, MemPerGPUMB: 16384}
	if got := r.Spec; !slices.Equal(got.Sizes, want.Sizes) || specText(got) != specText(want) {
		t.Errorf("got  %s\nwant %s", specText(got), specText(want))
	}
	if r := merge(t, "job.sh", nil); specText(r.Spec) != specText(elastic.Spec{Min: 1}) {
		t.Errorf("the default is %s", specText(r.Spec))
	}
}

// TestInsideAJob: variables that the runner sets for a job of sluice do not apply to jobs
// that this job submits.
func TestInsideAJob(t *testing.T) {
	r := merge(t, "job", []string{"SLUICE_JOB_ID=7", "SLUICE_MAX_GPUS=3", "SLUICE_MIN_GPUS=2"})
	if r.Spec.Max != 0 || r.Spec.Min != 2 {
		t.Errorf("got %s", specText(r.Spec))
	}
}

func specText(s elastic.Spec) string { return elastic.Tag{Spec: s}.String() }

// TestPrecedence: command line, then environment, then script; within a script #SLUICE
// over #SBATCH, and later lines over earlier ones.
func TestPrecedence(t *testing.T) {
	env := []string{"SLUICE_MIN_GPUS=3", "SLUICE_MODEL=env", "SLUICE_GRACE="}
	r := merge(t, "--min-gpus=2 job", env, "#SLUICE --min-gpus=4 --model=script --grace=60")
	if r.Spec.Min != 2 || r.Spec.Model != "env" || r.Spec.Grace != time.Minute {
		t.Errorf("got %s", specText(r.Spec))
	}
	r = merge(t, "job", []string{"SBATCH_CPUS_PER_GPU=2", "SLUICE_CPUS_PER_GPU=3"})
	if r.Spec.CPUsPerGPU != 3 {
		t.Errorf("SLUICE_ loses against SBATCH_: %d", r.Spec.CPUsPerGPU)
	}
	r = merge(t, "job", nil, "#SLUICE --cpus-per-gpu=5", "#SBATCH --cpus-per-gpu=4", "#SLUICE --epochs=1", "#SLUICE --epochs=2")
	if r.Spec.CPUsPerGPU != 5 || r.Spec.Total != 2 {
		t.Errorf("got %s", specText(r.Spec))
	}
	r = merge(t, "--epochs=3 job", []string{"SLUICE_GPU_STEP=2"}, "#SLUICE --steps=100 --gpu-sizes=1,2")
	if r.Spec.Total != 3 || r.Spec.Unit != elastic.Epochs || r.Spec.Step != 2 || r.Spec.Sizes != nil {
		t.Errorf("got %s", specText(r.Spec))
	}
	r = merge(t, "--allow-uneven=no job", []string{"SLUICE_ALLOW_UNEVEN=1"}, "#SLUICE --allow-uneven")
	if r.Spec.AllowUneven {
		t.Error("--allow-uneven=no does not win")
	}
}

// TestPrecedenceHolds checks this for every combination of sources.
func TestPrecedenceHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var args, lines string
		var env []string
		want := 1
		if rapid.Bool().Draw(t, "script") {
			want, lines = 2, "#SLUICE --min-gpus=2"
		}
		if rapid.Bool().Draw(t, "environment") {
			want, env = 3, []string{"SLUICE_MIN_GPUS=3"}
		}
		if rapid.Bool().Draw(t, "command line") {
			want, args = 4, "--min-gpus=4 "
		}
		if r := merge(t, args+"job", env, lines); r.Spec.Min != want {
			t.Fatalf("got %d, want %d", r.Spec.Min, want)
		}
	})
}

func TestMergeActsInSbatchsPlace(t *testing.T) {
	r := merge(t, "-HWQ --parsable --comment=mine --test-only --open-mode=append --requeue -p a,b job x", nil)
	if !r.Hold || !r.Wait || !r.Quiet || !r.TestOnly || r.comment != "mine" || !slices.Equal(r.Partitions, []string{"a", "b"}) {
		t.Errorf("%+v", r)
	}
	if !slices.Equal(r.options, []string{"--parsable", "-p", "a,b"}) {
		t.Errorf("left for sbatch: %q", r.options)
	}
	r = merge(t, "job", []string{"SBATCH_WAIT=1", "SBATCH_PARTITION=c"}, "#SBATCH -QH --comment='from the script' --test-only")
	if !r.Hold || !r.Wait || r.Quiet || !r.TestOnly || r.comment != "from the script" || !slices.Equal(r.Partitions, []string{"c"}) {
		t.Errorf("%+v", r)
	}
	if r := merge(t, "job", []string{"SBATCH_WAIT=0"}); r.Wait {
		t.Error("SBATCH_WAIT=0 waits")
	}
	got := Without([]string{"A=1", "SBATCH_WAIT=1", "SBATCH_ACCOUNT=x"})
	if !slices.Equal(got, []string{"A=1", "SBATCH_ACCOUNT=x"}) {
		t.Errorf("environment for sbatch: %q", got)
	}
}

func TestCommandLineSaysMoreThanAJob(t *testing.T) {
	for _, args := range []string{"-h", "--help", "--usage", "--gpus=4 --help"} {
		if c, err := ParseCommandLine(strings.Fields(args)); err != nil || !c.Help {
			t.Errorf("%s: %+v, %v", args, c, err)
		}
	}
	if c, err := ParseCommandLine([]string{"-V"}); err != nil || !c.Version {
		t.Errorf("-V: %+v, %v", c, err)
	}
	c, err := ParseCommandLine([]string{"--user", "--config=/x", "--thing", "value", "job"})
	if err != nil || !c.User || c.Config != "/x" || !slices.Equal(c.Unknown, []string{"--thing"}) || c.Script != "value" {
		t.Errorf("%+v, %v", c, err)
	}
}
