package command

import (
	"strconv"

	"github.com/sluice-hpc/sluice/slurm"
)

// FairShare reads PriorityType, PriorityWeightFairShare and PriorityDecayHalfLife, by the names that
// scontrol prints; slurm.conf(5) writes one of them otherwise. A weight that cannot be read counts as
// 0: the site's shares decide nothing. A half-life that cannot be read counts as Slurm's default.
func (s Settings) FairShare() slurm.FairShare {
	if s["PriorityType"] != "priority/multifactor" {
		return slurm.FairShare{}
	}
	weight, err := strconv.ParseUint(s["PriorityWeightFairShare"], 10, 32)
	if err != nil || weight == 0 {
		return slurm.FairShare{}
	}
	halfLife, err := duration(s["PriorityDecayHalfLife"])
	if err != nil || s["PriorityDecayHalfLife"] == "" {
		halfLife = slurm.DefaultHalfLife
	}
	return slurm.FairShare{Weight: int64(weight), HalfLife: halfLife}
}
