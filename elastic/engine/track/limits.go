package track

import (
	"reflect"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/slurm"
)

// How old the site's limits may be: limitsPeriod, or limitsCycles cycles where these
// are short; limitsAgain while a job is between two sizes, or Slurm gives a limit as
// the reason why one waits.
const (
	limitsPeriod = time.Minute
	limitsCycles = 6
	limitsAgain  = 15 * time.Second
)

// LimitsOld is how old limits may be in the look at these jobs.
func (st *State) LimitsOld(jobs []slurm.Job) time.Duration {
	most := st.Rules.LimitsPeriod()
	if len(st.Open) > 0 || st.limited(jobs) {
		most = min(most, limitsAgain)
	}
	return most
}

// LimitsPeriod is how old limits may be in peace.
func (ru *Rules) LimitsPeriod() time.Duration {
	return min(limitsPeriod, limitsCycles*ru.Period)
}

// TookLimits takes in the site's limits, and reports whether they are others than before.
func (st *State) TookLimits(fresh slurm.Limits) bool {
	changed := !st.Site.Known || !reflect.DeepEqual(st.Site.Limits, fresh)
	st.Site = eligible.Read(fresh, st.Rules.Edge)
	return changed
}

// limited reports whether Slurm leaves one of sluice's jobs waiting for a limit, or one
// is of an account or user of which nothing is known.
func (st *State) limited(jobs []slurm.Job) bool {
	for _, sj := range jobs {
		if js := st.ByID[elastic.JobID(sj.ID)]; js != nil && !js.Shown.Disown && st.Site.Outdated(sj) {
			return true
		}
	}
	return false
}
