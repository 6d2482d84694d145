package eligible

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// A held job shows JobHeldUser, whatever else Slurm would not start it for. So its begin
// time and its dependencies are read themselves.

// requeueDelay is more than Slurm puts a requeued job off by itself (121 s by default): a
// begin time that lies further ahead is its user's.
const requeueDelay = 10 * time.Minute

// Bar notes in each held job what keeps it from starting however many GPUs are free.
func (l *Look) Bar(s *elastic.Snapshot) {
	listed, first, ahead := byNumber(l.Jobs), byName(l.Jobs), l.clockBefore()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		own, known := l.Own[j.ID]
		if !known {
			continue
		}
		j.Blocked = elastic.Blocked{}
		if j.Phase == elastic.Held {
			j.Blocked = cmp.Or(
				l.Arrays.awaits(j.ID, own, s.Now),
				blockedBy(own.Slurm, own.Ran, listed, first, s.Now, ahead),
				l.notBegun(own, s.Now),
				unreachable(own, s.Now),
				l.obstructed(own, listed, s.Now))
		}
	}
}

// clockBefore is the latest time that the clock is known to have shown: to this daemon, or
// to Slurm when it took, started or ended a job.
func (l *Look) clockBefore() time.Time {
	at := l.Ahead
	for i := range l.Jobs {
		j := &l.Jobs[i]
		at = later(at, j.Submit)
		if j.State != slurm.Pending {
			at = later(at, j.Start)
		}
		if j.State.Ended() {
			at = later(at, j.End)
		}
	}
	return at
}

// unreachable: its next run could not be told what it is.
func unreachable(own Job, now time.Time) elastic.Blocked {
	if own.Unread.IsZero() {
		return elastic.Blocked{}
	}
	return elastic.Blocked{Code: elastic.Unreachable, Since: own.Unread.In(now.Location())}
}

// byNumber finds jobs by their number; it sorts them when it is first asked.
func byNumber(jobs []slurm.Job) func(slurm.JobID) *slurm.Job {
	sorted := sync.OnceValue(func() map[slurm.JobID]*slurm.Job {
		at := make(map[slurm.JobID]*slurm.Job, len(jobs))
		for i := range jobs {
			at[jobs[i].ID] = &jobs[i]
		}
		return at
	})
	return func(id slurm.JobID) *slurm.Job { return sorted()[id] }
}

// byName reports of a pending job whether Slurm would start it as the only one of its name
// and user (--dependency=singleton): none runs, and none that waits came before it. It
// sorts them when it is first asked.
func byName(jobs []slurm.Job) func(slurm.Job) bool {
	type name struct {
		uid  uint32
		name string
	}
	sorted := sync.OnceValues(func() (runs map[name]bool, waits map[name]slurm.JobID) {
		runs, waits = map[name]bool{}, map[name]slurm.JobID{}
		for _, j := range jobs {
			key := name{j.UID, j.Name}
			switch first, some := waits[key]; {
			case j.State == slurm.Pending && (!some || j.ID < first):
				waits[key] = j.ID
			case j.State != slurm.Pending && (!j.State.Ended() || j.Completing):
				runs[key] = true
			}
		}
		return runs, waits
	})
	return func(j slurm.Job) bool {
		runs, waits := sorted()
		key := name{j.UID, j.Name}
		return !runs[key] && waits[key] == j.ID
	}
}

// blockedBy says why Slurm would not start a held job now. A job that ran before may be put
// off by its requeue, which sluice lifts. ahead is where the clock stood before it was set
// back: what it had reached lies behind a job, whatever the clock shows now.
func blockedBy(sj *slurm.Job, ran bool, listed func(slurm.JobID) *slurm.Job, first func(slurm.Job) bool, now, ahead time.Time) elastic.Blocked {
	if b := dependency(slurm.ParseDependency(sj.Dependency), listed, func() bool { return first(*sj) }, now); b.Code != "" {
		return b
	}
	if ahead.After(now.Add(requeueDelay)) && !sj.Eligible.After(ahead.Add(requeueDelay)) {
		return elastic.Blocked{}
	}
	if sj.Eligible.After(now) && (!ran && sj.Restarts == 0 || sj.Eligible.Sub(sj.Submit) > requeueDelay) {
		return elastic.Blocked{Code: elastic.BeginsLater, Until: sj.Eligible.In(now.Location())}
	}
	return elastic.Blocked{}
}

// dependency says what of it is not satisfied. Slurm renews the dependencies of held jobs
// once a minute only, so what can be seen of the jobs named is judged here.
func dependency(d slurm.Dependency, listed func(slurm.JobID) *slurm.Job, first func() bool, now time.Time) elastic.Blocked {
	var waits, fails []string
	var until time.Time
	satisfied := 0
	for _, t := range d.Terms {
		words := t.Kind
		if t.Job > 0 {
			words = fmt.Sprintf("job %d (%s)", t.Job, t.Kind)
		}
		done, failed, at := term(t, listed(t.Job), now)
		done = done || t.Kind == "singleton" && first()
		switch {
		case failed:
			fails = append(fails, words)
		case done:
			satisfied++
		default:
			waits, until = append(waits, words), later(until, at)
		}
	}
	switch {
	case len(d.Terms) == 0 || d.Any && satisfied > 0:
		return elastic.Blocked{}
	case len(fails) > 0 && (!d.Any || len(waits) == 0):
		return elastic.Blocked{Code: elastic.NeverDepends, On: elastic.DependsOn(fails, d.Any)}
	case len(waits) > 0:
		return elastic.Blocked{Code: elastic.Depends, Until: until, On: elastic.DependsOn(waits, d.Any)}
	}
	return elastic.Blocked{}
}

// term judges one condition by the job that it names, nil where Slurm lists none; at is when
// it is satisfied by itself, where that is known.
func term(t slurm.DependencyTerm, on *slurm.Job, now time.Time) (done, failed bool, at time.Time) {
	if t.Failed || on == nil || on.Array || on.Het {
		return false, t.Failed, at
	}
	over := on.State.Ended() && !on.Completing
	switch t.Kind {
	case "afterany":
		return over, false, at
	case "afterok":
		return over && on.State == slurm.Completed, over && on.State != slurm.Completed, at
	case "afternotok":
		return over && on.State != slurm.Completed, over && on.State == slurm.Completed, at
	case "after":
		if begun := over || on.State == slurm.Running; begun && !on.Start.IsZero() {
			at = on.Start.Add(t.Delay)
			return !now.Before(at), false, at
		}
	}
	return false, false, at
}

// HeldByAdmin is Slurm's reason for a job that an administrator holds, and for one that it
// holds itself since its dependency cannot be satisfied.
const HeldByAdmin = "JobHeldAdmin"

// Barred reports which of the two it is, for as long as the job is held so: Slurm does not lift
// its own hold when the dependency is taken away, and the owner may not. Sluice may have known
// before Slurm that the dependency cannot be satisfied, and see it gone at the next look. was is
// what it was in the last look, known what kept it from starting then.
func Barred(sj slurm.Job, was bool, known elastic.Block) bool {
	return sj.Held && sj.Reason == HeldByAdmin && (was || neverDepends(sj) || known == elastic.NeverDepends)
}

// neverDepends: Slurm says that the job's dependency cannot be satisfied.
func neverDepends(sj slurm.Job) bool {
	failed, d := 0, slurm.ParseDependency(sj.Dependency)
	for _, t := range d.Terms {
		if t.Failed {
			failed++
		}
	}
	return failed > 0 && (!d.Any || failed == len(d.Terms))
}
