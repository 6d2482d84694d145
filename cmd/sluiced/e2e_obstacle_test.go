package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// A job that Slurm does not start because of a license in use releases its GPUs within seconds, also to
// the job that has the license. Its reason says so, and it starts when the license is free. A job
// with an open move does not lose its license meanwhile.
func TestALicenseInUse(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4), func(c *site.Config) { c.Lab.ExtraConf = "Licenses=lic:1\n" })
	first := s.submit("first", "", 24, []string{"--licenses=lic:1", "--min-gpus=1", "--max-gpus=4"}, "--seconds", "2")
	first.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" && v.Speaks })
	second := s.submit("second", "", 5, []string{"--licenses=lic", "--min-gpus=1", "--max-gpus=1"})
	second.until("to be told of the license", func(v wire.Job) bool {
		return v.GPUs == 0 && v.Move == nil && strings.Contains(v.Reason, "(Licenses): licenses that it asks for are in use; next try at ")
	})
	said := time.Now()
	first.runsOn(4)
	t.Logf("the first has all GPUs %s after the second was refused", time.Since(said).Round(100*time.Millisecond))
	if v := second.view(); v.State != "PENDING" || v.GPUs != 0 {
		t.Errorf("the second is %s on %d GPUs: %s", v.State, v.GPUs, v.Reason)
	}
	first.completes()
	over := time.Now()
	second.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" || v.State == "COMPLETED" })
	if took := time.Since(over); took > 25*time.Second {
		t.Errorf("the second started %s after the first had ended", took)
	}
	second.completes()
}
