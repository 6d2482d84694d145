package story

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// judge checks the end of every job.
func (p *play) judge() {
	for _, f := range p.w.Findings() {
		if !p.stopForgotten(f) && !p.neverKept(f) && !p.knownToNone(f) {
			p.out.Broken = append(p.out.Broken, f.Text)
		}
	}
	last := map[slurm.JobID]fake.End{}
	for _, end := range p.w.Slurm.Ends() {
		last[end.Job] = end
	}
	for i, job := range p.jobs {
		if job == nil {
			p.broken("I2 job %d was never handed in", i)
			continue
		}
		j := p.s.Jobs[i]
		p.placed(i)
		switch state := last[job.ID()].State; {
		case p.exempt(i):
		case !job.Ended():
			d, _ := p.w.User("root").Job(p.ctx, job.ID())
			p.broken("I2 job %d never ended: %s held=%t %s, %g of %g done", i, d.State, d.Held, d.Reason, job.Done(), j.Total)
		case state == slurm.Completed || p.called(p.cancelled, i):
		case state == slurm.Timeout && (j.Limit > 0 || p.timed()):
		case state == slurm.Failed && p.killed[i]:
		case state == slurm.Failed && p.slurmsDoing(i, last[job.ID()]):
		default:
			p.broken("I2 job %d ended as %s with %g of %g done", i, state, job.Done(), j.Total)
		}
	}
}

// slurmsDoing reports whether the job failed because of Slurm in a way that sluice cannot repair:
// sluice does not manage the job, Slurm purged it before sluiced could requeue it, or slurmctld
// lost a stop that the job's user had requested and of which sluice never knew.
func (p *play) slurmsDoing(i int, end fake.End) bool {
	switch end.Why.What {
	case fake.NoStep:
		return p.unmanaged(i) || p.d.missed(end.At)
	case fake.Forgotten:
		return p.d.missed(end.At) || p.usersStop(i)
	}
	return false
}

// usersStop reports whether the job's user stopped its last run.
func (p *play) usersStop(i int) bool {
	runs := p.jobs[i].Runs()
	return len(runs) > 0 && runs[len(runs)-1].Why.By == p.s.Jobs[i].User
}

// stopForgotten reports whether the finding follows from a stop that slurmctld carried out late and
// of which no daemon could know: the store had been replaced, or a second daemon with a store of
// its own withdrew the request. The work of these seconds is lost.
func (p *play) stopForgotten(f world.Finding) bool {
	return slices.ContainsFunc(p.plan, world.LateStop) && (p.replaced() || p.s.has("second daemon")) && f.Kind == world.StoppedUnsaved
}

// neverKept reports whether the finding is that a job is not known because its record could not be
// stored until the daemon was stopped: the next daemon does not know of it.
func (p *play) neverKept(f world.Finding) bool {
	return f.Kind == records.Unnoticed &&
		slices.ContainsFunc(p.s.Acts, func(a Act) bool {
			return a.What == "daemon is stopped" && slices.ContainsFunc(p.s.Windows, func(w Window) bool {
				return w.Where == "store" && w.How != "" && w.At < a.At && w.At+w.For+2*p.s.Period > a.At
			})
		})
}

// knownToNone reports whether the finding is that a job is not known of which nothing is left to know: its
// user removed or broke its comment, and the store is an older copy, damaged or lost.
func (p *play) knownToNone(f world.Finding) bool {
	if f.Kind != records.Unnoticed || !p.replaced() {
		return false
	}
	for i, job := range p.jobs {
		if job != nil && int64(job.ID()) == f.Job && (p.left[i] || p.torn[i]) {
			return true
		}
	}
	return false
}

// called reports whether something was done to the job, or to another with its number: a user who
// names a job that slurmctld has lost affects the job that has the number now.
func (p *play) called(done map[int]bool, i int) bool {
	for k, job := range p.jobs {
		if done[k] && job != nil && job.ID() == p.jobs[i].ID() {
			return true
		}
	}
	return false
}

// succeeded reports whether Slurm has reused the job's number.
func (p *play) succeeded(i int) bool {
	for k, other := range p.jobs {
		if k != i && other != nil && other.ID() == p.jobs[i].ID() && p.handed[k] > p.handed[i] {
			return true
		}
	}
	return false
}

// forgotten reports whether slurmctld lost the job or reused its number: the job was submitted after
// slurmctld's last saved state.
func (p *play) forgotten(i int) bool {
	if !p.s.forgetful() {
		return false
	}
	for _, f := range p.plan {
		if f.Kind == fake.Forget && p.jobs[i] != nil && p.handed[i] >= f.At-f.For && p.handed[i] <= f.At+time.Minute {
			return true
		}
	}
	return false
}

// count sums what happened.
func (p *play) count() {
	p.out.Simulated, p.out.Effects = p.now(), p.d.effects
	for _, job := range p.w.Trainers() {
		p.out.Runs += len(job.Runs())
	}
	for _, f := range p.plan {
		struck := p.w.Slurm.Calls(f.On) >= f.Nth
		if f.On == "" {
			struck = p.now() >= f.At
		}
		if struck {
			what := string(f.Kind)
			if f.Kind != fake.Down && f.Kind != fake.Forget {
				what = strings.TrimSpace(f.On + " " + what)
			}
			p.did("slurm: " + what)
		}
	}
}
