package publish

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/policy"
)

// Board is the last report, for readers in any goroutine. A busy cluster has megabytes of
// jobs in each, and most are never read: the memory of a report that no reader took serves
// for the one after the next.
type Board struct {
	*track.State
	Policy policy.Policy

	Report atomic.Pointer[Report]

	mu    sync.Mutex
	taken bool        // the last one, or one that shares its jobs
	spare []JobReport // no reader has it
}

// Last hands the last report to a reader, who may keep it.
func (p *Board) Last() *Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = true
	return p.Report.Load()
}

// room is memory for the jobs of the next report.
func (p *Board) room() []JobReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	jobs := p.spare
	p.spare = nil
	return jobs[:0]
}

// replace publishes a report whose jobs are its own.
func (p *Board) replace(r *Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.Report.Load(); old != nil && !p.taken {
		p.spare = old.Jobs
	}
	p.taken = false
	p.Report.Store(r)
}

// Change replaces the last report, if there is one, by a changed copy. The jobs MUST stay as they are.
func (p *Board) Change(change func(*Report)) {
	if last := p.Report.Load(); last != nil {
		next := *last
		change(&next)
		p.Report.Store(&next)
	}
}

// ChangeJobs is change, for its jobs too.
func (p *Board) ChangeJobs(change func(*Report)) {
	p.Change(func(r *Report) {
		r.Jobs = slices.Clone(r.Jobs)
		change(r)
	})
}
