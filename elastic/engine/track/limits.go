package track

import (
	"reflect"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/slurm"
)

// Maximum age of the site's limits: the smaller of limitsPeriod and limitsCycles periods;
// limitsAgain while a move is open, or Slurm gives a limit as the reason why a job waits.
const (
	limitsPeriod = time.Minute
	limitsCycles = 6
	limitsAgain  = 15 * time.Second
)

// LimitsOld returns the maximum age of the limits for a cycle that saw these jobs. It MUST be called
// AFTER Match, as it looks at sluice's jobs only: a foreign job that waits for a limit makes no
// query.
func (st *State) LimitsOld(jobs []slurm.Job) time.Duration {
	most := st.Rules.LimitsPeriod()
	if len(st.Open) > 0 || st.limited(jobs) {
		most = min(most, limitsAgain)
	}
	return most
}

// LimitsPeriod returns the maximum age of the limits while nothing moves.
func (ru *Rules) LimitsPeriod() time.Duration {
	return min(limitsPeriod, limitsCycles*ru.Period)
}

// TookLimits stores the site's limits and reports whether they changed. The Site is replaced also if
// nothing changed, and with it the cache of rules.
func (st *State) TookLimits(fresh slurm.Limits) bool {
	changed := !st.Site.Known || !reflect.DeepEqual(st.Site.Limits, fresh)
	st.Site = eligible.Read(fresh, st.Rules.Edge)
	return changed
}

// limited reports whether one of sluice's jobs waits for a limit, or its account or user is not
// in the limits that were read.
func (st *State) limited(jobs []slurm.Job) bool {
	for _, sj := range jobs {
		if js := st.ByID[elastic.JobID(sj.ID)]; js != nil && !js.Shown.Disown && st.Site.Outdated(sj) {
			return true
		}
	}
	return false
}
