package nvml

import (
	"fmt"
	"slices"
	"strings"
)

// State is the driver's report on one GPU's health. The zero State is a healthy GPU, or
// one whose driver reports nothing.
type State struct {
	Lost bool // it no longer answers on the bus
	// Wants is what the driver asks for before new work starts on it, as in "a reset"; ""
	// = nothing.
	Wants string
	// Uncorrected counts memory errors that could not be corrected since the
	// driver was loaded.
	Uncorrected uint64
	// RemapFailed: a bad row of memory could not be replaced by a spare one.
	RemapFailed bool
	// XIDs are the critical errors seen, oldest first.
	XIDs []int
}

// Unfit is the reason for which the GPU should run no job; "" = it may run jobs. A
// pending reset that is not urgent (a row to be remapped, a page to be retired) does not
// make it unfit: NVIDIA allows new work on such a GPU
// (https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/).
func Unfit(s State) string {
	var why []string
	if s.Lost {
		why = append(why, "lost: it no longer answers")
	}
	if s.Wants != "" {
		why = append(why, "its driver asks for "+s.Wants)
	}
	if s.Uncorrected > 0 {
		why = append(why, fmt.Sprintf("uncorrectable memory errors: %d", s.Uncorrected))
	}
	if s.RemapFailed {
		why = append(why, "row remapping failed")
	}
	var told []int
	for _, code := range s.XIDs {
		if words, bad := hardware[code]; bad && !slices.Contains(told, code) {
			told = append(told, code)
			why = append(why, fmt.Sprintf("XID %d: %s", code, words))
		}
	}
	return strings.Join(why, "; ")
}
