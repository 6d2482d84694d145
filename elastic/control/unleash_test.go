package control_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// unleash runs a test of this program, an attack, in its own process at the lowest priority.
// stop ends it and returns its first line of output.
func unleash(t *testing.T, test string, variables ...string) (stop func() string) {
	t.Helper()
	cmd := exec.Command("nice", "-n", "19", os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), variables...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	leash, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceValue(func() string {
		leash.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", test, err, said.String())
		}
		return strings.SplitN(said.String(), "\n", 2)[0]
	})
	t.Cleanup(func() { stop() })
	return stop
}
