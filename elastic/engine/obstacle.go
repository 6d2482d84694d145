package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// noteObstacle notes that Slurm would not start a job that was released, whatever its size
// and nodes, and which jobs may have what it lacks.
func (e *Engine) noteObstacle(in elastic.Intent, said string, now time.Time) {
	js := e.byID[in.Job]
	if js == nil {
		return
	}
	js.refused.Obstacle = js.refused.Obstacle.AndNoNodes(nil, reason.SlurmSaid{Text: said}, now)
	js.asked, js.holders = askedOf(js), holders(e.seen.jobs, js.slurm, said)
	e.event(now, in.Job, "problem", fmt.Sprintf("Slurm does not start it (%s); its GPUs are for others, and the next try is not before %s, unless that changes", said, js.refused.ObstacleAgain().Format(time.TimeOnly)))
}

// holders are the running jobs that may have what Slurm would not start the job for:
// licenses of the same name, or their part of a limit.
func holders(jobs []slurm.Job, sj slurm.Job, said string) []slurm.JobID {
	var has func(slurm.Job) bool
	switch {
	case strings.HasPrefix(said, "Licenses"):
		wanted := slurm.LicenseNames(sj.Licenses)
		has = func(o slurm.Job) bool {
			return slices.ContainsFunc(slurm.LicenseNames(o.Licenses), func(name string) bool { return slices.Contains(wanted, name) })
		}
	case strings.HasPrefix(said, "Assoc"), strings.HasPrefix(said, "Max"):
		has = func(o slurm.Job) bool { return o.Account == sj.Account || o.UID == sj.UID }
	case strings.HasPrefix(said, "QOS"):
		has = func(o slurm.Job) bool { return o.QOS == sj.QOS || o.Partition == sj.Partition }
	default:
		return nil
	}
	var ids []slurm.JobID
	for _, o := range jobs {
		if o.ID != sj.ID && !o.State.Ended() && o.State != slurm.Pending && has(o) {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// given reports whether one of the holders runs no more. One between two sizes takes again
// what it had.
func (e *Engine) given(js *jobState, listed func(slurm.JobID) *slurm.Job) bool {
	return slices.ContainsFunc(js.holders, func(id slurm.JobID) bool {
		o := listed(id)
		over := o == nil || o.State.Ended() && !o.Completing || o.State == slurm.Pending && !o.Completing
		return over && !e.moves(elastic.JobID(id))
	})
}

// obstructed is what Slurm would not start the job for when it was released last, until it
// is tried again: after a while, and as soon as a job has ended that had what it lacks.
// While one of those is between two sizes nothing is tried, for it would lose what it had.
func (e *Engine) obstructed(js *jobState, listed func(slurm.JobID) *slurm.Job, now time.Time) elastic.Blocked {
	r := js.refused.Obstacle
	moving := slices.ContainsFunc(js.holders, func(id slurm.JobID) bool { return e.moves(elastic.JobID(id)) })
	if r.Times == 0 || !moving && (!now.Before(js.refused.ObstacleAgain()) || e.given(js, listed)) {
		return elastic.Blocked{}
	}
	said, _ := r.Why.(reason.SlurmSaid)
	return elastic.Blocked{Code: elastic.Obstructed, On: said.Text, Until: js.refused.ObstacleAgain(), Since: r.Last, Times: r.Times}
}

// notBegun is the job's own reservation, as long as that lies ahead.
func (e *Engine) notBegun(js *jobState, now time.Time) elastic.Blocked {
	own := e.limits.Reserved[js.slurm.ID]
	for _, r := range e.limits.Reservations {
		if own != "" && r.Name == own && now.Before(r.Start) {
			return elastic.Blocked{Code: elastic.NotBegun, On: own, Until: r.Start.In(now.Location())}
		}
	}
	return elastic.Blocked{}
}
