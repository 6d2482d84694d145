package conform_test

import (
	"os"
	"os/user"
	"testing"

	"github.com/sluice-hpc/sluice/slurm/conform"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// rootEnv names the tree of another Slurm release to run instead of the
// machine's own, such as debootstrap makes.
const rootEnv = "SLUICE_LAB_ROOT"

func TestRealSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED on a real Slurm: -short")
	}
	if os.Geteuid() != 0 {
		skip(t, "only root can act as several users")
	}
	owner, other := accounts(t)
	l := labtest.Up(t, lab.Config{Nodes: 10, GPUs: 4, Root: os.Getenv(rootEnv)})
	t.Logf("Slurm %s, jobs of %s and %s", l.Release(), owner, other)
	conform.Run(t, conform.Lab(t, l, owner, other))
}

func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(labtest.RequireEnv) == "1" {
		t.Fatalf("%s=1 and %s", labtest.RequireEnv, why)
	}
	t.Skipf("NOT TESTED on a real Slurm: %s", why)
}

// accounts finds two unprivileged accounts that every Debian has, or better.
func accounts(t *testing.T) (owner, other string) {
	var found []string
	for _, name := range []string{"alice", "bob", "nobody", "games", "mail"} {
		if _, err := user.Lookup(name); err == nil {
			found = append(found, name)
		}
	}
	if len(found) < 2 {
		skip(t, "two unprivileged accounts are needed")
	}
	return found[0], found[1]
}
