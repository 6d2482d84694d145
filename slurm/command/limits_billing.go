package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// weights reads a partition's TRESBillingWeights, such as
// "CPU=1.0,Mem=0.25G,GRES/gpu=2.0". Resources that sluice does not change are left out.
func weights(list string) ([]slurm.Weight, error) {
	if empty(list) {
		return nil, nil
	}
	var out []slurm.Weight
	for _, item := range strings.Split(list, ",") {
		name, s, _ := strings.Cut(item, "=")
		name, tracked := ofInterest(name)
		if !tracked || name == slurm.OfBilling {
			continue
		}
		n, ok := weight(name, s)
		if !ok {
			return nil, fmt.Errorf("%q is not a weight", shorten(item))
		}
		out = append(out, slurm.Weight{Of: name, N: n})
	}
	return out, nil
}

// weight reads the weight of one unit; for memory of one megabyte: "0.25G" means 0.25 per
// gigabyte.
func weight(name, s string) (float64, bool) {
	const units = "KMGTP"
	power := strings.IndexByte(units, last(strings.ToUpper(s))) + 1
	if power > 0 {
		s = s[:len(s)-1]
		if name == slurm.OfMemory {
			power -= strings.IndexByte(units, 'M') + 1
		}
	}
	if strings.Trim(s, "0123456789.eE+-") != "" { // as strtod(3) reads it, except hex and NaN
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n / math.Pow(1024, float64(max(0, power))), err == nil && n >= 0
}

// tracks removes the weights of resources that Slurm does not track or account for; a
// GRES is tracked only by name.
func (a accounting) tracks(list []slurm.Partition) {
	for i := range list {
		list[i].Weights = slices.DeleteFunc(list[i].Weights, func(w slurm.Weight) bool {
			return strings.HasPrefix(w.Of, slurm.OfGPUs) && !slices.Contains(a.tracked, w.Of) || w.Of == slurm.OfMemory && !a.memory
		})
	}
}

// billingRule reads PriorityFlags.
func billingRule(flags string) slurm.BillingRule {
	words := strings.Split(strings.ToUpper(flags), ",")
	switch {
	case slices.Contains(words, "MAX_TRES_GRES"):
		return slurm.BillLargestAndGRES
	case slices.Contains(words, "MAX_TRES"):
		return slurm.BillLargest
	}
	return slurm.BillSum
}
