package policy

import (
	"testing"
	"time"
)

// TestObstacles: what is said of a job that waits is what keeps it waiting.
func TestObstacles(t *testing.T) {
	for want, got := range map[string]string{
		"waiting for 8 GPUs: 11 are free, as 3+4+4 on 3 nodes, but a job gets the same number on each node; --allow-uneven at submit lifts that": obstacle{want: 8, all: 12, free: []int{3, 4, 4}}.String(),
		"waiting for 1 GPU: all 12 GPUs are in use; 3 jobs run at their minimum, 1 job cannot be resized now":                                    obstacle{want: 1, all: 12, minimum: 3, fixed: 1}.String(),
		"waiting for 4 GPUs: 2 of 12 are free; 1 job runs at its minimum":                                                                        obstacle{want: 4, all: 12, free: []int{1, 1}, minimum: 1}.String(),
		"never starts: it asks for 120 h, and the MaxTime of partition gpu is 24 h; type: scontrol update JobId=7 TimeLimit=1440":                tooLong{7, 120 * time.Hour, 24 * time.Hour, "gpu"}.String(),
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
