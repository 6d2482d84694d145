package confine

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
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
	golden(t, "plan.golden", Build(s, m))
	s.Nodes, s.Node, s.Fence.Network = []string{"gpu1", "gpu7"}, 1, Relayed
	golden(t, "plan-nodes.golden", Build(s, m))
	s.Fence.Network, s.Site = OfSite, Site{Name: "gpu7", Address: netip.MustParseAddr("192.0.2.7"), Hosts: "127.0.1.1 gpu7\n192.0.2.1 gpu1\n", Resolv: "nameserver 192.0.2.53\n"}
	golden(t, "plan-site.golden", Build(s, m))
	s.Nodes, s.Site = nil, Site{}
	golden(t, "plan-site-one.golden", Build(s, m))
}

func golden(t *testing.T, name string, plan Plan) {
	t.Helper()
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
	golden := filepath.Join("testdata", name)
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
		step, err := ParseStep(strings.Fields(args), 1)
		argv := step.Argv
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

// TestStepOnNodes: in a job on three nodes a step has one task on each of them, or one on the first.
func TestStepOnNodes(t *testing.T) {
	for args, want := range map[string]string{
		"train":                                  "3 false",
		"-N 3 -n 3 train":                        "3 false",
		"--nodes=3-3 --ntasks-per-node=1 train":  "3 false",
		"--ntasks=1 train":                       "1 false",
		"-N1 -n1 train":                          "1 false",
		"--kill-on-bad-exit train":               "3 true",
		"-K1 -n 3 train":                         "3 true",
		"--kill-on-bad-exit=0 train":             "3 false",
		"-n 2 train":                             `"$SLUICE" ranks`,
		"-n 6 train":                             `"$SLUICE" ranks`,
		"-N 1-3 train":                           `"$SLUICE" ranks`,
		"--ntasks-per-node=3 train":              `"$SLUICE" ranks`,
		"-N 3 -n 1 train":                        "contradicts",
		"-N x train":                             "not possible",
		"-N":                                     "needs a number",
		"--nodes=3 --ntasks-per-node=1 -n3 -- x": "3 false",
	} {
		s, err := ParseStep(strings.Fields(args), 3)
		switch {
		case err != nil && (!errors.Is(err, ErrStep) || !strings.Contains(err.Error(), want)):
			t.Errorf("srun %s: %v; want %q", args, err, want)
		case err == nil && fmt.Sprint(s.Nodes, s.Kill) != want:
			t.Errorf("srun %s: %+v; want %q", args, s, want)
		}
	}
}

// TestAddresses: every node has an address of its own in the network, which ends neither in all zeros nor in all ones of it.
func TestAddresses(t *testing.T) {
	seen := map[netip.Addr]bool{}
	for node := range MaxNodes {
		a := Address(node)
		if seen[a] || !Network.Contains(a) || a == Network.Addr() || a == netip.MustParseAddr("10.117.255.255") {
			t.Errorf("node %d: %s", node, a)
		}
		seen[a] = true
	}
}

// TestConnectable: what a network of several nodes lacks is a value, and says what to type.
func TestConnectable(t *testing.T) {
	device, programs := tunnels, enter
	t.Cleanup(func() { tunnels, enter = device, programs })
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		device, program string
		want            Cause
	}{{there, there, ""}, {there + "-not", there, NoTunnel}, {there, there + "-not", NoEnter}} {
		tunnels, enter = c.device, []string{c.program}
		var why *Impossible
		if err := Connectable(); c.want == "" && err != nil || c.want != "" && (!errors.As(err, &why) || why.Why != c.want || why.Hint == "") {
			t.Errorf("%+v: %v", c, err)
		}
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
