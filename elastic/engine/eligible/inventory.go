package eligible

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Ordinary notes what the jobs that are not sluice's have and wait for. last is the snapshot of
// the look before, or an earlier one of this look.
func Ordinary(s *elastic.Snapshot, ordinary []slurm.Job, all []slurm.Node, last *elastic.Snapshot) {
	for _, sj := range ordinary {
		if tenant, ok := tenantOf(sj, s.Now); ok {
			s.Tenants = append(s.Tenants, tenant)
		}
		if d, ok := demandOf(sj); ok {
			s.Demands = append(s.Demands, d)
		}
	}
	s.Others = others(ordinary, all, last)
}

// others counts, on each node, the GPUs of ordinary jobs. Slurm's list of jobs tells no
// split: 9 GPUs on three nodes of 4 may be 4+4+1 or 3+3+3. A job over several nodes counts
// evenly, but not for more than ordinary jobs were seen to use on the node in the last look,
// which came BEFORE this list; else a job that starts on what is left is taken back again
// and again.
func others(ordinary []slurm.Job, all []slurm.Node, last *elastic.Snapshot) map[string]int {
	out, spread, whole := map[string]int{}, map[string]int{}, map[string]int{}
	for _, n := range all {
		whole[n.Name] = n.GPUs
	}
	for _, sj := range ordinary {
		countOthers(out, spread, whole, sj)
	}
	if len(spread) == 0 {
		return out
	}
	for _, n := range last.Foreign() {
		if more := min(spread[n.Name], n.Used-out[n.Name]); more > 0 {
			out[n.Name] += more
		}
	}
	return out
}

// countOthers adds what a job holds on each of its nodes for certain, and what more it would
// hold there if its GPUs were spread evenly.
func countOthers(certain, spread, whole map[string]int, sj slurm.Job) {
	if !sj.OnNodes() || sj.Whole() < 1 {
		return
	}
	most, even := 0, (sj.Whole()+len(sj.Nodes)-1)/len(sj.Nodes)
	for _, n := range sj.Nodes {
		most += whole[n]
	}
	for _, n := range sj.Nodes {
		least := max(1, sj.Whole()-(most-whole[n]))
		certain[n] += least
		if even > least {
			spread[n] += even - least
		}
	}
}

// tenantOf is an ordinary job that has GPUs. While it is being cleaned away Slurm counts
// them as free already.
func tenantOf(sj slurm.Job, now time.Time) (elastic.Tenant, bool) {
	if !sj.OnNodes() || sj.Completing || sj.Whole() < 1 {
		return elastic.Tenant{}, false
	}
	t := elastic.Tenant{ID: elastic.JobID(sj.ID), Type: sj.GPUType}
	for _, n := range sj.Nodes {
		t.Place = append(t.Place, nodes.Share{Node: n, GPUs: (sj.Whole() + len(sj.Nodes) - 1) / len(sj.Nodes)})
	}
	if sj.TimeLeft > 0 {
		t.Ends = now.Add(sj.TimeLeft)
	}
	return t, true
}

// Inventory is the nodes as decisions see them.
func Inventory(jobs []slurm.Job, all []slurm.Node) []nodes.Node {
	spanning := spans(jobs)
	out := make([]nodes.Node, 0, len(all))
	for _, n := range all {
		usable, state := n.Usable()
		why := nodes.Unusable{State: state}
		if !usable {
			why.Note = n.Reason
		}
		out = append(out, nodes.Node{
			Name: n.Name, Partitions: n.Partitions, Type: n.Kind(), Types: typesOf(n), GPUs: n.GPUs, Used: n.GPUsUsed,
			Usable: usable, Why: why, CPUs: n.CPUs, CPUsUsed: n.CPUsUsed, MemoryMB: n.MemoryMB, MemUsedMB: n.MemUsedMB,
			Spanning: spanning[n.Name],
		})
	}
	return out
}

// Fit marks the nodes that are left out for their GPUs as Slurm's own unusable
// ones are: what runs there may stay, nothing new is placed there.
func Fit(inventory []nodes.Node, findings []elastic.Finding) []nodes.Node {
	for _, f := range findings {
		for i := range inventory {
			if n := &inventory[i]; f.Excluded && n.Name == f.Node && n.Usable {
				n.Usable, n.Why = false, nodes.Unusable{State: nodes.Unfit, Note: f.Why}
			}
		}
	}
	return inventory
}

// Returned marks the nodes that came back a moment ago as Slurm's own unusable ones
// are. lost is when nodes were last seen lost, rest how long nothing is started there.
func Returned(inventory []nodes.Node, lost map[string]time.Time, rest time.Duration, now time.Time) []nodes.Node {
	for i := range inventory {
		n := &inventory[i]
		if at, ok := lost[n.Name]; ok && n.Usable && now.Before(at.Add(rest)) {
			n.Usable = false
			n.Why = nodes.Unusable{State: nodes.Returned, Until: at.Add(rest)}
		}
	}
	return inventory
}

// typesOf is a node's GPUs by type where it has several.
func typesOf(n slurm.Node) (out []nodes.OfType) {
	for _, t := range n.Types {
		out = append(out, nodes.OfType{Type: t.Type, GPUs: t.GPUs, Used: t.Used})
	}
	return out
}

// spans counts, per node, the jobs with GPUs that run on other nodes as well, be
// they sluice's or not. One that is being cleaned away is gone, as its GPUs are.
func spans(jobs []slurm.Job) map[string]int {
	out := map[string]int{}
	for _, sj := range jobs {
		if len(sj.Nodes) < 2 || sj.Whole() < 1 || sj.Completing || !sj.OnNodes() {
			continue
		}
		for _, n := range sj.Nodes {
			out[n]++
		}
	}
	return out
}

// waitsForGPUs lists the reasons under which an ordinary pending job would start
// if more GPUs were free.
var waitsForGPUs = map[string]bool{"": true, "None": true, "Resources": true, "Priority": true}

func demandOf(sj slurm.Job) (elastic.Demand, bool) {
	if sj.State != slurm.Pending || sj.Held || sj.Completing || sj.Whole() < 1 || !waitsForGPUs[sj.Reason] {
		return elastic.Demand{}, false
	}
	return elastic.Demand{
		ID: elastic.JobID(sj.ID), Partition: sj.Partition, Nodes: max(1, sj.NodeCount), GPUs: sj.Whole(), Type: sj.GPUType,
	}, true
}
