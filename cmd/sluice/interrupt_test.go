package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterruptedBySignal: a simulation that a signal ends names the signal. "context canceled"
// sounded like a time limit of sluice's own.
func TestInterruptedBySignal(t *testing.T) {
	ctx, stop := interruptible(t.Context())
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the signal did not arrive")
	}
	c := newCommand([]string{"whatif"})
	var out, errs bytes.Buffer
	c.SetArgs([]string{"whatif", "--sacct", "../../elastic/sim/workload/testdata/sacct/site.txt"})
	c.SetOut(&out)
	c.SetErr(&errs)
	err := c.ExecuteContext(ctx)
	if err == nil || !strings.Contains(err.Error(), "terminated signal received") || strings.Contains(err.Error(), "context canceled") {
		t.Errorf("%v", err)
	}
	if err := interrupted(ctx, errors.New("no such file")); err.Error() != "no such file" {
		t.Errorf("another error became %v", err)
	}
	if err := interrupted(context.Background(), context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("without a signal: %v", err)
	}
}
