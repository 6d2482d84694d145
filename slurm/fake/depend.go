package fake

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// term is one condition that a job waits for: afterok, afternotok or afterany of a job.
type term struct {
	kind   string
	job    slurm.JobID
	failed bool
}

// dependency reads "afterok:1:2,afterany:3"; all of them must be satisfied.
func dependency(value string) (terms []term, err error) {
	for _, part := range strings.Split(value, ",") {
		words := strings.Split(part, ":")
		if !slices.Contains([]string{"afterok", "afternotok", "afterany"}, words[0]) || len(words) < 2 {
			return nil, fmt.Errorf("Job dependency problem")
		}
		for _, w := range words[1:] {
			n, err := strconv.ParseInt(w, 10, 64)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("Job dependency problem")
			}
			terms = append(terms, term{kind: words[0], job: slurm.JobID(n)})
		}
	}
	return terms, nil
}

// depends updates what the job waits for. For held jobs Slurm does that once a minute
// only.
func (f *Fake) depends(j *job) {
	j.depends = slices.DeleteFunc(slices.Clone(j.depends), func(t term) bool {
		on := f.find(t.job)
		if on == nil {
			return !t.failed
		}
		over, well := on.state.Ended() && !on.completing, on.state == slurm.Completed
		return !t.failed && over && (t.kind == "afterany" || well == (t.kind == "afterok"))
	})
	for i := range j.depends {
		on := f.find(j.depends[i].job)
		if on != nil && on.state.Ended() && !on.completing {
			j.depends[i].failed = true
		}
	}
}

// dependRenewal is the maximum time from the end of a job until slurmctld updates the
// dependencies of held jobs.
const dependRenewal = time.Minute

// renew holds jobs whose dependency can no longer be satisfied, with an administrator's
// hold, which stays when the dependency is removed.
func (f *Fake) renew() {
	for _, j := range f.jobs {
		if j.state != slurm.Pending || j.held == notHeld || len(j.depends) == 0 {
			continue
		}
		if f.depends(j); dependencyReason(j.depends) == "DependencyNeverSatisfied" && len(j.depends) > 0 {
			j.held, j.reason = adminHold, "JobHeldAdmin"
		}
	}
}

// Independent removes a pending job's dependencies: the "scontrol update Dependency="
// that people use, and not part of slurm.Client.
func (s *Session) Independent(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opUpdate, id, func(j *job) *failure {
		j.depends = nil
		s.f.schedule()
		return nil
	})
}

// dependencyText is the dependency as squeue prints it.
func dependencyText(terms []term) string {
	var words []string
	for _, t := range terms {
		state := "unfulfilled"
		if t.failed {
			state = "failed"
		}
		words = append(words, fmt.Sprintf("%s:%d(%s)", t.kind, t.job, state))
	}
	return strings.Join(words, ",")
}

func dependencyReason(terms []term) string {
	if slices.ContainsFunc(terms, func(t term) bool { return t.failed }) {
		return "DependencyNeverSatisfied"
	}
	return "Dependency"
}
