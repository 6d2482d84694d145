package resize

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Slurm's reason for a released job may be one that waiting does not change (elastic.ScopeOf).
// Then the job is deferred again, and the GPUs are given to other jobs.

// obstacleAfter is how long after a release Slurm's reason is taken as final. It covers the
// scheduling passes after the release and after the first request for one, with Slurm's default
// batch_sched_delay of 3 s.
const obstacleAfter = 10 * time.Second

// turnedAway: released some time ago, and Slurm gives a reason that waiting does not change.
func turnedAway(s situation) bool {
	return s.job.Phase == elastic.Queued && lateBy(s, obstacleAfter) && elastic.ScopeOf(s.job.Reason) != elastic.OfNothing
}

// scopeOf returns the scope of Slurm's reason. For a job at its smallest size, a reason about
// its size is not one that another size could change.
func scopeOf(s situation) elastic.Scope {
	of := elastic.ScopeOf(s.job.Reason)
	if of == elastic.OfSize && s.in.Target.GPUs() <= max(s.job.Spec.Min, s.job.Directive.Pin) {
		return elastic.OfJob
	}
	return of
}

// turnedAwayHere: at this size or on these nodes.
func turnedAwayHere(s situation) bool {
	return turnedAway(s) && scopeOf(s) != elastic.OfJob
}

// turnedAwayFirst: only a resize has a last good size to return to.
func turnedAwayFirst(s situation) bool {
	return turnedAwayHere(s) && s.in.Kind == elastic.Resize && s.in.Fallbacks < maxFallbacks
}

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
