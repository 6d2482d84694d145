package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestWaitForAll: the highest exit code of an array is that of --wait, as with sbatch, and
// what is no exit code is said and counts as 1; of one job its end is its own.
func TestWaitForAll(t *testing.T) {
	forgotten := errors.New("job 5 ended, and Slurm has already forgotten how")
	for _, tc := range []struct {
		ends []error
		want error
		said string
	}{
		{[]error{nil, nil}, nil, ""},
		{[]error{nil, terminal.ExitCode(3), terminal.ExitCode(2)}, terminal.ExitCode(3), ""},
		{[]error{forgotten, nil}, terminal.ExitCode(1), "sluice: error: job 5 ended, and Slurm has already forgotten how\n"},
		{[]error{forgotten}, forgotten, ""},
	} {
		var errs bytes.Buffer
		s := submission{errs: &errs}
		if got := s.worst(tc.ends); got != tc.want || errs.String() != tc.said {
			t.Errorf("%v: got %v, said %q", tc.ends, got, errs.String())
		}
	}
	asked := 0
	r := sharedReport{fresh: time.Hour, ask: func(context.Context) (wire.Report, error) { asked++; return wire.Report{}, nil }}
	for range 5 {
		_, _ = r.report(t.Context())
	}
	if asked != 1 {
		t.Errorf("five jobs asked %d times", asked)
	}
}

// TestRanges: numbers as people write them.
func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "7": {7}, "1-3": {3, 1, 2}, "1,3,5-7": {1, 3, 5, 6, 7}} {
		if got := ranges(numbers); got != want {
			t.Errorf("%v: %q", numbers, got)
		}
	}
}
