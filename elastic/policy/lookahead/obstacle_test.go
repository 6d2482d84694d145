package lookahead

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// TestObstacles: the reason given for a waiting job is what keeps it waiting.
func TestObstacles(t *testing.T) {
	for want, got := range map[string]reason.Reason{
		"waiting for 11 GPUs: 11 are free, as 3+4+4 on 3 nodes, but a job gets the same number on each node; --allow-uneven at submit lifts that": obstacle{want: 11, all: 12, free: []int{3, 4, 4}, split: true}.reason(),
		"waiting for 1 GPU: all 12 GPUs are in use; 3 jobs run at their minimum, 1 job cannot be resized now":                                     obstacle{want: 1, all: 12, minimum: 3, fixed: 1}.reason(),
		"waiting for 4 GPUs: 2 of 12 are free; 1 job runs at its minimum":                                                                         obstacle{want: 4, all: 12, free: []int{1, 1}, minimum: 1}.reason(),
		"never starts: it asks for 120 h, and the MaxTime of partition gpu is 24 h; type: scontrol update JobId=7 TimeLimit=1440":                 reason.NeverStarts{Job: 7, Asked: 120 * 3600, MaxTime: 24 * 3600, Partition: "gpu"},
		"waiting for 8 GPUs: 11 are free, as 3+4+4, but not with the CPUs, memory or number of nodes it needs":                                    obstacle{want: 8, all: 12, free: []int{3, 4, 4}}.reason(),
	} {
		if got := say.Reason(got, time.Time{}); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
