package elastic

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

// For a held job Slurm's only reason is that it is held. Other reasons not to start it, such as
// a license in use, are given only after the release. A further scheduling pass does not change
// those, so the release is taken back and the GPUs are given to other jobs.

// obstacleAgain is how long after the first such refusal the job is tried again, if nothing is
// known to have changed. Each next wait is twice as long. See Refused.StartAgain for the
// maximum.
const obstacleAgain = 30 * time.Second

// Scope is the part of a job that one of Slurm's reasons for not starting it is about.
type Scope int

// The scopes of Slurm's reasons.
const (
	OfNothing Scope = iota // a scheduling pass may change it, or it is not known
	OfJob                  // the job, whatever its size and nodes
	OfSize                 // its size: a smaller one may start
	OfNodes                // the nodes that it requests
)

// ScopeOf returns the scope of one of Slurm's reasons for a released job. Unknown reasons are
// OfNothing.
func ScopeOf(slurm string) Scope { return obstacleOf(slurm).scope }

// obstacle is the meaning of one of Slurm's reasons for a released job.
type obstacle struct {
	scope  Scope
	means  string // for people
	advice string // what to type; %d is the job
}

// obstacles are Slurm's reasons, except the families of limits (limitOf).
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

// obstacleOf returns the meaning of Slurm's reason for a released job. Slurm may add words to
// its code, after a comma.
func obstacleOf(reason string) obstacle {
	code, _, _ := strings.Cut(reason, ",")
	if o, ok := obstacles[code]; ok {
		return o
	}
	return limitOf(code)
}

// limitOf handles the reasons that name a limit of an association or a QOS, such as
// AssocGrpGRES and QOSMaxJobsPerUserLimit. Limits on jobs and on time apply at any size.
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

// ObstacleAgain returns when a job that Slurm would start nowhere is tried again; zero = at
// once.
func (r Refused) ObstacleAgain() time.Time {
	if r.Idle {
		return r.Obstacle.again(obstacleAgain, startAgainMost)
	}
	return r.Obstacle.again(obstacleAgain, stopsMost)
}

// obstructed returns why Slurm would not start the job.
func (b Blocked) obstructed(id JobID) reason.Reason {
	o := obstacleOf(b.On)
	advice := o.advice
	if strings.Contains(advice, "%d") {
		advice = fmt.Sprintf(advice, id)
	}
	return reason.Obstructed{Job: int64(id), Since: b.Since, Times: b.Times, Reason: b.On, Means: o.means, Until: b.Until, Advice: advice}
}
