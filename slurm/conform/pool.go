package conform

import (
	"slices"
	"sync"
)

// pool lends nodes to checks.
type pool struct {
	mu      sync.Mutex
	free    []string
	order   []string
	changed chan struct{} // holds a token after nodes came back
}

// take waits for n nodes and returns them in Slurm's order.
func (p *pool) take(n int) []string {
	for {
		p.mu.Lock()
		if len(p.free) >= n {
			got := slices.Clone(p.free[:n])
			p.free = slices.Delete(p.free, 0, n)
			p.mu.Unlock()
			p.signal() // there may be enough left for another
			return got
		}
		p.mu.Unlock()
		<-p.changed
	}
}

func (p *pool) give(nodes []string) {
	p.mu.Lock()
	p.free = append(p.free, nodes...)
	slices.SortFunc(p.free, func(a, b string) int { return slices.Index(p.order, a) - slices.Index(p.order, b) })
	p.mu.Unlock()
	p.signal()
}

func (p *pool) signal() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}
