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
//
// mu guards taken and spare; together with Report they change under it when a new report comes, so
// that a reader cannot take one whose memory has just been given away.
type Board struct {
	*track.State
	Policy policy.Policy

	Report atomic.Pointer[Report]

	mu    sync.Mutex
	taken bool        // a reader has the last report, or one that shares its jobs
	spare []JobReport // memory that no reader has
}

// Last returns the last report, which the caller may keep; nil before the first. From then on its
// memory is not reused, so that a caller that looks often and rarely reads costs allocations.
func (p *Board) Last() *Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = true
	return p.Report.Load()
}

// room returns memory for the jobs of the next report. It has length 0, and old jobs behind that:
// see Report.next. It is nil if a reader has all of it. The caller owns it.
func (p *Board) room() []JobReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	jobs := p.spare
	p.spare = nil
	return jobs[:0]
}

// replace publishes a report that shares no jobs with the last one. Only Publish calls it. The old
// report's jobs become spare if no reader has them.
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
// which both share. Readers of the last report keep that. Only the cycle's goroutine may call it,
// and change MUST NOT call the Board.
func (p *Board) Change(change func(*Report)) {
	if last := p.Report.Load(); last != nil {
		next := *last
		change(&next)
		p.Report.Store(&next)
	}
}

// ChangeJobs is Change with a copy of Jobs, whose elements may be changed. What an element points
// to MUST be replaced, not changed. It costs a copy of all of them: it is for users' requests, not
// for each cycle.
func (p *Board) ChangeJobs(change func(*Report)) {
	p.Change(func(r *Report) {
		r.Jobs = slices.Clone(r.Jobs)
		change(r)
	})
}
