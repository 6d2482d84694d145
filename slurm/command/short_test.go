package command

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestWithoutDescriptors: F17, a program that could not be started for lack of file
// descriptors had no effect, and is not reported as not installed.
func TestWithoutDescriptors(t *testing.T) {
	s := newStubs(t)
	c := s.client(Config{})
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, asked := c.Jobs(context.Background())
	changed := c.RequeueHold(context.Background(), 7)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{asked, changed} {
		if !errors.Is(err, slurm.ErrControllerDown) || errors.Is(err, slurm.ErrUnknownOutcome) || !strings.Contains(err.Error(), "too many open files") {
			t.Errorf("%v", err)
		}
	}
	if called := s.calls(); len(called) != 0 {
		t.Errorf("%q", called)
	}
	if err := c.RequeueHold(context.Background(), 7); err != nil {
		t.Errorf("with descriptors again: %v", err)
	}
}
