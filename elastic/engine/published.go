package engine

import (
	"sync"
	"sync/atomic"
)

// published is the last report, for readers in any goroutine. A busy cluster has megabytes of
// jobs in each, and most are read by nobody: what a report that nobody took was made of serves
// for the one after the next.
type published struct {
	last atomic.Pointer[Report]

	mu    sync.Mutex
	taken bool        // the last one, or one that shares its jobs
	spare []JobReport // nobody has it
}

// take hands the last report to a reader, who may keep it.
func (p *published) take() *Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = true
	return p.last.Load()
}

// room is memory for the jobs of the next report.
func (p *published) room() []JobReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	jobs := p.spare
	p.spare = nil
	return jobs[:0]
}

// replace publishes a report whose jobs are its own.
func (p *published) replace(r *Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.last.Load(); old != nil && !p.taken {
		p.spare = old.Jobs
	}
	p.taken = false
	p.last.Store(r)
}
