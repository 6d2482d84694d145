package policy

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
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
func (w foresight) obstacle(p *prospect) obstacle {
	o := obstacle{want: p.least(), uneven: p.Spec.AllowUneven || w.snap.Limits.AnySplit}
	o.split = !o.uneven && unevenly(w.snap.Nodes, &p.Job, o.want, w.snap.Limits)
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
		if !slices.ContainsFunc(j.at.Nodes(), func(name string) bool { return usable[name] }) {
			continue
		}
		switch {
		case j.role == fixed:
			o.fixed++
		case j.now <= j.least():
			o.minimum++
		}
	}
	return o
}

// reason is the obstacle as one.
func (o obstacle) reason() reason.Reason {
	return reason.WaitsForRoom{GPUs: o.want, All: o.all, Free: o.free, Uneven: o.split, Minimum: o.minimum, Fixed: o.fixed}
}

// unevenly reports whether Slurm would give the job so many GPUs, with different numbers on
// the nodes, if it took such splits.
func unevenly(inventory []nodes.Node, j *elastic.Job, want int, l elastic.Limits) bool {
	r := j.Request(l)
	r.GPUs, r.Uneven = want, true
	return len(nodes.Place(inventory, []nodes.Request{r})[0].Placement) > 0
}

// impossible says why so many GPUs cannot be had even on an empty cluster.
func impossible(s *elastic.Snapshot, j *elastic.Job, want int) reason.Reason {
	empty, most := slices.Clone(s.Nodes), 0
	for i := range empty {
		empty[i] = empty[i].Empty()
	}
	for _, partition := range strings.Split(j.Partition, ",") {
		have := 0
		for _, n := range empty {
			if n.In(partition) {
				have += n.FreeOf(j.Spec.Type())
			}
		}
		most = max(most, have)
	}
	return reason.CannotStart{
		GPUs: want, Have: most, Split: want <= most, Fixed: j.AsAsked().Fixed(),
		Uneven: want <= most && !j.Spec.AllowUneven && unevenly(empty, j, want, s.Limits),
	}
}
