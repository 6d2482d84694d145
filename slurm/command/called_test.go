package command

import (
	"slices"
	"testing"
	"time"
)

// TestCalled: each call is told of once, with its request, its time and whether it failed.
func TestCalled(t *testing.T) {
	s := newStubs(t)
	s.set("scontrol", "echo ClusterName = x")
	s.set("squeue", "exit 1")
	now := time.Unix(0, 0)
	var got []string
	c, err := New(Config{Dir: s.dir, Now: func() time.Time { now = now.Add(time.Second); return now }, Called: func(request string, took time.Duration, err error) {
		if took != time.Second {
			t.Errorf("%s took %v", request, took)
		}
		if err != nil {
			request += " failed"
		}
		got = append(got, request)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Settings(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Jobs(t.Context()); err == nil {
		t.Error("squeue did not fail")
	}
	if want := []string{"scontrol show config", "squeue failed"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
