package plan

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// A job between two sizes gives its licenses back for a few seconds. A job started meanwhile
// with the same licenses would take them, and the first one could not continue. So no job is
// started with a license of one that is being resized, and none is resized with a license of
// one that is starting.

// licensed are jobs by the licenses that they have, or request, and by the kind of their move.
// It keeps one job for each license and kind, which is enough to name one in a reason.
type licensed map[elastic.Kind]map[string]elastic.JobID

// add records the licenses of a job with an open move of the kind.
func (l licensed) add(kind elastic.Kind, j *elastic.Job) {
	for _, name := range j.Licenses {
		if l[kind] == nil {
			l[kind] = map[string]elastic.JobID{}
		}
		l[kind][name] = j.ID
	}
}

// licensesMoving returns the licenses of the jobs with open moves.
func licensesMoving(s *elastic.Snapshot) licensed {
	l := licensed{}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; len(j.Licenses) > 0 {
			if in, ok := s.Intent(j.ID); ok {
				l.add(in.Kind, j)
			}
		}
	}
	return l
}

// against returns a job that has a license in common with j in a move of the other kind: in a
// resize if j would start, in a start if j would be resized; false if there is none.
func (l licensed) against(j *elastic.Job) (elastic.JobID, bool) {
	other := elastic.Start
	if j.Phase == elastic.Waiting {
		other = elastic.Resize
	}
	at := slices.IndexFunc(j.Licenses, func(name string) bool { return l[other][name] != 0 })
	if at < 0 {
		return 0, false
	}
	return l[other][j.Licenses[at]], true
}

// licensesTaken: a job with a license of this one is in a move of the other kind. A job that
// is stopped gives its licenses back, so it is never delayed.
func licensesTaken(r *reconciler, j *elastic.Job, _ nodes.Placement) bool {
	_, taken := r.taking.against(j)
	return taken && !r.where.Park[j.ID]
}

// waitsForLicenses keeps the target for the job: the other move takes seconds.
func waitsForLicenses(r *reconciler, j *elastic.Job, t nodes.Placement, why reason.Reason) (*elastic.Intent, reason.Reason) {
	promise(r.now, j, t, 1)
	other, _ := r.taking.against(j)
	return nil, reason.Join(why, reason.LicenseBusy{Job: int64(other)})
}
