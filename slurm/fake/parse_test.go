package fake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

func TestParseSubmission(t *testing.T) {
	for args, want := range map[string]string{
		"":                          "no gpus nodes=1-1 cpus=1",
		"--gpus=5":                  "gpus=5 nodes=1-0 cpus=1",
		"-G 5 -N2":                  "gpus=5 nodes=2-2 cpus=2",
		"--gpus=a100:6 --nodes=1-3": "gpus=6 nodes=1-3 cpus=1",
		"--gres=gpu:2 -N 2 -n 4":    "gpus-per-node=2 nodes=2-2 cpus=4",
		"--gpus-per-node=3 -c4":     "gpus-per-node=3 nodes=1-1 cpus=4",
		"-w gpu[1-2] --gpus=3":      "gpus=3 nodes=2-0 cpus=2 on gpu1,gpu2",
		"--comment=a --unheard-of=x job.sh -G 99": "no gpus nodes=1-1 cpus=1",
	} {
		r, err := parse(slurm.Submission{Args: strings.Fields(args)})
		if err != nil || r.want.String() != want {
			t.Errorf("%q: got %q, %v; want %q", args, r.want, err, want)
		}
	}
}

func TestParseScriptDirectives(t *testing.T) {
	script := "#!/bin/sh\n#SBATCH -J night --gpus=4\n# a remark\n#SBATCH --hold\necho\n#SBATCH --gpus=9\n"
	r, err := parse(slurm.Submission{Args: []string{"--gpus=2"}, Stdin: []byte(script)})
	if err != nil || r.name != "night" || !r.held || r.want.total != 2 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range []string{"--gpus", "--gpus=x", "-N -1", "--time=1:2:3:4", "-Z", "-w gpu[1", "--ntasks=-1"} {
		if r, err := parse(slurm.Submission{Args: strings.Fields(args)}); err == nil {
			t.Errorf("%q was read as %+v", args, r)
		}
	}
}

func TestTimeLimits(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"30": 30 * time.Minute, "1:30": 90 * time.Second, "2:00:00": 2 * time.Hour, "1-2": 26 * time.Hour,
		"1-02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second, "UNLIMITED": 0,
	} {
		if got, err := limit(value); err != nil || got != want {
			t.Errorf("%q: got %s, %v; want %s", value, got, err, want)
		}
	}
}

func FuzzParseSubmission(f *testing.F) {
	f.Add("--gpus=5 -N1-3 -w gpu[1-4] job.sh", "#SBATCH -t 1-2:3\nsleep 5\n")
	f.Fuzz(func(t *testing.T, args, script string) {
		r, err := parse(slurm.Submission{Args: strings.Fields(args), Stdin: []byte(script)})
		if err == nil && (r.want.minNodes < 0 || r.want.total < 0 || r.want.cpus < 1 || r.limit < 0) {
			t.Errorf("%q, %q: %+v", args, script, r)
		}
	})
}

func FuzzParseScript(f *testing.F) {
	f.Add("#!/bin/sh\ntrap 'sleep 3; exit 0' TERM\ntrap 'exit 7' USR1\nsleep 1h & wait\nexit 4\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s := ParseScript([]byte(text)); s.Sleep < 0 || s.Lingers < 0 {
			t.Errorf("%q: %+v", text, s)
		}
	})
}

func TestParseScript(t *testing.T) {
	s := ParseScript([]byte("#!/bin/sh\ntrap 'sleep 3; exit 0' TERM\ntrap 'exit 7' USR1 USR2\nsleep 1h & wait\nexec sleep 30\nexit 4\nsleep 9\n"))
	got := fmt.Sprintf("%s %s %d %v", s.Sleep, s.Lingers, s.Code, s.Traps)
	if want := "1h0m30s 3s 4 map[USR1:7 USR2:7]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
