package main_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// A lab comes with a sluiced that sees its types of GPU, and takes it along when it goes.
func TestLabWithDaemon(t *testing.T) {
	if err := lab.Missing(""); err != nil {
		t.Skipf("SKIPPED, nothing was tested on a real Slurm: %v", err)
	}
	dir := filepath.Join(labtest.Dir(t), "lab")
	sluice := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "sluice"), args...)
		cmd.Env = append(os.Environ(), "SLUICE_CONF="+filepath.Join(dir, "sluice.toml"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("sluice %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	sluice("lab", "up", "--dir", dir, "--nodes", "2", "--gpu-types", "a100,t4", "--daemon")
	down := func() string { return sluice("lab", "down", "--dir", dir) }
	defer func() {
		if t.Failed() {
			down()
		}
	}()
	var status wire.Status
	if err := json.Unmarshal([]byte(sluice("status", "--json")), &status); err != nil || status.GPUs != 8 || status.PID < 2 {
		t.Fatalf("%+v, %v", status, err)
	}
	if nodes := sluice("nodes"); !strings.Contains(nodes, "a100") || !strings.Contains(nodes, "t4") {
		t.Errorf("nodes:\n%s", nodes)
	}
	down()
	if syscall.Kill(status.PID, 0) == nil {
		t.Errorf("sluiced (pid %d) outlived its lab", status.PID)
	}
}
