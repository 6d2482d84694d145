package lookahead

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// obstacle is what keeps the first waiting job from starting.
type obstacle struct {
	want    int
	all     int   // usable GPUs in its partition
	free    []int // by node that has any
	uneven  bool  // it accepts any split
	split   bool  // a split with different numbers of GPUs is free, and the job accepts none such
	minimum int   // number of jobs that run there at their minimum
	fixed   int   // number of jobs that run there and cannot be resized now
}

// obstacle examines the nodes that the job may use. free counts what is idle in the snapshot, not
// what is left after the decision. Jobs at their minimum and Fixed ones are counted if any of
// their nodes is among these.
func (w explainer) obstacle(p *job) obstacle {
	o := obstacle{want: p.Least(), uneven: p.Spec.AllowUneven || w.snap.Limits.AnySplit()}
	o.split = !o.uneven && roles.Unevenly(w.snap.Nodes, &p.Job, o.want, w.snap.Limits)
	usable := map[string]bool{}
	for _, n := range w.snap.Nodes {
		if !n.Usable || !slices.ContainsFunc(strings.Split(p.Partition, ","), n.In) {
			continue
		}
		usable[n.Name] = true
		if o.all += n.Has(p.Spec.Type()); n.FreeOf(p.Spec.Type()) > 0 {
			o.free = append(o.free, n.FreeOf(p.Spec.Type()))
		}
	}
	for i := range w.jobs {
		j := &w.jobs[i]
		if !slices.ContainsFunc(j.At.Nodes(), func(name string) bool { return usable[name] }) {
			continue
		}
		switch {
		case j.Role == roles.Fixed:
			o.fixed++
		case j.Now <= j.Least():
			o.minimum++
		}
	}
	return o
}

// reason returns the obstacle as a reason.
func (o obstacle) reason() reason.Reason {
	return reason.WaitsForRoom{GPUs: o.want, All: o.all, Free: o.free, Uneven: o.split, Minimum: o.minimum, Fixed: o.fixed}
}
