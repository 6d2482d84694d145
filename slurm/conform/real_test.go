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

// rootEnv is the variable with the tree of another Slurm release to run instead of the
// machine's own, such as debootstrap makes; labtest.RootsEnv lists further ones.
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
	// In limits and reservations Slurm 26.05 treats the account nobody as no user.
	owner, other := accounts(t, "alice", "bob", "games", "mail")
	if root := os.Getenv(rootEnv); root != "" {
		realSlurm(t, root, owner, other)
		return
	}
	for _, root := range labtest.Roots() {
		t.Run(treeName(root), func(t *testing.T) { realSlurm(t, root, owner, other) })
	}
}

// realSlurm checks the promises on the release of a tree ("" = this machine's own).
func realSlurm(t *testing.T, root, owner, other string) {
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 10, GPUs: 4, Root: root, ExtraConf: "Licenses=" + conform.License + ":1"})
	t.Logf("Slurm %s, jobs of %s and %s", l.Release(), owner, other)
	tell(l.Release(), conform.Run(t, conform.Lab(t, l, owner, other)))
}

// TestRealSlurmAtItsDefaults checks the promises about passes and begin times on every
// available release, with the scheduling parameters that most sites have.
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
			l := labtest.Up(t, lab.Config{Nodes: 6, GPUs: 4, Root: root})
			tell(l.Release()+"+defaults", conform.RunPasses(t, conform.Lab(t, l, owner, other)))
		})
	}
}

// TestRealSlurmWithTypes checks the promises about GPU types, several of them on one
// node, on every available release.
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

// aging makes priorities show a job's age. Without slurmdbd slurmctld does not renew them.
const aging = "PriorityType=priority/multifactor\nPriorityWeightAge=1000000\nPriorityMaxAge=0-01:00:00\nPriorityCalcPeriod=1\nPriorityWeightPartition=1000\n"

// TestRealSlurmWithLimits checks the promises about limits on every available release
// that has slurmdbd.
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
			l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 8, GPUs: 4, Root: root, Accounting: true, ExtraConf: "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\n" + aging})
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

// accounts returns two of these unprivileged accounts; every Debian has the last one.
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
