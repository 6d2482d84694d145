package resize

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Slurm's reason for a released job may be one that waiting does not change (elastic.ScopeOf).
// Then the release is taken back, and the GPUs are given to others.

// obstacleAfter is how long after a release Slurm's reason is taken for its last word. It
// covers the passes of the scheduler that the release and the first request for one bring,
// with its default batch_sched_delay of 3 s.
const obstacleAfter = 10 * time.Second

// turnedAway: released a while ago, and Slurm names a reason that waiting does not change.
// A release that is taken back was released long ago.
func turnedAway(s situation) bool {
	return s.job.Phase == elastic.Queued && lateBy(s, obstacleAfter) && elastic.ScopeOf(s.job.Reason) != elastic.OfNothing
}

// scopeOf is what of the job Slurm's reason speaks of. The size of a job that has its
// smallest is no reason that another size could change.
func scopeOf(s situation) elastic.Scope {
	of := elastic.ScopeOf(s.job.Reason)
	if of == elastic.OfSize && s.in.Target.GPUs() <= max(s.job.Spec.Min, s.job.Directive.Pin) {
		return elastic.OfJob
	}
	return of
}

// turnedAwayHere: at this size or on these nodes.
func turnedAwayHere(s situation) bool {
	return turnedAway(s) && takenBack(s) && scopeOf(s) != elastic.OfJob
}

// turnedAwayFirst: only a resize has a last good size to go back to.
func turnedAwayFirst(s situation) bool {
	return turnedAwayHere(s) && s.in.Kind == elastic.Resize && s.in.Fallbacks < maxFallbacks
}

func turnedAwayAtAll(s situation) bool { return turnedAway(s) && takenBack(s) }

// fallBackHere is fallBack after a refusal.
func fallBackHere(s situation) Next {
	next := fallBack(s)
	next.Refused, next.Blameless = true, scopeOf(s) != elastic.OfNodes
	next.Why = reason.TurnedAway{Reason: s.job.Reason, Back: true}
	return next
}

// giveUpHere is giveUp after a refusal.
func giveUpHere(s situation) Next {
	next := giveUp(s)
	next.Refused, next.Blameless = true, scopeOf(s) != elastic.OfNodes
	next.Why = reason.TurnedAway{Reason: s.job.Reason}
	return next
}

// giveUpAtAll: no other place would help.
func giveUpAtAll(s situation) Next {
	next := giveUp(s)
	next.Obstacle = s.job.Reason
	next.Why = reason.TurnedAwayAtAll{Reason: s.job.Reason}
	return next
}
