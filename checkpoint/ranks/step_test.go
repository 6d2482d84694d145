package ranks

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestUnended: a step that failed has ended when all of its nodes said so, and one
// whose node was killed never does.
func TestUnended(t *testing.T) {
	dir := t.TempDir()
	wantEnded(t, "nothing ran", dir)
	first := begin(t, `sleep 1000`, step(dir, 0, 1, 1)...)
	second := begin(t, "echo up >"+dir+"/up; sleep 1000", step(dir, 1, 1, 1)...)
	until(t, "both are up", func() bool { return slurp(dir+"/up") != "" })
	wantEnded(t, "it is well", dir)
	second.Process.Kill()
	n := Node{Name: "gpu1", Nodes: 2, Meeting: "2.4", JobDir: dir}
	if err := n.writeFailure(n.failed(0, 1)); err != nil { // as it is when the connection to the other breaks
		t.Fatal(err)
	}
	first.exits(t, 1)
	rest, unended := Unended(dir)
	if !unended || rest.String() != "step 2.4: rank 0 on node gpu1 failed first (exit code 1), and node gpu2 has not ended" {
		t.Fatalf("%v, %v", rest, unended)
	}
	later := Node{Nodes: 2, Meeting: "2.10", JobDir: dir}
	if err := later.leave("0", note{Name: "gpu1", Local: 1}); err != nil {
		t.Fatal(err)
	}
	wantEnded(t, "another step trains", dir)
	if err := os.RemoveAll(filepath.Join(dir, Folder, "2.10")); err != nil {
		t.Fatal(err)
	}
	if err := (Node{ID: 1, Meeting: "2.4", JobDir: dir}).reportOver(); err != nil {
		t.Fatal(err)
	}
	wantEnded(t, "all have ended", dir)
}

func wantEnded(t *testing.T, when, dir string) {
	t.Helper()
	if rest, unended := Unended(dir); unended {
		t.Errorf("%s: %v", when, rest)
	}
}

// TestEndsAreTold: the nodes of a step report their end in every case but one, in which
// Slurm does not notice it.
func TestEndsAreTold(t *testing.T) {
	for what, script := range map[string]string{"failure": `[ $RANK = 0 ] || exit 3; exec sleep 1000`, "cannot start": "no"} {
		dir := t.TempDir()
		a, b := begin(t, script, step(dir, 0, 1, 1)...), begin(t, script, step(dir, 1, 1, 1)...)
		a.Wait()
		b.Wait()
		wantEnded(t, what, dir)
		if _, failed := FirstFailure(dir); !failed {
			t.Errorf("%s: not told", what)
		}
	}
}

// TestNodeThatNeverComes is a failure, too, and named by its number.
func TestNodeThatNeverComes(t *testing.T) {
	dir := t.TempDir()
	n := begin(t, "exit 0", append(step(dir, 0, 1, 1), "SLUICE_TEST_WAIT=50ms")...)
	n.exits(t, 2)
	if rest, unended := Unended(dir); !unended || strings.Join(rest.Missing, " ") != "1" {
		t.Errorf("%v, %v", rest, unended)
	}
}

// TestForget: after the script was started again its earlier steps count no more,
// and what is left of them ends.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	if err := Forget(dir); err != nil {
		t.Errorf("nothing ran: %v", err)
	}
	up := "echo up >>" + dir + "/up; "
	left := begin(t, up+`trap "exit 0" TERM; while :; do sleep 0.01; done`, step(dir, 0, 1, 1)...)
	other := begin(t, up+"sleep 1000", step(dir, 1, 1, 1)...)
	until(t, "both are up", func() bool { return slurp(dir+"/up") == "up\nup\n" })
	// Stopped, not killed: its connection stays open, so that left ends because it is
	// forgotten and not because it misses the other node, however slow this machine is.
	if err := other.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begin(t, `exit 4`, "SLUICE_JOB_DIR="+dir).exits(t, 4)
	if _, failed := FirstFailure(dir); !failed {
		t.Error("not told")
	}
	if err := Forget(dir); err != nil {
		t.Fatal(err)
	}
	left.exits(t, orphanCode)
	if f, failed := FirstFailure(dir); failed {
		t.Errorf("told after it was forgotten: %v", f)
	}
	wantEnded(t, "it is forgotten", dir)
	if _, err := os.Stat(filepath.Join(dir, Folder, "2.4", "0")); err != nil {
		t.Errorf("a folder in use is gone: %v", err)
	}
	begin(t, `exit 5`, "SLUICE_JOB_DIR="+dir).exits(t, 5)
	if f, failed := FirstFailure(dir); !failed || f.Code != 5 {
		t.Errorf("the next failure: %v, %v", f, failed)
	}
}
