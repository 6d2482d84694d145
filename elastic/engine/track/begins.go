package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/slurm"
)

// A begin time that Slurm shows is sluice's own, or that of a requeue, or one that its user set through
// Slurm (scontrol update StartTime=). The last is kept in the tag.

// beginSlack is by how much the clocks of slurmctld and sluiced may differ for a begin time of
// another sluiced to be recognised.
const beginSlack = 10 * time.Second

// requeueDelay is more than Slurm's own delay after a requeue (121 s) and sluice's between two sizes.
const requeueDelay = resize.Between + 2*beginSlack

// rememberedBegins is how many begin times are remembered: slurmctld, which may forget its last changes,
// and late answers show an earlier one again.
const rememberedBegins = 8

// begins are the begin times of a waiting job that are known.
type begins struct {
	known  []time.Time // as Slurm showed them, the last one last
	looked time.Time   // when they were last looked at; zero = not since the daemon started
	wrote  time.Time   // when sluice last made a change that may set the begin time
}

// Wrote records an action that may set the job's begin time.
func (b *begins) Wrote(a elastic.Action, now time.Time) {
	switch a.(type) {
	case elastic.Defer, elastic.Write, elastic.LetStart, elastic.Requeue, elastic.RequeueFailed, elastic.RequeueLingering:
		b.wrote = now
	}
}

// sight is when and how a job is looked at.
type sight struct {
	now     time.Time
	began   time.Time     // when Slurm first answered since the daemon started
	abandon time.Duration // as the site has it; 0 = DefaultAbandon
	moves   bool          // the job has an open move
}

// look notes the begin time that Slurm shows, and reports whether the job's user set it. While a move is
// open, and for late after a change of sluice's own or after the daemon's start, every new begin time
// counts as sluice's. of is the job as Slurm showed it before.
//
// A new begin time is not the user's if one of these holds:
//
//   - the job is seen for the first time since the daemon started, or the daemon started less than
//     late ago;
//   - a move is open, or sluice changed the job since the last look or within late;
//   - the job was requeued, and the time is at most requeueDelay after that;
//   - a sluiced could have set it (deferredBySluice).
//
// A user's own time that meets one of them is not recognised, and the job may start before it.
func (b *begins) look(of, sj slurm.Job, at sight) (byUser bool) {
	if sj.State != slurm.Pending || sj.Completing || sj.Eligible.IsZero() {
		return false
	}
	last := b.looked
	b.looked = at.now
	if slices.ContainsFunc(b.known, sj.Eligible.Equal) {
		return false
	}
	b.known = append(b.known, sj.Eligible)
	b.known = b.known[max(0, len(b.known)-rememberedBegins):]
	own := last.IsZero() || at.moves || at.now.Sub(b.wrote).Abs() <= late || !b.wrote.Before(last) || at.now.Sub(at.began) <= late
	requeued := of.State != slurm.Pending || of.Completing || !sj.Submit.Equal(of.Submit)
	return !own && !(requeued && sj.Eligible.Sub(sj.Submit) <= requeueDelay) && !deferredBySluice(sj.Eligible, at.abandon, last, at.now)
}

// deferredBySluice reports whether a sluiced, perhaps another one, may have set the begin time since the
// last look. It deferred by resize.Between or by abandon from some time since the last look, to which
// late answers and the difference of the clocks are added.
func deferredBySluice(at time.Time, abandon time.Duration, last, now time.Time) bool {
	for _, ahead := range []time.Duration{resize.Between, cmp.Or(abandon, DefaultAbandon)} {
		if !at.Before(last.Add(ahead-late-beginSlack)) && !at.After(now.Add(ahead+beginSlack)) {
			return true
		}
	}
	return false
}

// withUsersBegin returns the tag with the begin time that the job's user set through Slurm, and whether
// there is a new one. One that has come already ends the earlier one.
func withUsersBegin(js *Job, tag elastic.Tag, sj slurm.Job, at sight) (_ elastic.Tag, changed bool) {
	if !js.Shown.Begins.look(js.Shown.Slurm, sj, at) {
		return tag, false
	}
	begin := sj.Eligible.UTC()
	if !begin.After(at.now) {
		begin = time.Time{}
	}
	changed = !begin.Equal(tag.Begin)
	tag.Begin = begin
	return tag, changed
}
