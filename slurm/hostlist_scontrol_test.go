package slurm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/slurm"
)

// scontrol returns a function that runs the real scontrol. It needs no daemon, but some
// releases need a slurm.conf to expand a name.
func scontrol(t *testing.T) func(args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("scontrol")
	if err != nil {
		t.Skip("NOT TESTED against the real scontrol: it is not installed (Debian: apt-get install slurm-client)")
	}
	conf := filepath.Join(t.TempDir(), "slurm.conf")
	text := "ClusterName=test\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=all Nodes=ALL\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) (string, error) {
		cmd := exec.Command(path, args...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "SLURM_CONF=" + conf}
		out, err := cmd.Output()
		return string(out), err
	}
}

func TestHostlistsAgreeWithScontrol(t *testing.T) {
	run := scontrol(t)
	for _, list := range []string{"gpu[1-3,07],login1,rack[1-2]n[01-04]", "a[1-2]b[1-3]c[1-2]d[08-10]", "a[98-101],b"} {
		out, err := run("show", "hostnames", list)
		if err != nil {
			t.Fatalf("scontrol show hostnames %s: %v", list, err)
		}
		got, err := slurm.Expand(list)
		if err != nil || strings.Join(got, "\n") != strings.TrimSpace(out) {
			t.Errorf("Expand(%q) = %q, %v; scontrol says %q", list, got, err, out)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		names := hostNames().Draw(rt, "names")
		out, err := run("show", "hostlist", strings.Join(names, ","))
		if err != nil {
			rt.Fatalf("scontrol show hostlist %q: %v", names, err)
		}
		if got := slurm.Compress(names); got != strings.TrimSpace(out) {
			rt.Errorf("Compress(%q) = %q; scontrol says %q", names, got, out)
		}
	})
}
