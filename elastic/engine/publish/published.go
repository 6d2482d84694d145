package publish

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/policy"
)

// Board holds the last report, for readers in any goroutine. On a busy cluster a report has
// megabytes, and most are never read: the memory of a report that no reader took is reused by
// the report after the next.
type Board struct {
	*track.State
	Policy policy.Policy

	Report atomic.Pointer[Report]

	mu    sync.Mutex
	taken bool        // a reader has the last report, or one that shares its jobs
	spare []JobReport // memory that no reader has
}

// Last returns the last report, which the caller may keep; nil before the first.
func (p *Board) Last() *Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = true
	return p.Report.Load()
}

// room returns memory for the jobs of the next report.
func (p *Board) room() []JobReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	jobs := p.spare
	p.spare = nil
	return jobs[:0]
}

// replace publishes a report that shares no jobs with the last one.
func (p *Board) replace(r *Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.Report.Load(); old != nil && !p.taken {
		p.spare = old.Jobs
	}
	p.taken = false
	p.Report.Store(r)
}

// Change replaces the last report, if there is one, by a changed copy. change MUST NOT change Jobs,
// which both share.
func (p *Board) Change(change func(*Report)) {
	if last := p.Report.Load(); last != nil {
		next := *last
		change(&next)
		p.Report.Store(&next)
	}
}

// ChangeJobs is Change with a copy of Jobs, whose elements may be changed.
func (p *Board) ChangeJobs(change func(*Report)) {
	p.Change(func(r *Report) {
		r.Jobs = slices.Clone(r.Jobs)
		change(r)
	})
}
