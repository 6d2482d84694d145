package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// ddp writes a job script around the library's PyTorch example, whose GPU time is
// emulated: a step takes 0.2 s divided by the GPUs, and its own time at least.
func (s *scene) ddp(name, header string, options ...string) string {
	s.t.Helper()
	if exec.Command("/usr/bin/python3", "-c", "import torch").Run() != nil {
		s.t.Skip("NOT TESTED: measuring a PyTorch program; /usr/bin/python3 has no torch (Debian: python3-torch)")
	}
	path := filepath.Join(s.Home(""), name+".sh")
	s.write(path, fmt.Sprintf("#!/bin/bash\n%s\nexport OMP_NUM_THREADS=1\nsrun \"$SLUICE\" ranks -- /usr/bin/python3 %s --emulate-step-seconds 0.2 %s\n",
		header, s.Path("python", "examples", "train_ddp.py"), strings.Join(options, " ")))
	return path
}

// profile runs 'sluice profile --json'.
func (s *scene) profile(args ...string) speed.Profile {
	s.t.Helper()
	out, err := s.Run(s.ctx, "", "sluice", append([]string{"profile", "--json"}, args...)...)
	s.must(err)
	var p speed.Profile
	s.must(json.Unmarshal([]byte(out), &p))
	return p
}

// nothingLeft checks that a profile's jobs and folders are gone.
func (s *scene) nothingLeft() {
	s.t.Helper()
	if out := s.as("", "squeue", "-h"); out != "" {
		s.t.Errorf("jobs are left: %s", out)
	}
	if names, _ := filepath.Glob(s.Jobs + "/*"); len(names) > 0 {
		s.t.Errorf("folders are left: %v", names)
	}
	if names, _ := filepath.Glob(s.Home("") + "/*.out"); len(names) > 0 {
		s.t.Errorf("output is left: %v", names)
	}
}

// A profile measures a real program at each size, leaves nothing behind, and a job
// of the model then knows the form of its curve from the start.
func TestProfileOfAProgram(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	script := s.ddp("train", "#SLUICE --model=ddp --epochs=9", "--epochs", "9", "--steps-per-epoch", "500")
	p := s.profile("--sizes", "1,2,3", "--steps", "10", "--warmup", "2", script)
	if p.Of != "step" || len(p.Points) != 3 || p.Model != "ddp" {
		t.Fatalf("%+v", p)
	}
	one, two, three := p.Points[0], p.Points[1], p.Points[2]
	if one.Seconds < 0.2 || one.Seconds > 2 || two.Seconds < 0.1 || two.Seconds > 2 || one.Steps != 10 || two.GPUs != 2 || two.Nodes != 1 {
		t.Errorf("measured %+v and %+v", one, two)
	}
	if !strings.Contains(three.Error, "have 2 GPUs") {
		t.Errorf("three GPUs of two: %q", three.Error)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "emulated") {
		t.Errorf("what the program said of itself: %q", p.Notes)
	}
	s.nothingLeft()

	id, err := s.Submit(s.ctx, "", "--hold", script)
	s.must(err)
	j := &job{s: s, id: id, name: "train"}
	j.until("to be known", func(control.Job) bool { return true })
	out := s.as("", "sluice", "explain", "--json", fmt.Sprint(id))
	var e control.Explanation
	s.must(json.Unmarshal([]byte(out), &e))
	want := one.Seconds / two.Seconds
	if len(e.Sizes) != 2 || math.Abs(e.Sizes[1].Relative/e.Sizes[0].Relative-want) > 0.3*want || e.Sizes[1].Source != "measured" {
		t.Errorf("a job of the model sees %+v, measured was a speed-up of %.2f", e.Sizes, want)
	}
	s.cancel(j)
}

// What goes wrong at one size is said, and the others count; a profile that is
// interrupted, or that finds no idle GPU, leaves nothing.
func TestProfileGoesWrong(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	script := filepath.Join(s.Home(""), "paced.sh")
	s.write(script, `#!/bin/bash
#SLUICE --epochs=9
[ "$SLUICE_GPUS" = 2 ] && { echo "cannot do two"; exit 7; }
WORLD_SIZE=$SLUICE_GPUS exec /usr/bin/python3 `+s.Path("loop.py")+` --steps-log /dev/null --seconds 0.05 "$@"
`)
	p := s.profile("--sizes", "1,2", "--steps", "5", script)
	if p.Points[0].Seconds < 0.05 || !strings.Contains(p.Points[1].Error, "exit code 7") || !strings.Contains(p.Points[1].Error, "cannot do two") {
		t.Errorf("%+v", p.Points)
	}
	s.nothingLeft()

	cmd, err := s.Command(s.ctx, "", "sluice", "profile", "--sizes", "1", "--steps", "100000", script)
	s.must(err)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	s.must(cmd.Start())
	s.must(site.Until(s.ctx, time.Minute, "a run of the profile", func() (bool, error) {
		return strings.Contains(s.as("", "squeue", "-h", "-t", "R"), "profile-"), nil
	}))
	s.must(cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("interrupted: %v", err)
	}
	s.nothingLeft()

	id, err := s.Sbatch(s.ctx, "", "--gres=gpu:2", "--output=/dev/null", "--wrap", "sleep 300")
	s.must(err)
	s.must(site.Until(s.ctx, time.Minute, "the ordinary job to be seen", func() (bool, error) {
		r, err := s.Control().Report(s.ctx)
		return err == nil && r.Nodes[0].Free == 0, nil
	}))
	out, err := s.Run(s.ctx, "", "sluice", "profile", "--sizes", "1", "--wait", "2", script)
	if err == nil || !strings.Contains(out, "never so many GPUs were idle") {
		t.Errorf("on a full cluster: %v: %s", err, out)
	}
	s.as("", "scancel", fmt.Sprint(id))
}

// A job submitted with --profile is measured on its sizes in its first minutes, and
// trains every step once.
func TestProfileAtSubmit(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	steps := filepath.Join(s.Home(""), "profiled.steps")
	script := s.ddp("profiled", "#SLUICE --max-gpus=2 --epochs=3 --profile", "--epochs", "3", "--steps-per-epoch", "50", "--steps-log", steps)
	id, err := s.Submit(s.ctx, "", "--output=profiled.out", script)
	s.must(err)
	j := &job{s: s, id: id, name: "profiled"}
	j.until("to be measured on one", func(v control.Job) bool { return v.GPUs == 1 && strings.Contains(v.Reason, "measures its speed") })
	j.until("to be measured on two", func(v control.Job) bool { return v.GPUs == 2 && strings.Contains(v.Reason, "(2 of 2 sizes)") })
	j.until("to have been measured", func(v control.Job) bool { return v.GPUs == 2 && !strings.Contains(v.Reason, "measures") })
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
	tr, err := site.ReadTraining(steps, 3, 50)
	s.must(err)
	if tr.Missing+tr.Repeated > 0 || !slices.Equal(tr.Worlds[:2], []int{1, 2}) {
		t.Errorf("%+v", tr)
	}
	if _, err := os.Stat(s.Path("home", "profiled.out")); err != nil {
		t.Error(err)
	}
}
