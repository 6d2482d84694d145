package main

import (
	"testing"
)

// An order from inside a job says which run of it speaks; one from anywhere else
// says nothing.
func TestIncarnation(t *testing.T) {
	for _, c := range []struct {
		job, incarnation string
		want             int
	}{{"41", "3", 3}, {"42", "3", 0}, {"41", "", 0}, {"41", "-1", 0}, {"41", "x", 0}, {"", "3", 0}} {
		t.Setenv("SLUICE_JOB_ID", c.job)
		t.Setenv("SLUICE_INCARNATION", c.incarnation)
		if got := incarnation(41); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
