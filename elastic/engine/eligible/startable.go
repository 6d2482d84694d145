package eligible

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// Slurm shows BeginTime as the reason of a waiting job, or JobHeldUser, whatever else keeps it from
// starting. Its dependencies are therefore checked here.

// Bar sets Blocked of each waiting job: why it cannot start even if GPUs are free. Of several reasons
// the first in this order is shown. Jobs in other phases are not blocked. A block is not a decision:
// a policy that does not know blocks would still start the job, so the stage startable removes
// blocked jobs before every policy.
func (l *Look) Bar(s *elastic.Snapshot) {
	listed, first, ahead := byNumber(l.Jobs), byName(l.Jobs), l.clockBefore()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		own, known := l.Own[j.ID]
		if !known {
			continue
		}
		j.Blocked = elastic.Blocked{}
		if j.Phase == elastic.Waiting {
			j.Blocked = cmp.Or(
				l.Arrays.awaits(j.ID, own, s.Now),
				blockedBy(own.Slurm, own.Begin, listed, first, s.Now, ahead),
				l.notBegun(own, s.Now),
				uncleared(j, own.Slurm.Nodes, l.moves(j.ID)),
				unreachable(own, s.Now),
				l.obstructed(own, listed, s.Now))
		}
	}
}

// clockBefore returns the latest time that the clock is known to have shown, to this daemon or in
// a job's submit, start or end time. An administrator may set the clock back. Without this a job
// whose begin time had been reached would wait for it a second time.
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

// uncleared returns the block of a job that Slurm still counts on nodes of its last run although it was to
// be cleared of it. While it is being cleared, or is about to be, it keeps its place among the
// others. It MUST be called AFTER JobOf has set Uncleared (decision 24).
func uncleared(j *elastic.Job, on []string, moves bool) elastic.Blocked {
	if !j.Uncleared || moves {
		return elastic.Blocked{}
	}
	return elastic.Blocked{Code: elastic.Uncleared, On: strings.Join(on, ",")}
}

// unreachable returns the block of a job whose folder hangs: the target of its next run could not
// be written.
func unreachable(own Job, now time.Time) elastic.Blocked {
	if own.Unread.IsZero() {
		return elastic.Blocked{}
	}
	return elastic.Blocked{Code: elastic.Unreachable, Since: own.Unread.In(now.Location())}
}

// byNumber returns a lookup of jobs by number. The index is built at the first call.
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

// byName returns whether --dependency=singleton is satisfied for a pending job: no job of its name
// and user runs, and none with a smaller number waits. The index is built at the first call.
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

// blockedBy returns why a waiting job must not start now. The begin time that Slurm shows is sluice's
// own, or that of a requeue, however far ahead it is: sluice's clock may have been wrong by years
// when it was set. begin is the one that its user is known to have set. ahead is the latest time
// that the clock has shown: a begin time that was reached before the clock was set back does not
// block the job again.
func blockedBy(sj *slurm.Job, begin time.Time, listed func(slurm.JobID) *slurm.Job, first func(slurm.Job) bool, now, ahead time.Time) elastic.Blocked {
	if b := dependency(slurm.ParseDependency(sj.Dependency), listed, func() bool { return first(*sj) }, now); b.Code != "" {
		return b
	}
	if begin.After(later(ahead, now)) {
		return elastic.Blocked{Code: elastic.BeginsLater, Until: begin.In(now.Location())}
	}
	return elastic.Blocked{}
}

// dependency returns which terms are not satisfied. Slurm updates the dependencies of held jobs
// only once a minute, so that terms are evaluated here from the jobs they name.
//
//	terms joined by   failed   not yet   result
//	comma (all)       some     -         NeverDepends, on the failed ones
//	comma             none     some      Depends, on those
//	?  (any)          -        -         not blocked as soon as one is satisfied
//	?                 all      none      NeverDepends
//	?                 some     some      Depends, on those that may still come
//
// Until is when the last of the known times has passed; zero if none is known.
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

// term evaluates one condition. on is the job that it names; nil = not in Slurm's list. at is when
// the condition will be satisfied, if that is known.
//
//	kind          satisfied by the job that is named                 failed
//	afterany      it has ended and is cleaned up                     never
//	afterok       the same, in state COMPLETED                       it ended in another state
//	afternotok    the same, in another state than COMPLETED          it ended in COMPLETED
//	after         it has begun, and the delay has passed since       never
//	others        never here: Slurm drops the term when it is done   if Slurm says so
//
// A job that Slurm no longer lists, an array and a heterogeneous job are not judged: the term holds
// until Slurm drops it.
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
		begun := on.State == slurm.Running || on.State == slurm.Suspended || on.State.Ended()
		if begun && !on.Start.IsZero() {
			at = on.Start.Add(t.Delay)
			return !now.Before(at), false, at
		}
	}
	return false, false, at
}

// HeldByAdmin is Slurm's reason for a job that an administrator holds, and for a job that Slurm
// holds because its dependency cannot be satisfied.
const HeldByAdmin = "JobHeldAdmin"

// Barred reports whether a job with that reason is held by Slurm because of its dependency. It stays
// true while the job is held: Slurm does not release the job when the dependency is removed, and
// the owner may not. Sluice may notice before Slurm that a dependency cannot be satisfied; was
// is the result of the last cycle, and known the job's block then. The caller MUST keep the result in
// the job's record: after a restart of the daemon nothing in Slurm says whose hold it is.
func Barred(sj slurm.Job, was bool, known elastic.Block) bool {
	return sj.Held && sj.Reason == HeldByAdmin && (was || neverDepends(sj) || known == elastic.NeverDepends)
}

// neverDepends reports whether Slurm marks the job's dependency as impossible to satisfy. Of terms of
// which one is enough, all must have failed.
func neverDepends(sj slurm.Job) bool {
	failed, d := 0, slurm.ParseDependency(sj.Dependency)
	for _, t := range d.Terms {
		if t.Failed {
			failed++
		}
	}
	return failed > 0 && (!d.Any || failed == len(d.Terms))
}
