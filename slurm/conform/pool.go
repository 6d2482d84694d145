package conform

import (
	"slices"
	"sync"
)

// pool lends nodes to checks.
type pool struct {
	mu    sync.Mutex
	back  *sync.Cond // signalled when nodes are returned
	free  []string
	order []string
}

func newPool(nodes []string) *pool {
	p := &pool{free: slices.Clone(nodes), order: nodes}
	p.back = sync.NewCond(&p.mu)
	return p
}

// take waits for n nodes and returns them in Slurm's order.
func (p *pool) take(n int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) < n {
		p.back.Wait()
	}
	got := slices.Clone(p.free[:n])
	p.free = slices.Delete(p.free, 0, n)
	return got
}

func (p *pool) give(nodes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, nodes...)
	slices.SortFunc(p.free, func(a, b string) int { return slices.Index(p.order, a) - slices.Index(p.order, b) })
	p.back.Broadcast()
}
