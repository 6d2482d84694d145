package plan

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// The rules of Reconcile for jobs that Slurm refused lately.

func startRefused(r *reconciler, j *elastic.Job, _ nodes.Placement) bool {
	return j.Phase == elastic.Held && r.s.Now.Before(j.Refused.StartAgain())
}

func waitsForSlurm(_ *reconciler, j *elastic.Job, _ nodes.Placement, _ reason.Reason) (*elastic.Intent, reason.Reason) {
	return nil, j.NotStarted()
}

// resizeRefused never holds for a job that gives GPUs back.
func resizeRefused(r *reconciler, j *elastic.Job, t nodes.Placement) bool {
	return j.Phase == elastic.Running && r.s.Now.Before(j.Refused.ResizeAgain()) && len(t) > 0 && t.GPUs() >= j.GPUs()
}

func staysForSlurm(_ *reconciler, j *elastic.Job, _ nodes.Placement, _ reason.Reason) (*elastic.Intent, reason.Reason) {
	return nil, j.NotMoved()
}
