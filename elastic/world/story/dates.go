package story

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// Two daemons that share only Slurm see each other's begin times, and Slurm does not show who set one.
// Each recognises the other's by its own clock. Where the clocks differ by more than tellable, one of
// them may take the other's for that of the job's user and write it into the comment; then nothing is
// left that says otherwise. Its user sees in sluice explain when it begins, and has to set another time.

// tellable is by how much two daemons' clocks may differ for a begin time of the other to be recognised.
const tellable = 10 * time.Second

// date is a begin time of a job, in whole seconds.
type date struct {
	job slurm.JobID
	at  int64
}

// stamp is who set a begin time, and how far that daemon's clock was ahead of the true time.
type stamp struct {
	second bool
	offset time.Duration
}

// dates are the begin times that daemons set, and those of the other daemon that one took for a user's.
type dates struct {
	set   map[date][]stamp
	taken map[date]bool
}

// deferred notes that a daemon deferred the job. Slurm rounds its begin time up to a whole second.
func (ds *dates) deferred(job slurm.JobID, until time.Time, by stamp) {
	if ds.set == nil {
		ds.set, ds.taken = map[date][]stamp{}, map[date]bool{}
	}
	at := date{job, until.Add(time.Second - 1).Unix()}
	ds.set[at] = append(ds.set[at], by)
}

// wrote notes the begin time of a user in a comment that a daemon wrote. It is taken from the other
// daemon if that one alone set it, by a clock that differs by more than tellable.
func (ds *dates) wrote(job slurm.JobID, begin time.Time, by stamp) {
	at := date{job, begin.Unix()}
	if begin.IsZero() || len(ds.set[at]) == 0 {
		return
	}
	for _, s := range ds.set[at] {
		if s.second == by.second || (s.offset-by.offset).Abs() <= tellable {
			return
		}
	}
	ds.taken[at] = true
}

// datedSeam notes the begin times that a daemon sets and those that it writes into comments.
type datedSeam struct {
	slurm.Client
	d      *daemon
	second bool
}

// stamp is the daemon's name and clock now. The second one has the true time.
func (c datedSeam) stamp() stamp {
	if c.second {
		return stamp{second: true}
	}
	return stamp{offset: c.d.offset}
}

// Defer notes the begin time, also of a call that fails: it may take effect.
func (c datedSeam) Defer(ctx context.Context, id slurm.JobID, until time.Time) error {
	c.d.dates.deferred(id, until, c.stamp())
	return c.Client.Defer(ctx, id, until)
}

// Update notes the begin time in a comment, also of a call that fails.
func (c datedSeam) Update(ctx context.Context, id slurm.JobID, u slurm.Update) error {
	if u.Comment != nil {
		if tag, err := elastic.ParseTag(*u.Comment); err == nil {
			c.d.dates.wrote(id, tag.Begin, c.stamp())
		}
	}
	return c.Client.Update(ctx, id, u)
}

// misdated reports whether the job waits for a begin time that one daemon took from the other.
func (p *play) misdated(i int) bool {
	sj, err := p.w.User("root").Job(p.ctx, p.jobs[i].ID())
	if err != nil || sj.State != slurm.Pending {
		return false
	}
	tag, err := elastic.ParseTag(sj.Comment)
	return err == nil && p.d.dates.taken[date{sj.ID, tag.Begin.Unix()}]
}
