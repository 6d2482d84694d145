package eligible

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// Order sets the Priority of each waiting job, and lists waiting jobs in the order in which Slurm
// would start them: by priority, and those of equal priority as they came. Running jobs, and jobs
// with an open move, keep their places in the list.
//
// For example, of four jobs in the order of submission, with R running:
//
//	before   A(10)  R  B(30)  C(20)
//	after    B(30)  R  C(20)  A(10)
//
// Policies that start jobs in the order of the list then follow Slurm's priorities, and the order of
// running jobs, in which they are served, does not depend on which jobs wait.
func (l *Look) Order(s *elastic.Snapshot) {
	var places []int
	sorted := true
	for i := range s.Jobs {
		j := &s.Jobs[i]
		own, known := l.Own[j.ID]
		if !known || j.Phase != elastic.Waiting || len(j.Place) > 0 || l.moves(j.ID) {
			continue
		}
		j.Priority, j.Aged = priority(own, l.Site.Aging, j.Submitted, s.Now)
		sorted = sorted && (len(places) == 0 || s.Jobs[places[len(places)-1]].Priority >= j.Priority)
		places = append(places, i)
	}
	if sorted { // as in most cycles: a copy of each job would be made in vain
		return
	}
	waiting := make([]elastic.Job, len(places))
	for k, i := range places {
		waiting[k] = s.Jobs[i]
	}
	slices.SortStableFunc(waiting, func(a, b elastic.Job) int { return cmp.Compare(b.Priority, a.Priority) })
	for k, i := range places {
		s.Jobs[i] = waiting[k]
	}
}

// priority returns Slurm's priority of a waiting job, with the age that Slurm withholds from a job
// that is deferred: from its submit, or its user's own begin time if that is later. aged is the part
// for that age. A job with priority 0 is held or set aside, however old it is. Slurm counts the age
// from the time at which a job is eligible, which sluice's own begin time keeps in the future:
// without the correction a job that waits for long would never rise.
func priority(own Job, aging slurm.Aging, submitted, now time.Time) (all, aged int64) {
	if own.Slurm.Priority == 0 {
		return 0, 0
	}
	aged = aging.After(now.Sub(later(submitted, own.Begin)))
	return own.Slurm.Priority + aged, aged
}
