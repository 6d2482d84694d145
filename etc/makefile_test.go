package etc

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPackagesComeBeforeTheBuild: the build needs gcc, which a fresh Debian lacks.
func TestPackagesComeBeforeTheBuild(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("NOT TESTED: the order of the Makefile: no make")
	}
	if _, err := os.ReadFile("../Makefile"); err != nil { // so that a result is not kept once it has changed
		t.Fatal(err)
	}
	for _, target := range []string{"demo", "test"} {
		cmd := exec.CommandContext(t.Context(), "make", "-n", "-C", "..", target)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=") // of the make that runs the tests
		})
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("make -n %s: %v", target, err)
		}
		packages, build := strings.Index(string(out), "etc/install-packages"), strings.Index(string(out), "./cmd/sluiced")
		if packages < 0 || build < 0 || packages > build {
			t.Errorf("make %s: packages at %d, the build at %d of:\n%s", target, packages, build, out)
		}
	}
}
