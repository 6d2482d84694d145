package track

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/slurm"
)

// What Slurm refused is forgotten with the daemon: after a restart each job is tried once
// at once, which is harmless.

// NoteRefused notes that Slurm would not take what a move wrote, and why.
func (st *State) NoteRefused(in elastic.Intent, why reason.Reason, blameless bool, now time.Time) {
	js := st.ByID[in.Job]
	if js == nil {
		return
	}
	r, again := &js.Placing.Refused, time.Time{}
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
	js.Placing.asked = eligible.AskedOf(&js.Shown.Slurm, js.Rec.Partition)
	st.Tell(now, in.Job, "problem", fmt.Sprintf("Slurm does not take %s (%s); the next try is not before %s", in.Target, say.Reason(why, now), again.Format(time.TimeOnly)))
}

// mostFallen is how many moves in a row may come to nothing before the next one waits as
// after a refusal: others may be faster twice, but whatever keeps a job from starting three
// times is not over at once.
const mostFallen = 3

// noteFallen notes that a move did not bring its job to run.
func (st *State) noteFallen(js *Job, in elastic.Intent, why reason.Reason, now time.Time) {
	if !js.Mail.silent.IsZero() {
		return // its folder is what failed
	}
	if js.Placing.Fell++; js.Placing.Fell < mostFallen || PhaseOf(js.Shown.Slurm) == elastic.Running {
		return
	}
	js.Placing.Refused.Start = js.Placing.Refused.Start.And(in.Target, why, now)
	js.Placing.asked = eligible.AskedOf(&js.Shown.Slurm, js.Rec.Partition)
	st.Tell(now, in.Job, "problem", fmt.Sprintf("it did not start, %d times in a row; the next try is not before %s",
		js.Placing.Fell, js.Placing.Refused.StartAgain().Format(time.TimeOnly)))
}

// dependPeriod is the longest time between two looks while a job waits for others to end.
const dependPeriod = 10 * time.Second

// NextTry is when the first of the jobs that wait after a refusal, for their begin time or for
// other jobs is due, or of those that run is to save before its end; at the latest the time given.
func (st *State) NextTry(now, latest time.Time) time.Time {
	for _, js := range st.Jobs {
		if at := js.Placing.Refused.StartAgain(); at.After(now) && at.Before(latest) && js.Rec.Ended.IsZero() {
			latest = at
		}
		if c := js.Placing.blocked.Code; (c == elastic.Depends || c == elastic.Obstructed || c == elastic.Unreachable) && now.Add(dependPeriod).Before(latest) {
			latest = now.Add(dependPeriod)
		}
		if at := js.Placing.rest; at.After(now) && at.Before(latest) && js.Rec.Ended.IsZero() && js.Shown.Slurm.State == slurm.Pending {
			latest = at
		}
		if at := st.savesAt(js, now); at.After(now) && at.Before(latest) {
			latest = at
		}
		if at := js.Placing.blocked.Until; at.After(now) && at.Before(latest) {
			latest = at
		}
	}
	return latest
}

// Reconsider forgets refusals that stand no more: of a job that runs, that was released or
// changed by its user, and of all once nodes or partitions are others than they were.
func (st *State) Reconsider(seen observe.Look) {
	var refused []*Job
	for _, js := range st.Jobs {
		r := &js.Placing.Refused
		phase := PhaseOf(js.Shown.Slurm)
		released := phase == elastic.Queued && !st.Open.has(js.Rec.ID)
		switch {
		case !js.Rec.Ended.IsZero():
			*r = elastic.Refused{}
		case !js.Shown.Seen:
		case eligible.AskedOf(&js.Shown.Slurm, js.Rec.Partition) != js.Placing.asked:
			*r = elastic.Refused{}
		case phase == elastic.Running || released:
			r.Start, r.Obstacle, js.Placing.Fell = elastic.Refusals{}, elastic.Refusals{}, 0
		}
		if r.Start.Times+r.Resize.Times+r.Obstacle.Times > 0 {
			refused = append(refused, js)
		}
	}
	if len(refused) == 0 {
		st.ground = nil
		return
	}
	was, is := st.ground, eligible.GroundOf(seen.Nodes, st.Site.Partitions)
	if st.ground = is; was == nil || was.Equal(is) {
		return
	}
	for _, js := range refused {
		js.Placing.Refused = elastic.Refused{}
	}
}
