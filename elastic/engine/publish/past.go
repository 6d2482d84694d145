package publish

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/past"
)

// ClusterOf is the cluster as a report has it, for the history. Used counts all jobs' GPUs on a
// node, Elastic those of sluice's alone. State is "" for a usable node. Jobs that ended count
// nowhere. The result shares nothing with the report.
func ClusterOf(r *Report) past.Cluster {
	out := past.Cluster{Blind: r.Blind != "", Nodes: make([]past.Node, 0, len(r.Nodes))}
	elastics := map[string]int{}
	for i := range r.Jobs {
		jr := &r.Jobs[i]
		if jr.Ended {
			continue
		}
		if jr.Intent != nil {
			out.Moves++
		}
		if len(jr.Job.Place) > 0 {
			out.Running++
		} else if jr.Job.Phase == elastic.Waiting || jr.Job.Phase == elastic.Queued {
			out.Waiting++
		}
		for _, s := range jr.Job.Place {
			elastics[s.Node] += s.GPUs
		}
	}
	for _, n := range r.Nodes {
		node := past.Node{Name: n.Name, GPUs: n.GPUs, Used: n.Used, Elastic: elastics[n.Name], Free: n.Free()}
		if !n.Usable {
			node.State = n.Why.State
			if node.State == "" {
				node.State = "UNKNOWN"
			}
		}
		out.Nodes = append(out.Nodes, node)
	}
	return out
}

// DivisionOf is the division by shares of a report, for the history; false if there is none.
// Amounts are GPUs. Lines are in the order of Sharing.
func DivisionOf(r *Report) (past.Division, bool) {
	if !r.Shares.Count || r.Shares.Tree == nil {
		return past.Division{}, false
	}
	out := past.Division{GPUs: r.Shares.Claims.Capacity}
	for _, l := range r.Sharing() {
		out.Lines = append(out.Lines, past.Line{Account: l.Account, User: l.User, Deserved: l.Deserved, Used: l.Has, Wanted: l.Wanted})
	}
	return out, true
}
