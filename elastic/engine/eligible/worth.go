package eligible

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Bounds of what a GPU counts that counts something, so that sums stay finite.
const (
	leastWorth = 1e-9
	mostWorth  = 1e9
)

// Worth returns what one GPU of a type counts in a partition: its TRESBillingWeights for gres/gpu and
// for gres/gpu:TYPE together, of which with MAX_TRES only the larger counts, as in Slurm; 1 if the
// partition sets neither. kind is "" if the type is not known; then only the weight for all GPUs
// counts. The result is 0 or within the bounds above: 0 is a GPU that is free of charge.
func Worth(p slurm.Partition, kind string, by slurm.BillingRule) float64 {
	worth, set := 0., false
	for _, w := range p.Weights {
		if w.Of != slurm.OfGPUs && (kind == "" || !strings.EqualFold(w.Of, slurm.OfGPUs+":"+kind)) {
			continue
		}
		if set = true; by == slurm.BillLargest {
			worth = max(worth, w.N)
		} else {
			worth += w.N
		}
	}
	switch {
	case !set:
		return 1
	case worth < leastWorth:
		return 0
	}
	return min(worth, mostWorth)
}

// weighsGPUs reports whether a partition sets a weight for GPUs.
func (s Site) weighsGPUs() bool {
	return slices.ContainsFunc(s.Partitions, func(p slurm.Partition) bool {
		return slices.ContainsFunc(p.Weights, func(w slurm.Weight) bool { return strings.HasPrefix(w.Of, slurm.OfGPUs) })
	})
}

// weigh sets what each claim has by the worth of its GPUs (claim.Claim, Worth), in GPUs of mean worth:
// the claims together have as many as they have GPUs. It changes nothing where all GPUs count alike.
//
// The scale is such that the claims' Worth adds up to the GPUs they have. For example, with two users
// of 4 GPUs each, of weights 1 and 3:
//
//	sums 4 and 12, of 16; GPUs 8; the claims count 2 and 6
//
// Scavengers are weighed by the same scale, but are not in the sums.
func (s Site) weigh(c *claim.Claims, snap *elastic.Snapshot) {
	if !s.weighsGPUs() {
		return
	}
	weighed := scale{site: s, nodes: map[string]*nodes.Node{}, jobs: map[elastic.JobID]*elastic.Job{}, bound: snap.Bound()}
	for i := range snap.Nodes {
		weighed.nodes[snap.Nodes[i].Name] = &snap.Nodes[i]
	}
	for i := range snap.Jobs {
		weighed.jobs[snap.Jobs[i].ID] = &snap.Jobs[i]
	}
	var gpus, worth float64
	for i := range c.Each {
		each := &c.Each[i]
		each.Worth = 0
		for _, id := range each.Jobs {
			each.Worth += weighed.job(weighed.jobs[id])
		}
		if !each.Scavenger {
			gpus, worth = gpus+float64(each.Has), worth+each.Worth
		}
	}
	for i := range c.Each {
		if each := &c.Each[i]; worth > 0 {
			each.Worth *= gpus / worth
		} else {
			each.Worth = float64(each.Has) // all are free of charge
		}
	}
}

// scale weighs the GPUs of jobs.
type scale struct {
	site  Site
	nodes map[string]*nodes.Node
	jobs  map[elastic.JobID]*elastic.Job
	bound map[elastic.JobID]nodes.Placement // the targets of open moves
}

// job returns what the GPUs are worth that a job has, or is bound to get. A node that is not in the
// snapshot counts by the weight for all GPUs in the first partition that the job names.
func (s scale) job(j *elastic.Job) (worth float64) {
	place := j.Place
	if target, moves := s.bound[j.ID]; moves {
		place = target
	}
	for _, part := range place {
		n := s.nodes[part.Node]
		if n == nil {
			n = &nodes.Node{}
		}
		worth += float64(part.GPUs) * Worth(s.partition(j, n), kindOn(j, n), s.site.Billing)
	}
	return worth
}

// partition returns the partition in which a job has GPUs of a node: of several the first that has
// the node.
func (s scale) partition(j *elastic.Job, n *nodes.Node) slurm.Partition {
	list := strings.Split(j.Partition, ",")
	at := max(0, slices.IndexFunc(list, n.In))
	p, _ := s.site.Partition(nodes.ParsePartition(list[at]).Slurm)
	return p
}

// kindOn returns the type of a job's GPUs on a node; "" = it is not known. On a node with several
// types it is known only if the job requests a single one (decision 40).
func kindOn(j *elastic.Job, n *nodes.Node) string {
	switch own := j.Spec.Type(); {
	case len(n.Types) == 0:
		return n.Type
	case own != "":
		return own
	}
	return ""
}
