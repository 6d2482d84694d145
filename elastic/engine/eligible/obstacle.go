package eligible

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// Holders returns the running jobs that may hold what the job lacks according to Slurm's reason:
// licenses of the same name, or a share of the same limit.
//
//	Slurm's reason begins with   holders
//	Licenses                     jobs with a license of one of the same names
//	Assoc, Max                   jobs of the same account or user
//	QOS                          jobs of the same QOS or partition
//	anything else                none: only the delay ends the wait
//
// It may name jobs that hold nothing of what is lacking. That costs one try that is too early, while
// a holder that is left out would cost a wait of up to 2 h.
func Holders(jobs []slurm.Job, sj slurm.Job, said string) []slurm.JobID {
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

// given reports whether one of the holders no longer runs. A holder with an open move does not
// count: it will take back what it had. A holder that is missing from Slurm's answer is over. One
// that is completing still has its license.
func (l *Look) given(own Job, listed func(slurm.JobID) *slurm.Job) bool {
	return slices.ContainsFunc(own.Holders, func(id slurm.JobID) bool {
		o := listed(id)
		over := o == nil || o.State.Ended() && !o.Completing || o.State == slurm.Pending && !o.Completing
		return over && !l.moves(elastic.JobID(id))
	})
}

// obstructed returns the block of a job that Slurm did not start when it was last released. It ends
// after a delay, and as soon as one of the holders has ended. While a holder has an open move
// the job stays blocked, since it could take what the holder needs to restart. The delay doubles with
// each time (elastic.Refused.ObstacleAgain, decision 36). The times of it are lost when the daemon
// restarts, and the job is tried once.
func (l *Look) obstructed(own Job, listed func(slurm.JobID) *slurm.Job, now time.Time) elastic.Blocked {
	r := own.Refused.Obstacle
	moving := slices.ContainsFunc(own.Holders, func(id slurm.JobID) bool { return l.moves(elastic.JobID(id)) })
	if r.Times == 0 || !moving && (!now.Before(own.Refused.ObstacleAgain()) || l.given(own, listed)) {
		return elastic.Blocked{}
	}
	said, _ := r.Why.(reason.SlurmSaid)
	return elastic.Blocked{Code: elastic.Obstructed, On: said.Text, Until: own.Refused.ObstacleAgain(), Since: r.Last, Times: r.Times}
}

// notBegun returns the block of a job whose own reservation has not begun.
func (l *Look) notBegun(own Job, now time.Time) elastic.Blocked {
	in := l.Site.Reserved[own.Slurm.ID]
	for _, r := range l.Site.Reservations {
		if in != "" && r.Name == in && now.Before(r.Start) {
			return elastic.Blocked{Code: elastic.NotBegun, On: in, Until: r.Start.In(now.Location())}
		}
	}
	return elastic.Blocked{}
}
