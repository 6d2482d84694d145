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

// Refusals are kept in memory only: after a restart of the daemon each job is tried once more,
// which is harmless.

// NoteRefused records that Slurm refused the target of a move, and why. blameless: the target's
// nodes are not the cause, so other nodes need not be tried first. A resize that has not fallen back
// is noted with the place from which it was to move (Resize), any other move as a refused start
// (Start). A job that is not known is ignored.
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

// mostFallen is the number of failed moves in a row from which on the next one is delayed as after
// a refusal. Another job may take the GPUs first once or twice; after three failures the cause is
// unlikely to be over at once.
const mostFallen = 3

// noteFallen counts a move after which its job does not run.
func (st *State) noteFallen(js *Job, in elastic.Intent, why reason.Reason, now time.Time) {
	if !js.Mail.silent.IsZero() {
		return // the job's folder is the cause
	}
	if js.Placing.Fell++; js.Placing.Fell < mostFallen || PhaseOf(js.Shown.Slurm, now) == elastic.Running {
		return
	}
	js.Placing.Refused.Start = js.Placing.Refused.Start.And(in.Target, why, now)
	js.Placing.asked = eligible.AskedOf(&js.Shown.Slurm, js.Rec.Partition)
	st.Tell(now, in.Job, "problem", fmt.Sprintf("it did not start, %d times in a row; the next try is not before %s",
		js.Placing.Fell, js.Placing.Refused.StartAgain().Format(time.TimeOnly)))
}

// dependPeriod is the longest time between two cycles while a job waits for other jobs or for its
// folder.
const dependPeriod = 10 * time.Second

// NextTry returns when the first job is due: it waits after a refusal or a failure, for its begin
// time or for other jobs, or it runs and must save before its time limit. It is never after latest. A
// cycle before that time would find nothing new to do for these reasons. The cost is O(jobs).
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

// Reconsider drops refusals that no longer apply: of a job that runs, was released or was changed
// by its user, and of all jobs when the configuration of nodes or partitions changed. It MUST be
// called AFTER Fold. The configuration is remembered from the first refusal on, and compared in each
// cycle while there is one.
func (st *State) Reconsider(seen observe.Look, now time.Time) {
	var refused []*Job
	for _, js := range st.Jobs {
		r := &js.Placing.Refused
		phase := PhaseOf(js.Shown.Slurm, now)
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
		st.refusedUnder = nil
		return
	}
	was, is := st.refusedUnder, eligible.GroundOf(seen.Nodes, st.Site.Partitions)
	if st.refusedUnder = is; was == nil || was.Equal(is) {
		return
	}
	for _, js := range refused {
		js.Placing.Refused = elastic.Refused{}
	}
}
