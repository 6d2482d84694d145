package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// TestInterruptedBySignal: a simulation that a signal ends names the signal. "context canceled"
// sounded like a time limit of sluice's own.
func TestInterruptedBySignal(t *testing.T) {
	ctx, stop := terminal.Interruptible(t.Context())
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the signal did not arrive")
	}
	c := newCommand()
	var out, errs bytes.Buffer
	c.SetArgs([]string{"whatif", "--sacct", "../../elastic/sim/workload/testdata/sacct/site.txt"})
	c.SetOut(&out)
	c.SetErr(&errs)
	err := c.ExecuteContext(ctx)
	if err == nil || !strings.Contains(err.Error(), "terminated signal received") || strings.Contains(err.Error(), "context canceled") {
		t.Errorf("%v", err)
	}
	if err := terminal.Interrupted(ctx, errors.New("no such file")); err.Error() != "no such file" {
		t.Errorf("another error became %v", err)
	}
	if err := terminal.Interrupted(context.Background(), context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("without a signal: %v", err)
	}
}
