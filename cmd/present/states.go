package present

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// States are the compact and full names that -t takes: those of squeue.
var States = map[string]string{
	"PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CG": "COMPLETING", "CD": "COMPLETED", "CA": "CANCELLED", "F": "FAILED",
	"TO": "TIMEOUT", "NF": "NODE_FAIL", "PR": "PREEMPTED", "BF": "BOOT_FAIL", "DL": "DEADLINE", "OOM": "OUT_OF_MEMORY",
	"CF": "CONFIGURING", "RS": "RESIZING", "RD": "RESV_DEL_HOLD", "RQ": "REQUEUED", "RF": "REQUEUE_FED", "RH": "REQUEUE_HOLD",
	"RV": "REVOKED", "SI": "SIGNALING", "SE": "SPECIAL_EXIT", "SO": "STAGE_OUT", "ST": "STOPPED", "ALL": "all",
}

// list is the value of an option that takes names, separated by commas. Unlike pflag's own lists it keeps an empty
// name, which Check refuses, as squeue does: -t "$unset" MUST NOT list the jobs in all states.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }
func (l *list) Type() string   { return "strings" }
func (l *list) Set(names string) error {
	*l = append(*l, strings.Split(strings.TrimRight(names, ","), ",")...)
	return nil
}

func knownStates(wanted []string) error {
	for _, s := range wanted {
		known := States[strings.ToUpper(s)] != ""
		var all []string
		for _, full := range States {
			known = known || strings.EqualFold(full, s)
			all = append(all, full)
		}
		if !known {
			slices.Sort(all)
			return fmt.Errorf("invalid job state %q; valid states: %s", s, strings.Join(all, ", "))
		}
	}
	return nil
}

func inStates(j *wire.Job, wanted []string) bool {
	word, _, _ := strings.Cut(j.State, " ") // "CANCELLED by 1000"
	return slices.ContainsFunc(wanted, func(s string) bool {
		return strings.EqualFold(s, j.ST) || strings.EqualFold(s, word) || strings.EqualFold(s, States[j.ST])
	})
}

func inPartitions(j *wire.Job, wanted []string) bool {
	return slices.ContainsFunc(strings.Split(j.Partition, ","), func(p string) bool { return slices.Contains(wanted, p) })
}
