package forecast

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sweep/level"
)

// laneTrust is how sure the end of a lane is beside its moves: trials differ, and a sweep may be over
// at its goal before.
const laneTrust = 0.3

// fleet is a sweep of which it is known how long a trial takes. Its trials are taken to be equally
// long, and to be divisible: twice as many lanes take half as long.
type fleet struct {
	elastic.Sweep
	uid   uint32  // of its user: jobs of others that name its token are no lanes of it
	began int     // trials that had ended when the projection began
	work  float64 // lane-seconds that are left
	after []int   // its running lanes, by their place in Jobs, the last to leave first
}

// sweepsOf finds the sweeps of which the length of a trial is known. A snapshot has no user of a sweep: it is
// taken to be that of the lane with the lowest number, since lanes are submitted with their sweep. A job of
// another user from before that, with a comment that was changed since, makes the forecast of this sweep wrong.
// The snapshot's own map is cloned, since a projection changes it.
func (p *projector) sweepsOf() {
	p.snap.Sweeps = maps.Clone(p.snap.Sweeps)
	p.fleets = map[string]*fleet{}
	for token, s := range p.snap.Sweeps {
		if s.Each > 0 && !s.Over {
			p.fleets[token] = &fleet{Sweep: s, began: s.Ended, work: s.Each * float64(s.Left)}
		}
	}
	first := map[string]elastic.JobID{}
	for i := range p.snap.Jobs {
		j := &p.snap.Jobs[i]
		token := j.Spec.Sweep
		if id, found := first[token]; p.fleets[token] != nil && (!found || j.ID < id) {
			first[token], p.fleets[token].uid = j.ID, j.UID
		}
	}
	p.rank()
}

// fleetOf returns the sweep of which the job is a lane; nil if it is none, or if the length of a trial is
// not known.
func (p *projector) fleetOf(j *elastic.Job) *fleet {
	if f := p.fleets[j.Spec.Sweep]; f != nil && f.uid == j.UID {
		return f
	}
	return nil
}

// rank sorts the lanes that run: those of the highest numbers leave first.
func (p *projector) rank() {
	for _, f := range p.fleets {
		f.after = f.after[:0]
	}
	for i := range p.snap.Jobs {
		j := &p.snap.Jobs[i]
		if f := p.fleetOf(j); f != nil && j.Phase == elastic.Running && len(j.Place) > 0 {
			f.after = append(f.after, i)
		}
	}
	for _, f := range p.fleets {
		slices.SortFunc(f.after, func(x, y int) int { return cmp.Compare(p.snap.Jobs[x].ID, p.snap.Jobs[y].ID) })
	}
}

// leaves returns when a running lane finds no trial any more; false if the job is no lane, or if its end is not
// known. With k lanes and W lane-seconds left the first leaves once only k-1 trials are left, and the
// next ones a part of a trial later each; those that are between two sizes begin later.
func (p *projector) leaves(i int) (at time.Time, known bool) {
	f := p.fleetOf(&p.snap.Jobs[i])
	if f == nil {
		return time.Time{}, false
	}
	place, k := slices.Index(f.after, i), len(f.after)
	if place < 0 {
		return time.Time{}, false
	}
	late := 0.0
	for _, n := range f.after {
		late += max(0, p.live[n].busy.Sub(p.snap.Now).Seconds())
	}
	seconds := max(0, f.work+late-float64(k-1)*f.Each) / float64(k)
	for m := place + 1; m < k; m++ {
		seconds += min(f.Each, f.work+late) / float64(m)
	}
	return elastic.Ahead(p.snap.Now, seconds), true
}

// search books what a lane does of its sweep's trials.
func (p *projector) search(i int, seconds float64) {
	if f := p.fleetOf(&p.snap.Jobs[i]); f != nil {
		f.work = max(0, f.work-seconds)
		p.live[i].trained += seconds
		p.live[i].trust += laneTrust * seconds
	}
}

// tell shows the next decision how far the sweeps are. Lanes that wait when their sweep is over would start
// only to end: they are taken out at once.
func (p *projector) tell() {
	const nothing = 1e-6
	for token, f := range p.fleets {
		left := int(math.Ceil(f.work/f.Each - nothing))
		s := f.Sweep
		s.Ended = f.began + f.Left - left
		s.Trials += f.Left - left
		s.Left = left
		s.Wants = min(s.Wants, left)
		s.Bid = level.Bid(level.Progress{Trials: s.Ended, Seconds: f.Each * float64(s.Ended), Assumed: f.Each})
		s.Over = left == 0
		p.snap.Sweeps[token] = s
	}
	for i := range p.snap.Jobs {
		j, c := &p.snap.Jobs[i], p.live[i]
		if p.fleetOf(j) != nil && p.snap.Sweeps[j.Spec.Sweep].Over && !c.ended && j.Phase == elastic.Waiting {
			c.trained, c.trust = 1, laneTrust
			c.finishAt(p.snap.Now, false, p.snap.Now.Sub(p.began), false)
			j.Phase = elastic.Ended
			p.living--
		}
	}
}
