package slurm_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

func TestSlice(t *testing.T) {
	for kind, want := range map[string]bool{
		"1g.5gb": true, "7g.40gb": true, "1c.3g.20gb": true, "1g.10gb+me": true, "1g.12gb.me": true, "a100_3g.20gb": true,
		"nvidia_a100_1g.5gb": true, "nvidia_h100_80gb_hbm3_1g.10gb": true, "1G.5GB": true, "g.g.1g.5gb": true,
		"": false, "a100": false, "h100_80gb": false, "gh200": false, "g.5gb": false, "1g.gb": false, "1g.5": false, "rtx.5gb": false, "v100.16gb": false,
	} {
		if got := slurm.Slice(kind); got != want {
			t.Errorf("%q: %v", kind, got)
		}
	}
}
