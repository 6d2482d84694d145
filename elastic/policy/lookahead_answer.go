package policy

import (
	"fmt"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/joint"
	"github.com/sluice-hpc/sluice/nodes"
)

// answer turns a plan into an Allocation with each job's reason.
func (o *outlook) answer(plan joint.Plan) elastic.Allocation {
	a := make(elastic.Allocation, len(o.jobs))
	for i := range o.jobs {
		p := &o.jobs[i]
		switch {
		case p.role == fixed:
			a[p.ID] = elastic.Decision{GPUs: p.now, Why: p.still}
		case !p.active():
			a[p.ID] = elastic.Decision{GPUs: p.now, Why: "waits"}
		}
	}
	for k, i := range o.posed {
		p := &o.jobs[i]
		place := o.placement(plan.Places[k])
		d := elastic.Decision{GPUs: place.GPUs(), Place: place}
		d.Why = o.why(p, d)
		a[p.ID] = d
	}
	return a
}

func (o *outlook) placement(place []joint.Share) nodes.Placement {
	var out nodes.Placement
	for _, s := range place {
		out = append(out, nodes.Share{Node: o.snap.Nodes[s.Node].Name, GPUs: s.GPUs})
	}
	return out
}

func (o *outlook) why(p *prospect, d elastic.Decision) string {
	switch {
	case d.GPUs == p.now:
		return "keeps " + gpus(p.now)
	case p.now == 0:
		return "starts on " + gpus(d.GPUs)
	}
	return fmt.Sprintf("moves from %d to %s", p.now, gpus(d.GPUs))
}
