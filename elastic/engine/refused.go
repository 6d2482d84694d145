package engine

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/slurm"
)

// What Slurm refused is forgotten with the daemon: after a restart each job is tried once
// at once, which is harmless.

// noteRefused notes that Slurm would not take what a move wrote, and why.
func (st *State) noteRefused(in elastic.Intent, why reason.Reason, blameless bool, now time.Time) {
	js := st.byID[in.Job]
	if js == nil {
		return
	}
	r, again := &js.placing.refused, time.Time{}
	and := elastic.Refusals.And
	if blameless {
		and = elastic.Refusals.AndNoNodes
	}
	if in.Kind == elastic.Resize && in.Fallbacks == 0 {
		r.Resize, r.From = and(r.Resize, in.Target, why, now), in.From
		again = r.ResizeAgain()
	} else {
		r.Start = and(r.Start, in.Target, why, now)
		again = r.StartAgain()
	}
	js.placing.asked = eligible.AskedOf(&js.shown.slurm, js.rec.Partition)
	st.Tell(now, in.Job, "problem", fmt.Sprintf("Slurm does not take %s (%s); the next try is not before %s", in.Target, say.Reason(why, now), again.Format(time.TimeOnly)))
}

// mostFallen is how many moves in a row may come to nothing before the next one waits as
// after a refusal: others may be faster twice, but whatever keeps a job from starting three
// times is not over at once.
const mostFallen = 3

// noteFallen notes that a move did not bring its job to run.
func (st *State) noteFallen(js *jobState, in elastic.Intent, why reason.Reason, now time.Time) {
	if !js.mail.silent.IsZero() {
		return // its folder is what failed
	}
	if js.placing.fell++; js.placing.fell < mostFallen || phaseOf(js.shown.slurm) == elastic.Running {
		return
	}
	js.placing.refused.Start = js.placing.refused.Start.And(in.Target, why, now)
	js.placing.asked = eligible.AskedOf(&js.shown.slurm, js.rec.Partition)
	st.Tell(now, in.Job, "problem", fmt.Sprintf("it did not start, %d times in a row; the next try is not before %s",
		js.placing.fell, js.placing.refused.StartAgain().Format(time.TimeOnly)))
}

// dependPeriod is the longest time between two looks while a job waits for others to end.
const dependPeriod = 10 * time.Second

// nextTry is when the first of the jobs that wait after a refusal, for their begin time or for
// other jobs is due, or of those that run is to save before its end; at the latest the time given.
func (st *State) nextTry(now, latest time.Time) time.Time {
	for _, js := range st.jobs {
		if at := js.placing.refused.StartAgain(); at.After(now) && at.Before(latest) && js.rec.Ended.IsZero() {
			latest = at
		}
		if c := js.placing.blocked.Code; (c == elastic.Depends || c == elastic.Obstructed || c == elastic.Unreachable) && now.Add(dependPeriod).Before(latest) {
			latest = now.Add(dependPeriod)
		}
		if at := js.placing.rest; at.After(now) && at.Before(latest) && js.rec.Ended.IsZero() && js.shown.slurm.State == slurm.Pending {
			latest = at
		}
		if at := st.savesAt(js, now); at.After(now) && at.Before(latest) {
			latest = at
		}
		if at := js.placing.blocked.Until; at.After(now) && at.Before(latest) {
			latest = at
		}
	}
	return latest
}

// reconsider forgets refusals that stand no more: of a job that runs, that was released or
// changed by its user, and of all once nodes or partitions are others than they were.
func (st *State) reconsider(seen observe.Look) {
	var refused []*jobState
	for _, js := range st.jobs {
		r := &js.placing.refused
		phase := phaseOf(js.shown.slurm)
		released := phase == elastic.Queued && !st.open.has(js.rec.ID)
		switch {
		case !js.rec.Ended.IsZero():
			*r = elastic.Refused{}
		case !js.shown.seen:
		case eligible.AskedOf(&js.shown.slurm, js.rec.Partition) != js.placing.asked:
			*r = elastic.Refused{}
		case phase == elastic.Running || released:
			r.Start, r.Obstacle, js.placing.fell = elastic.Refusals{}, elastic.Refusals{}, 0
		}
		if r.Start.Times+r.Resize.Times+r.Obstacle.Times > 0 {
			refused = append(refused, js)
		}
	}
	if len(refused) == 0 {
		st.ground = nil
		return
	}
	was, is := st.ground, eligible.GroundOf(seen.Nodes, st.site.Partitions)
	if st.ground = is; was == nil || was.Equal(is) {
		return
	}
	for _, js := range refused {
		js.placing.refused = elastic.Refused{}
	}
}
