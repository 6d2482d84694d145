package lookahead

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// obstacle is what keeps a waiting job that comes first from starting.
type obstacle struct {
	want    int
	all     int   // usable GPUs of its partition
	free    []int // by node that has any
	uneven  bool  // it takes any split
	split   bool  // some split with different numbers is there now, and it takes none such
	minimum int   // jobs that run there at their minimum
	fixed   int   // jobs that run there and cannot be resized now
}

// obstacle looks at the nodes that the job may use.
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

// reason is the obstacle as one.
func (o obstacle) reason() reason.Reason {
	return reason.WaitsForRoom{GPUs: o.want, All: o.all, Free: o.free, Uneven: o.split, Minimum: o.minimum, Fixed: o.fixed}
}
