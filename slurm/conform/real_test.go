package conform_test

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/sluice-hpc/sluice/slurm/conform"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// rootEnv names the tree of another Slurm release to run instead of the
// machine's own, such as debootstrap makes; labtest.RootsEnv names further ones.
const rootEnv = "SLUICE_LAB_ROOT"

// tell prints the figure of one release, for make conform.
func tell(release string, s conform.Score) {
	fmt.Printf("conform: release=%s kept=%d total=%d\n", release, s.Kept, s.Total)
}

func TestRealSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED on a real Slurm: -short")
	}
	if os.Geteuid() != 0 {
		skip(t, "only root can act as several users")
	}
	// Slurm 26.05 takes nobody for no user, where limits and reservations are concerned.
	owner, other := accounts(t, "alice", "bob", "games", "mail")
	if root := os.Getenv(rootEnv); root != "" {
		realSlurm(t, root, owner, other)
		return
	}
	for _, root := range labtest.Roots() {
		t.Run(treeName(root), func(t *testing.T) { realSlurm(t, root, owner, other) })
	}
}

// realSlurm holds the release of a tree ("" = this machine's own) to the promises.
func realSlurm(t *testing.T, root, owner, other string) {
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 10, GPUs: 4, Root: root, ExtraConf: "Licenses=" + conform.License + ":1"})
	t.Logf("Slurm %s, jobs of %s and %s", l.Release(), owner, other)
	tell(l.Release(), conform.Run(t, conform.Lab(t, l, owner, other)))
}

// TestRealSlurmAtItsDefaults holds every release at hand, with the scheduling parameters
// that most sites have, to the promises about passes.
func TestRealSlurmAtItsDefaults(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED on a real Slurm: -short")
	}
	if os.Geteuid() != 0 {
		skip(t, "only root can act as several users")
	}
	owner, other := accounts(t, "alice", "bob", "games", "mail")
	for _, root := range labtest.Roots() {
		t.Run(treeName(root), func(t *testing.T) {
			l := labtest.Up(t, lab.Config{Nodes: 3, GPUs: 4, Root: root})
			tell(l.Release()+"+defaults", conform.RunPasses(t, conform.Lab(t, l, owner, other)))
		})
	}
}

// TestRealSlurmWithTypes holds every release at hand to the promises about types of GPU,
// several of them on one node.
func TestRealSlurmWithTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED on a real Slurm: -short")
	}
	if os.Geteuid() != 0 {
		skip(t, "only root can act as several users")
	}
	owner, other := accounts(t, "alice", "bob", "games", "mail")
	for _, root := range labtest.Roots() {
		t.Run(treeName(root), func(t *testing.T) {
			l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 4, GPUType: "blue", GPUTypes: []string{"red:2+blue:2"}, Root: root})
			tell(l.Release()+"+types", conform.RunTypes(t, conform.Lab(t, l, owner, other)))
		})
	}
}

// TestRealSlurmWithLimits holds every release at hand that has slurmdbd to the promises
// about limits.
func TestRealSlurmWithLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED on a real Slurm: -short")
	}
	if os.Geteuid() != 0 {
		skip(t, "only root can act as several users")
	}
	owner, other := accounts(t, "alice", "bob", "games", "mail")
	for _, root := range labtest.Roots() {
		t.Run(treeName(root), func(t *testing.T) {
			if err := lab.MissingAccounting(root); err != nil {
				skip(t, err.Error())
			}
			l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 8, GPUs: 4, Root: root, Accounting: true, ExtraConf: "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\n"})
			t.Logf("Slurm %s with slurmdbd, jobs of %s", l.Release(), owner)
			tell(l.Release()+"+slurmdbd", conform.RunLimits(t, conform.Lab(t, l, owner, other)))
		})
	}
}

// treeName names a subtest: TestRealSlurm/bullseye.
func treeName(root string) string {
	if root == "" {
		return "own"
	}
	return filepath.Base(root)
}

func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(labtest.RequireEnv) == "1" {
		t.Fatalf("%s=1 and %s", labtest.RequireEnv, why)
	}
	t.Skipf("NOT TESTED on a real Slurm: %s", why)
}

// accounts finds two of these unprivileged accounts, the last of which every Debian has.
func accounts(t *testing.T, names ...string) (owner, other string) {
	var found []string
	for _, name := range names {
		if _, err := user.Lookup(name); err == nil {
			found = append(found, name)
		}
	}
	if len(found) < 2 {
		skip(t, "two unprivileged accounts are needed")
	}
	return found[0], found[1]
}
