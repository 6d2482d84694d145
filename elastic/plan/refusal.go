package plan

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// The rules of Reconcile for jobs that Slurm refused lately.
// The times are those of elastic.Refused: each refusal in a row doubles the wait, up to a maximum.

// startRefused: Slurm refused to start the job, and the next try is not due.
func startRefused(r *reconciler, j *elastic.Job, _ nodes.Placement) bool {
	return j.Phase == elastic.Waiting && r.s.Now.Before(j.Refused.StartAgain())
}

// waitsForSlurm opens nothing, and says when the start is tried again.
func waitsForSlurm(_ *reconciler, j *elastic.Job, _ nodes.Placement, _ reason.Reason) (*elastic.Intent, reason.Reason) {
	return nil, j.NotStarted()
}

// resizeRefused never holds for a job that gives GPUs back.
func resizeRefused(r *reconciler, j *elastic.Job, t nodes.Placement) bool {
	return j.Phase == elastic.Running && r.s.Now.Before(j.Refused.ResizeAgain()) && len(t) > 0 && t.GPUs() >= j.GPUs()
}

// staysForSlurm opens nothing, and says when the resize is tried again.
func staysForSlurm(_ *reconciler, j *elastic.Job, _ nodes.Placement, _ reason.Reason) (*elastic.Intent, reason.Reason) {
	return nil, j.NotMoved()
}
