package policy

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
)

// Policy is a named way to divide GPUs.
type Policy struct {
	Name string
	Doc  string // one sentence for people who choose
	// Allocate gives every job of the snapshot a Decision. It is pure.
	Allocate func(elastic.Snapshot) elastic.Allocation
}

// All lists the policies; the first is the default.
var All = []Policy{
	{"knapsack", "start everybody on the minimum at once, then give idle GPUs where they save most time", knapsackPolicy},
	{"fcfs", "the minimum each, first come, first served; never resized (a baseline)", fcfs},
	{"ef", "all free GPUs to the job at the head of the queue; never resized (a baseline)", ef},
}

// ByName returns the policy; the error names those there are.
func ByName(name string) (Policy, error) {
	names := make([]string, len(All))
	for i, p := range All {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return Policy{}, fmt.Errorf("unknown policy %q: want %s", name, strings.Join(names, ", "))
}
