package eligible

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Ordinary sets what ordinary jobs hold (Tenants, Others) and wait for (Demands). contending are jobs
// of sluice that wait among them. last is the previous snapshot, of the last cycle or of this one.
// Demands end up by descending priority, of equal priority the ordinary jobs come first, in Slurm's
// order. Completing jobs hold nothing here, as Slurm already counts their GPUs as free. last may be
// the zero snapshot: then jobs on several nodes count only with what they hold in any split.
func Ordinary(s *elastic.Snapshot, ordinary, contending []slurm.Job, all []slurm.Node, last *elastic.Snapshot) {
	for _, sj := range ordinary {
		if tenant, ok := tenantOf(sj, s.Now); ok {
			s.Tenants = append(s.Tenants, tenant)
		}
		if d, ok := demandOf(sj); ok {
			s.Demands = append(s.Demands, d)
		}
	}
	for _, sj := range contending {
		if d, ok := demandOf(sj); ok {
			s.Demands = append(s.Demands, d)
		}
	}
	slices.SortStableFunc(s.Demands, func(a, b elastic.Demand) int { return cmp.Compare(b.Priority, a.Priority) })
	s.Others = others(ordinary, all, last)
}

// others estimates the GPUs of ordinary jobs on each node. Slurm's list of jobs has no split: 9
// GPUs on three nodes of 4 may be 4+4+1 or 3+3+3. A job on several nodes counts with an even split,
// but on no node for more GPUs than ordinary jobs used there in the last snapshot. Without that
// bound an overestimate would stop a job that has just started on the free GPUs, again and again.
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

// countOthers adds, for each node of a job, the GPUs that it holds there in any split (certain), and
// how many more it would hold in an even split (spread). With 9 GPUs on three nodes of 4, the other
// two nodes hold at most 8, so that 1 is certain on each; an even split has 3 on each, so that 2 more
// are added to spread.
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

// tenantOf returns an ordinary job with GPUs; false if it has none. Slurm already counts the GPUs
// of a completing job as free. The split is even and rounded up on each node, so that the sum may
// exceed what the job holds. A job without a time limit has no end.
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

// Inventory converts Slurm's nodes for decisions. The order is Slurm's. Types is empty for a node
// with one type of GPU, which is Type then. A node that cannot be used is kept, with the reason: jobs
// may still run there.
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

// Fit marks nodes that are excluded because of unfit GPUs as unusable: running jobs may stay,
// nothing new is placed there. It changes inventory in place and returns it. A node that is unusable
// already keeps its reason. The cost is O(findings x nodes), and findings are few
// (HealthRules.PerUser).
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

// Returned marks nodes that were lost less than rest ago as unusable. lost is when each node was
// last seen lost. It changes inventory in place and returns it. rest is what a lost node needs to
// settle (decision 18).
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

// typesOf returns a node's GPUs by type, if it has several types.
func typesOf(n slurm.Node) (out []nodes.OfType) {
	for _, t := range n.Types {
		out = append(out, nodes.OfType{Type: t.Type, GPUs: t.GPUs, Used: t.Used})
	}
	return out
}

// spans counts, per node, the jobs with GPUs there that also run on other nodes, sluice's and
// ordinary ones. Completing jobs do not count.
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

// waitsForGPUs has Slurm's reasons with which an ordinary pending job would start if more GPUs were
// free.
var waitsForGPUs = map[string]bool{"": true, "None": true, "Resources": true, "Priority": true}

// demandOf returns an ordinary job that waits for GPUs; false if it waits for something else, as a
// dependency, a limit or a begin time: free GPUs would not start it.
func demandOf(sj slurm.Job) (elastic.Demand, bool) {
	if sj.State != slurm.Pending || sj.Held || sj.Completing || sj.Whole() < 1 || !waitsForGPUs[sj.Reason] {
		return elastic.Demand{}, false
	}
	return elastic.Demand{
		ID: elastic.JobID(sj.ID), Priority: sj.Priority, Partition: sj.Partition, Nodes: max(1, sj.NodeCount), GPUs: sj.Whole(), Type: sj.GPUType,
	}, true
}
