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

// How long after the first such refusal the job is tried again, where nothing is seen that
// could have changed it. Each next wait is twice as long. See Refused.StartAgain for the most.
const obstacleAgain = 30 * time.Second

// Scope says what of a job one of Slurm's reasons for not starting it concerns.
type Scope int

// What one of Slurm's reasons concerns.
const (
	OfNothing Scope = iota // a pass of the scheduler may change it, or it is not known
	OfJob                  // the job, whatever its size and nodes
	OfSize                 // its size: fewer GPUs may be taken
	OfNodes                // the nodes that it asks for
)

// ScopeOf is what one of Slurm's reasons for a released job concerns.
func ScopeOf(slurm string) Scope { return obstacleOf(slurm).scope }

// obstacle is what one of Slurm's reasons means for a released job.
type obstacle struct {
	scope  Scope
	means  string // for people
	advice string // what to type; %d is the job
}

// obstacles are Slurm's reasons that are no families of limits (limitOf).
var obstacles = map[string]obstacle{
	"Licenses":                 {OfJob, "licenses that it asks for are in use", "scontrol show licenses"},
	"BurstBufferResources":     {OfJob, "the burst buffer that it asks for has no room", "scontrol show burstbuffer"},
	"BurstBufferStageIn":       {OfJob, "its burst buffer is being filled", "scontrol show burstbuffer"},
	"Reservation":              {OfJob, "its reservation has not begun or is full", "scontrol show reservation"},
	"ReservationDeleted":       {OfJob, "its reservation was deleted", "scontrol update JobId=%d ReservationName="},
	"JobArrayTaskLimit":        {OfJob, "as many jobs of its array run as may run at once", "scontrol update JobId=%d ArrayTaskThrottle=0"},
	"AccountNotAllowed":        {OfJob, "its account may not use its partition", "scontrol update JobId=%d Account=ACCOUNT"},
	"InvalidAccount":           {OfJob, "its account does not exist, or its user is not in it", "scontrol update JobId=%d Account=ACCOUNT"},
	"AccountingPolicy":         {OfJob, "a rule of its account does not allow it now", "sacctmgr show associations"},
	"QOSNotAllowed":            {OfJob, "its partition or account does not allow its QOS", "scontrol update JobId=%d QOS=QOS"},
	"InvalidQOS":               {OfJob, "its QOS does not exist, or its user may not use it", "scontrol update JobId=%d QOS=QOS"},
	"QOSUsageThreshold":        {OfJob, "its account's fair share is below what its QOS asks for", "sshare"},
	"PartitionDown":            {OfJob, "its partition is down", "scontrol show partition"},
	"PartitionInactive":        {OfJob, "its partition is inactive", "scontrol show partition"},
	"PartitionTimeLimit":       {OfJob, "its time limit is above that of its partition", "scontrol update JobId=%d TimeLimit=TIME"},
	"PartitionNodeLimit":       {OfSize, "its number of nodes is beyond what its partition allows", "scontrol show partition"},
	"DependencyNeverSatisfied": {OfJob, "its dependency cannot be satisfied", "scontrol update JobId=%d Dependency="},
	"Dependency":               {OfJob, "what it depends on has not happened", "scontrol show job %d"},
	"ReqNodeNotAvail":          {OfNodes, "its nodes are not available", "scontrol show job %d"},
	"NodeDown":                 {OfNodes, "one of its nodes is down", "scontrol show job %d"},
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
	o.scope = OfSize
	for _, any := range []string{"Jobs", "JobLimit", "Wall", "TimeLimit"} {
		if strings.Contains(code, any) && !strings.Contains(code, "PerJobLimit") || any == "Wall" && strings.Contains(code, any) {
			o.scope = OfJob
		}
	}
	return o
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
