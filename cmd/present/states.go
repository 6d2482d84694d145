package present

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// states are the compact and full names that -t takes.
var states = map[string]string{
	"PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CG": "COMPLETING", "CD": "COMPLETED", "CA": "CANCELLED", "F": "FAILED",
	"TO": "TIMEOUT", "NF": "NODE_FAIL", "PR": "PREEMPTED", "BF": "BOOT_FAIL", "DL": "DEADLINE", "OOM": "OUT_OF_MEMORY",
	"CF": "CONFIGURING", "RS": "RESIZING", "ALL": "all",
}

func knownStates(wanted []string) error {
	for _, s := range wanted {
		up := strings.ToUpper(s)
		known := states[up] != ""
		for _, full := range states {
			known = known || strings.EqualFold(full, s)
		}
		if !known {
			return fmt.Errorf("invalid job state %q", s)
		}
	}
	return nil
}

func inStates(j *wire.Job, wanted []string) bool {
	word, _, _ := strings.Cut(j.State, " ") // "CANCELLED by 1000"
	return slices.ContainsFunc(wanted, func(s string) bool {
		return strings.EqualFold(s, j.ST) || strings.EqualFold(s, word) || strings.EqualFold(s, states[j.ST])
	})
}

func inPartitions(j *wire.Job, wanted []string) bool {
	return slices.ContainsFunc(strings.Split(j.Partition, ","), func(p string) bool { return slices.Contains(wanted, p) })
}
