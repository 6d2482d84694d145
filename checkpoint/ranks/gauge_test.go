package ranks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGaugeOnOtherNodes: the first node's GPUs are the runner's to look at; the
// program on the others ends with the processes.
func TestGaugeOnOtherNodes(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "gauge.sh")
	text := "#!/bin/bash\necho \"$BASHPID $*\" >>" + dir + "/started\nsleep 100\n"
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	var nodes []*node
	for id := range 2 {
		env := append(step(dir, id, 1, 1), "SLUICE_TEST_GAUGE="+program)
		nodes = append(nodes, begin(t, "until [ -s "+dir+"/started ]; do sleep 0.02; done", env...))
	}
	for _, n := range nodes {
		n.exits(t, 0)
	}
	started, _ := os.ReadFile(filepath.Join(dir, "started"))
	pid, args, _ := strings.Cut(strings.TrimSpace(string(started)), " ")
	if args != "--into="+dir+" --node=gpu2" {
		t.Errorf("started as %q", started)
	}
	if cmd, _ := os.ReadFile("/proc/" + pid + "/cmdline"); strings.Contains(string(cmd), "gauge.sh") {
		t.Errorf("it outlived its node's processes")
	}
}
