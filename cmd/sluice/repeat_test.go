package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestAgain: -i prints below the time, and goes on past an error.
func TestAgain(t *testing.T) {
	var out, errs bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&out)
	c.SetErr(&errs)
	n := 0
	now := func() time.Time { n++; return time.Date(2026, 3, 4, 12, 0, n, 0, time.UTC) }
	print := func() error {
		if n == 2 {
			return errors.New("no sluiced: there is no socket")
		}
		_, err := out.WriteString("jobs\n")
		return err
	}
	if err := again(c, print, now, func() bool { return n < 3 }); err != nil {
		t.Fatal(err)
	}
	want := "Wed Mar  4 12:00:01 2026\njobs\n\nWed Mar  4 12:00:02 2026\n\nWed Mar  4 12:00:03 2026\njobs\n"
	if out.String() != want || errs.String() != "sluice: error: no sluiced: there is no socket\n" {
		t.Errorf("%q, %q", out.String(), errs.String())
	}
}
