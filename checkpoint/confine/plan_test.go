package confine

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in testdata")

// TestPlan compares all that bwrap is told with what it is meant to be.
func TestPlan(t *testing.T) {
	f := sound()
	given := []string{"PATH=/opt/conda/bin:/usr/bin", "LANG=C", "LC_ALL=C", "LD_PRELOAD=/evil", "HOME=/home/ada", "SLURM_JOB_ID=7", "SLURM_CONF=/etc/slurm/slurm.conf",
		"CUDA_VISIBLE_DEVICES=1", "SLUICE_CONFINED=0", "no variable"}
	s := Start{Fence: f, Token: "0123456789abcdef0123456789abcdef", Script: "/jobs/t/script", Sluice: "/usr/bin/sluice", Python: "/jobs/t/python",
		Env: Environment(f, given), GPUs: []string{"/dev/nvidia1"}, UID: 990, GID: 991}
	m := Machine{Shown: []Entry{{Path: "/usr"}, {Path: "/lib", Link: "usr/lib"}, {Path: "/opt/conda"}}, Masked: []string{"/usr/bin/sbatch", "/usr/bin/srun"}}
	plan := Build(s, m)
	var b strings.Builder
	for _, o := range plan.Options {
		if strings.HasPrefix(o, "--") && b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(o + " ")
	}
	for _, file := range plan.Files {
		b.WriteString("\n" + file.Path + ":\n" + file.Content)
	}
	b.WriteString(strings.Join(Argv("/usr/bin/bwrap", []string{"/bin/bash", Script, "arg"}), " ") + "\n")
	golden := filepath.Join("testdata", "plan.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; got\n%s", err, b.String())
	}
}

// TestEveryVariableIsListed: no variable but those that are listed is inside, and a fence's own
// cannot be replaced.
func TestEveryVariableIsListed(t *testing.T) {
	f := sound()
	f.Environment = append(f.Environment, "HOME", "SLUICE_*")
	env := Environment(f, []string{"A=1", "LANGUAGE=1", "LC_X=1", "HOME=/x", "SLUICE_OUTPUT=/x", "SLUICE_DATA=/x", "MUNGE_SOCKET=x", "SLURM_JWT=x"})
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains([]string{"A", "LANGUAGE", "MUNGE_SOCKET", "SLURM_JWT"}, name) || value == "/x" {
			t.Errorf("%s is inside", entry)
		}
	}
	if !slices.Contains(env, "LC_X=1") || !slices.Contains(env, "SLUICE_OUTPUT=/output") {
		t.Errorf("%v", env)
	}
}

func TestLook(t *testing.T) {
	root := t.TempDir()
	usr, bin := filepath.Join(root, "usr"), filepath.Join(root, "bin")
	for _, name := range []string{"bin/sbatch", "bin/python3", "sbin/munged", "local/bin/at", "etc/slurm.conf"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(usr, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(usr, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range [][2]string{{"usr/bin", bin}, {"sbatch", filepath.Join(usr, "bin", "salloc")}} {
		if err := os.Symlink(l[0], l[1]); err != nil {
			t.Fatal(err)
		}
	}
	m := Look(Fence{System: []string{usr, bin, usr, filepath.Join(root, "none")}})
	if !slices.Equal(m.Shown, []Entry{{Path: usr}, {Path: bin, Link: "usr/bin"}}) {
		t.Errorf("shown %v", m.Shown)
	}
	var want []string
	for _, name := range []string{"bin/sbatch", "etc/slurm.conf", "local/bin/at", "sbin/munged"} {
		want = append(want, filepath.Join(usr, name))
	}
	if !slices.Equal(m.Masked, want) {
		t.Errorf("masked %v, want %v", m.Masked, want)
	}
}

func TestStep(t *testing.T) {
	for args, want := range map[string]string{
		"hostname":                                                "hostname",
		"-n 1 -N1 --ntasks=1 -- python3 -n 4":                     "python3 -n 4",
		"--label -u --cpu-bind=none env A=1 -l":                   "env A=1 -l",
		"--cpus-per-task 4 --kill-on-bad-exit=1 --mpi none train": "train",
		"-K train":                      "train",
		"-n 2 train":                    `"$SLUICE" ranks`,
		"-n2 train":                     `"$SLUICE" ranks`,
		"--nodes=2 train":               "--nodes=2",
		"--container-image=x train":     "--container-image",
		"--jobid=4 train":               "--jobid",
		"-n":                            "needs a number",
		"--mem":                         "needs a value",
		"":                              "needs a command",
		"-n 1 --":                       "needs a command",
		"--ntasks-per-node=1 --exact x": "x",
	} {
		argv, err := Step(strings.Fields(args))
		switch {
		case err != nil && (!errors.Is(err, ErrStep) || !strings.Contains(err.Error(), want)):
			t.Errorf("srun %s: %v; want %q", args, err, want)
		case err == nil && strings.Join(argv, " ") != want:
			t.Errorf("srun %s: starts %v; want %q", args, argv, want)
		}
	}
	env := StepEnvironment([]string{"SLURM_PROCID=7", "A=1"})
	if slices.Contains(env, "SLURM_PROCID=7") || !slices.Contains(env, "SLURM_PROCID=0") || !slices.Contains(env, "A=1") {
		t.Errorf("%v", env)
	}
}

func TestHides(t *testing.T) {
	for mounts, want := range map[string]bool{
		"proc /proc proc rw,nosuid 0 0\n":                                     false,
		"proc /proc proc rw,hidepid=2,gid=4 0 0\n":                            true,
		"proc /proc proc rw,hidepid=invisible 0 0\n":                          true,
		"proc /proc proc rw,hidepid=0 0 0\n":                                  false,
		"proc /proc proc rw,hidepid=2 0 0\nproc /proc proc rw,relatime 0 0\n": false,
		"proc /chroot/proc proc rw,hidepid=2 0 0\n":                           false,
		"": false,
	} {
		if got := Hides(mounts); got != want {
			t.Errorf("%q: %v", mounts, got)
		}
	}
}
