package slurm_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

func TestAgingAfter(t *testing.T) {
	a := slurm.Aging{Weight: 1<<32 - 1, Full: 10 * time.Hour}
	for _, c := range []struct {
		of     slurm.Aging
		waited time.Duration
		want   int64
	}{
		{a, 0, 0},
		{a, -time.Hour, 0},
		{a, 5 * time.Hour, 1<<31 - 1},
		{a, 10 * time.Hour, 1<<32 - 1},
		{a, math.MaxInt64, 1<<32 - 1},
		{slurm.Aging{}, time.Hour, 0},
		{slurm.Aging{Weight: 5}, time.Hour, 0},
		{slurm.Aging{Full: time.Hour}, time.Hour, 0},
	} {
		if got := c.of.After(c.waited); got != c.want {
			t.Errorf("%+v after %v is %d, want %d", c.of, c.waited, got, c.want)
		}
	}
}
