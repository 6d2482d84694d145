package nodes

import (
	"slices"
	"sort"
	"strings"
)

// Request is one job that needs GPUs.
type Request struct {
	ID   int64
	GPUs int // wanted, at least 1
	// Sizes are the sizes the job accepts, ascending; empty = any. They are used for
	// Result.Fits only.
	Sizes []int
	// Partition is the partition that the nodes must belong to. Several may be listed
	// with commas, as Slurm does for pending jobs; all nodes of a job are then in one of
	// them. "" = anywhere.
	Partition string
	// Uneven allows different numbers of GPUs on the job's nodes.
	Uneven bool
	// Keep, if it has exactly GPUs, is where the job stays. It is returned unchanged and
	// not booked: the inventory counts it already.
	Keep        Placement
	CPUsPerGPU  int    // 0 = one CPU a node
	MemPerGPUMB int64  // 0 = memory is not checked
	Type        string // GPU type that it requests of Slurm; "" = any
	MaxNodes    int    // 0 = no bound
	// Share allows a request for several nodes to use nodes of another job on several
	// nodes. Without it two such jobs never share a node: each would slow down the
	// other's network traffic.
	Share bool
}

// Result is the answer to one Request.
type Result struct {
	ID int64
	// Placement has exactly the GPUs wanted, or is empty if they cannot be placed; then
	// nothing is booked for the request.
	Placement Placement
	// Fits is the size placed; if none was, the largest accepted size below the wanted
	// one that could have been placed at that point, 0 if none.
	Fits int
}

// Load returns what the request uses once it is placed there.
func (r Request) Load(at Placement) Load {
	return Load{Place: at, CPUsPerGPU: r.CPUsPerGPU, MemPerGPUMB: r.MemPerGPUMB, Type: r.Type}
}

// Place finds nodes for the requests, best fit decreasing: large requests first (equal
// ones in the order given), each on the node it fills best, else on as few nodes as
// possible. Only splits that Slurm really gives are used: all GPUs on one node, the same
// number on each of several, or, if the request allows it, the greedy fill of
// GreedySplit.
//
// The inventory's Used counts all jobs that are not among the requests, and the requests
// that Keep their place. Results are in the order of the requests. If some request finds
// no place in that order, the requests without a place are tried first a few more times;
// the attempt that places the most requests is used.
func Place(inventory []Node, requests []Request) []Result {
	order := decreasing(requests)
	best, fewest := attempt(inventory, requests, order)
	for failed, tries := fewest, 0; tries < 4 && len(failed) > 0; tries++ {
		next := promote(order, failed)
		if slices.Equal(next, order) {
			break
		}
		order = next
		var again []Result
		again, failed = attempt(inventory, requests, order)
		if len(failed) < len(fewest) {
			best, fewest = again, failed
		}
	}
	return best
}

// decreasing returns the indices of the requests that need placing, large first.
func decreasing(requests []Request) []int {
	order := make([]int, 0, len(requests))
	for i, r := range requests {
		if !r.stays() {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool {
		return requests[order[a]].GPUs > requests[order[b]].GPUs
	})
	return order
}

// promote moves the given indices to the front; both parts keep their order.
func promote(order, named []int) []int {
	first := make(map[int]bool, len(named))
	for _, i := range named {
		first[i] = true
	}
	out := make([]int, 0, len(order))
	for _, want := range []bool{true, false} {
		for _, i := range order {
			if first[i] == want {
				out = append(out, i)
			}
		}
	}
	return out
}

func (r Request) stays() bool { return len(r.Keep) > 0 && r.Keep.GPUs() == r.GPUs }

// attempt places the requests in the given order and returns the indices of those that
// found no place.
func attempt(inventory []Node, requests []Request, order []int) ([]Result, []int) {
	f := newPlacer(inventory)
	out := make([]Result, len(requests))
	for i, r := range requests {
		out[i].ID = r.ID
		if r.stays() {
			out[i].Placement, out[i].Fits = r.Keep, r.GPUs
		}
	}
	var failed []int
	for n, i := range order {
		r := requests[i]
		if p := f.fit(r, r.GPUs); p != nil {
			if n < len(order)-1 {
				f.take(r, p)
			}
			out[i].Placement, out[i].Fits = p, r.GPUs
			continue
		}
		out[i].Fits = f.largest(r)
		failed = append(failed, i)
	}
	return out, failed
}

// partitions returns the partitions the request may use.
func (r Request) partitions() []string { return strings.Split(r.Partition, ",") }

// accepted returns the sizes below the wanted one, largest first, up to limit.
func (r Request) accepted(limit int) []int {
	limit = min(limit, r.GPUs-1)
	var out []int
	if len(r.Sizes) == 0 {
		for k := limit; k >= 1; k-- {
			out = append(out, k)
		}
		return out
	}
	for i := len(r.Sizes) - 1; i >= 0; i-- {
		if k := r.Sizes[i]; k >= 1 && k <= limit {
			out = append(out, k)
		}
	}
	return out
}
