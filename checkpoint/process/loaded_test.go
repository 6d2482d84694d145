package process

import (
	"strings"
	"testing"
)

// TestLoaded: a program that the dynamic loader was called with has its own name, as
// Slurm's commands of another file tree have.
func TestLoaded(t *testing.T) {
	for line, want := range map[string]string{
		"/t/lib/ld-linux-x86-64.so.2 --library-path /a:/b /t/usr/bin/srun -n 1": "srun",
		"ld-linux-x86-64.so.2 --argv0 x --preload=y /t/slurmctld-of-long-name":  "slurmctld-of-lo",
		"ld-linux-x86-64.so.2 --help":                                           "ld-linux-x86-64",
		"ld-linux-x86-64.so.2":                                                  "ld-linux-x86-64",
	} {
		if got := loaded("ld-linux-x86-64", strings.Fields(line)); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
