package elastic

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Slurm says of a held job only that it is held. What else it would not start the job for,
// such as a license in use, it says after the release. Another pass of the scheduler does not
// change that, so the release is taken back, and the GPUs are given to others.

// obstacleAfter is how long after a release Slurm's reason is taken for its last word. It
// covers the passes of the scheduler that the release and the first request for one bring,
// with its default batch_sched_delay of 3 s.
const obstacleAfter = 10 * time.Second

// How long after the first such refusal the job is tried again, where nothing is seen that
// could have changed it. Each next wait is twice as long. See Refused.StartAgain for the most.
const obstacleAgain = 30 * time.Second

// scope says of what of a job a reason speaks.
type scope int

const (
	ofNothing scope = iota // a pass of the scheduler may change it, or it is not known
	ofJob                  // of the job, whatever its size and nodes
	ofSize                 // of its size: fewer GPUs may be taken
	ofNodes                // of the nodes that it asks for
)

// obstacle is what one of Slurm's reasons means for a released job.
type obstacle struct {
	scope  scope
	means  string // for people
	advice string // what to type; %d is the job
}

// obstacles are Slurm's reasons that are no families of limits (limitOf).
var obstacles = map[string]obstacle{
	"Licenses":                 {ofJob, "licenses that it asks for are in use", "scontrol show licenses"},
	"BurstBufferResources":     {ofJob, "the burst buffer that it asks for has no room", "scontrol show burstbuffer"},
	"BurstBufferStageIn":       {ofJob, "its burst buffer is being filled", "scontrol show burstbuffer"},
	"Reservation":              {ofJob, "its reservation has not begun or is full", "scontrol show reservation"},
	"ReservationDeleted":       {ofJob, "its reservation was deleted", "scontrol update JobId=%d ReservationName="},
	"JobArrayTaskLimit":        {ofJob, "as many jobs of its array run as may run at once", "scontrol update JobId=%d ArrayTaskThrottle=0"},
	"AccountNotAllowed":        {ofJob, "its account may not use its partition", "scontrol update JobId=%d Account=ACCOUNT"},
	"InvalidAccount":           {ofJob, "its account does not exist, or its user is not in it", "scontrol update JobId=%d Account=ACCOUNT"},
	"AccountingPolicy":         {ofJob, "a rule of its account does not allow it now", "sacctmgr show associations"},
	"QOSNotAllowed":            {ofJob, "its partition or account does not allow its QOS", "scontrol update JobId=%d QOS=QOS"},
	"InvalidQOS":               {ofJob, "its QOS does not exist, or its user may not use it", "scontrol update JobId=%d QOS=QOS"},
	"QOSUsageThreshold":        {ofJob, "its account's fair share is below what its QOS asks for", "sshare"},
	"PartitionDown":            {ofJob, "its partition is down", "scontrol show partition"},
	"PartitionInactive":        {ofJob, "its partition is inactive", "scontrol show partition"},
	"PartitionTimeLimit":       {ofJob, "its time limit is above that of its partition", "scontrol update JobId=%d TimeLimit=TIME"},
	"PartitionNodeLimit":       {ofSize, "its number of nodes is beyond what its partition allows", "scontrol show partition"},
	"DependencyNeverSatisfied": {ofJob, "its dependency cannot be satisfied", "scontrol update JobId=%d Dependency="},
	"Dependency":               {ofJob, "what it depends on has not happened", "scontrol show job %d"},
	"ReqNodeNotAvail":          {ofNodes, "its nodes are not available", "scontrol show job %d"},
	"NodeDown":                 {ofNodes, "one of its nodes is down", "scontrol show job %d"},
}

// obstacleOf is what Slurm's reason for a released job means. Slurm may add words to its
// code, after a comma.
func obstacleOf(reason string) obstacle {
	code, _, _ := strings.Cut(reason, ",")
	if o, ok := obstacles[code]; ok {
		return o
	}
	return limitOf(code)
}

// limitOf knows the reasons that name a limit of an association or a QOS, such as
// AssocGrpGRES and QOSMaxJobsPerUserLimit. Those on jobs and on time limits bind at any size.
func limitOf(code string) obstacle {
	o := obstacle{advice: "sacctmgr show associations; sacctmgr show qos"}
	switch {
	case strings.HasPrefix(code, "Assoc"):
		o.means = "a limit of its account or user is reached"
	case strings.HasPrefix(code, "QOS"):
		o.means = "a limit of its QOS is reached"
	case strings.HasPrefix(code, "Max") && strings.HasSuffix(code, "PerAccount"):
		o.means = "a limit of its account is reached"
	default:
		return obstacle{}
	}
	o.scope = ofSize
	for _, any := range []string{"Jobs", "JobLimit", "Wall", "TimeLimit"} {
		if strings.Contains(code, any) && !strings.Contains(code, "PerJobLimit") || any == "Wall" && strings.Contains(code, any) {
			o.scope = ofJob
		}
	}
	return o
}

// turnedAway: released a while ago, and Slurm names a reason that waiting does not change.
// A release that is taken back was released long ago.
func turnedAway(s situation) bool {
	return s.job.Phase == Queued && lateBy(s, obstacleAfter) && obstacleOf(s.job.Reason).scope != ofNothing
}

// scopeOf is what of the job Slurm's reason speaks of. The size of a job that has its
// smallest is no reason that another size could change.
func scopeOf(s situation) scope {
	of := obstacleOf(s.job.Reason).scope
	if of == ofSize && s.in.Target.GPUs() <= max(s.job.Spec.Min, s.job.Directive.Pin) {
		return ofJob
	}
	return of
}

// turnedAwayHere: at this size or on these nodes.
func turnedAwayHere(s situation) bool { return turnedAway(s) && takenBack(s) && scopeOf(s) != ofJob }

// turnedAwayFirst: only a resize has a last good size to go back to.
func turnedAwayFirst(s situation) bool {
	return turnedAwayHere(s) && s.in.Kind == Resize && s.in.Fallbacks < maxFallbacks
}

func turnedAwayAtAll(s situation) bool { return turnedAway(s) && takenBack(s) }

// fallBackHere is fallBack after a refusal.
func fallBackHere(s situation) Next {
	next := fallBack(s)
	next.Refused, next.Blameless = true, scopeOf(s) != ofNodes
	next.Why = reason.TurnedAway{Reason: s.job.Reason, Back: true}
	return next
}

// giveUpHere is giveUp after a refusal.
func giveUpHere(s situation) Next {
	next := giveUp(s)
	next.Refused, next.Blameless = true, scopeOf(s) != ofNodes
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

// ObstacleAgain is when a job that Slurm would start nowhere is tried again; zero = at once.
func (r Refused) ObstacleAgain() time.Time {
	if r.Idle {
		return r.Obstacle.again(obstacleAgain, startAgainMost)
	}
	return r.Obstacle.again(obstacleAgain, stopsMost)
}

// obstructed is what Slurm would not start the job for.
func (b Blocked) obstructed(id JobID) reason.Reason {
	o := obstacleOf(b.On)
	advice := o.advice
	if strings.Contains(advice, "%d") {
		advice = fmt.Sprintf(advice, id)
	}
	return reason.Obstructed{Job: int64(id), Since: b.Since, Times: b.Times, Reason: b.On, Means: o.means, Until: b.Until, Advice: advice}
}
