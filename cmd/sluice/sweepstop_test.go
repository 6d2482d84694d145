package main

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestStopCancelsLanesOnly: only a job of this user whose tag has the sweep's token is one of its lanes. What
// other users' jobs, a user's own comment and files say counts nothing.
func TestStopCancelsLanesOnly(t *testing.T) {
	token, id := strings.Repeat("a", 32), strings.Repeat("1", 32)
	v := &sweepView{View: &own.View{Sweep: sweep.Sweep{Token: token}, Lanes: []own.Lane{{Job: 7}}}}
	me := uint32(os.Geteuid())
	for name, c := range map[string]struct {
		job  slurm.Job
		want bool
	}{
		"a lane":               {slurm.Job{ID: 1, UID: me, Comment: "sluice/1 id=" + id + " inc=0 min=1 sweep=" + token}, true},
		"of another sweep":     {slurm.Job{ID: 2, UID: me, Comment: "sluice/1 id=" + id + " inc=0 min=1 sweep=" + strings.Repeat("b", 32)}, false},
		"of another user":      {slurm.Job{ID: 3, UID: me + 1, Comment: "sluice/1 id=" + id + " inc=0 min=1 sweep=" + token}, false},
		"an own comment":       {slurm.Job{ID: 4, UID: me, Comment: "sluice/1 id=" + id + " inc=0 min=1 ; again sweep=" + token}, false},
		"an ordinary job":      {slurm.Job{ID: 5, UID: me, Comment: "see sweep=" + token}, false},
		"a number in its file": {slurm.Job{ID: 7, UID: me}, false},
	} {
		if got := v.owns(c.job); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
