package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// aging reads PriorityType, PriorityFlags, PriorityWeightAge and PriorityMaxAge. What cannot be read
// counts as no age factor: jobs of equal priority start in the order they came.
func aging(s Settings) slurm.Aging {
	always := slices.Contains(strings.Split(strings.ToUpper(s["PriorityFlags"]), ","), "ACCRUE_ALWAYS")
	if s["PriorityType"] != "priority/multifactor" || always {
		return slurm.Aging{}
	}
	weight, err := strconv.ParseUint(s["PriorityWeightAge"], 10, 32)
	if err != nil || weight == 0 {
		return slurm.Aging{}
	}
	full, err := duration(s["PriorityMaxAge"])
	if err != nil || full <= 0 {
		return slurm.Aging{}
	}
	return slurm.Aging{Weight: int64(weight), Full: full}
}
