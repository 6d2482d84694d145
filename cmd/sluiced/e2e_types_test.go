package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control"
)

// A job that names a type of GPU runs on nodes with such alone, however idle others are,
// and its size in Slurm names the type; one that accepts several has GPUs of one.
func TestTypesOfGPU(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(4, 2), func(c *site.Config) { c.Lab.GPUTypes = []string{"big", "small", "big", "small"} })
	asks := func(j *job, want string) {
		t.Helper()
		if out := s.as("", "scontrol", "-o", "show", "job", fmt.Sprint(j.id)); !strings.Contains(out, want) {
			t.Errorf("Slurm shows %s\nwant %s", out, want)
		}
	}
	small := s.submit("small", "", 1000, []string{"--gpu-types=small"}, "--seconds", "0.4")
	small.on(4, "gpu2", "gpu4")
	asks(small, "gpu:small:2") // on each of two nodes
	fixed := s.submit("fixed", "", 1000, []string{"--gpus=big:2"}, "--seconds", "0.4")
	fixed.on(2, "gpu1", "gpu3")
	asks(fixed, "gpu:big:2")
	either := s.submit("either", "", 1000, []string{"--gpu-types=big,small", "--max-gpus=4"}, "--seconds", "0.4")
	either.on(2, "gpu1", "gpu3")
	s.cancel(fixed)
	either.on(4, "gpu1", "gpu3") // never a mix
	s.cancel(small, either)
	for _, j := range []*job{small, either} {
		j.until("to end", func(v control.Job) bool { return v.Ended })
	}
}
