package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// lostAfter is how long after its submission a job counts as ended that Slurm was never seen to have: sbatch gives up
// long before, and a job that ran unseen meanwhile may have used its numbers.
const lostAfter = time.Hour

// jobs shows the caller's jobs, as Slurm has them now if it answers.
func (s *service) jobs(ctx context.Context, who caller) (answer, error) {
	s.vault.mu.Lock()
	mine := slices.DeleteFunc(slices.Clone(s.vault.state.Jobs()), func(j *vault.Job) bool { return j.User != who.name })
	s.vault.mu.Unlock()
	if err := s.refresh(ctx, mine...); err != nil {
		s.log.Warn().Err(err).Msg("states of jobs are as of before")
	}
	var all []wire.Job
	s.vault.mu.Lock()
	broken := s.vault.broken
	for _, j := range mine {
		w := wire.Job{ID: j.ID, JobID: j.Number, User: j.User, Data: j.Sets, Script: j.Script, Submitted: j.Submitted, State: j.State, Released: j.Counted}
		for _, f := range j.Files {
			if f.State == wire.FileKept {
				w.Kept++
			}
		}
		all = append(all, w)
	}
	s.vault.mu.Unlock()
	if broken != nil {
		return answer{}, broken
	}
	slices.SortStableFunc(all, func(x, y wire.Job) int { return order(x) - order(y) })
	var a answer
	a.Jobs, a.More = newest(all, mostListed)
	return a, nil
}

// order puts jobs that may still run last: a user may have to cancel them.
func order(j wire.Job) int {
	if j.State == wire.StateEnded || j.State == wire.StateRefused {
		return 0
	}
	return 1
}

// mostListed bounds a list in an answer, in bytes; an answer of more than wire.MaxAnswer is not sent.
const mostListed = wire.MaxAnswer / 2

// newest are the last ones of a list, as many as fit into so many bytes; more says that there are others.
func newest[T any](all []T, most int) (last []T, more bool) {
	for i := len(all) - 1; i >= 0; i-- {
		line, err := json.Marshal(all[i])
		if most -= len(line) + 1; err != nil || most < 0 {
			return all[i+1:], true
		}
	}
	return all, false
}

// refresh looks up in Slurm how jobs are, and records what is new. One query whatever their number.
func (s *service) refresh(ctx context.Context, jobs ...*vault.Job) error {
	s.vault.mu.Lock()
	asked := slices.DeleteFunc(slices.Clone(jobs), func(j *vault.Job) bool { return j.State == wire.StateRefused })
	states := map[string]string{} // BEFORE Slurm is asked: what is submitted meanwhile is not in its answer
	for _, j := range asked {
		states[j.ID] = j.State
	}
	s.vault.mu.Unlock()
	if len(asked) == 0 {
		return nil
	}
	list, at, err := s.listed.jobs(ctx, s.slurm)
	if err != nil {
		return wire.Fail(wire.Unavailable, "try again in a moment", "Slurm does not say how the job is: %v", err)
	}
	ended, err := s.changes(asked, states, s.tokens(list), at)
	if err != nil {
		return err
	}
	return s.gather(true, ended...)
}

// changes records what is new of jobs, as Slurm has them, and returns those that have ended now. The list is of a query that began at
// that time. No job ends by one that began before the entry that the job started: another query, begun before or after, may have seen
// it first.
func (s *service) changes(asked []*vault.Job, states map[string]string, has map[string]slurm.Job, began time.Time) (ended []*vault.Job, err error) {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	for _, j := range asked {
		if j.State != states[j.ID] {
			continue
		}
		found, known := has[j.ID]
		e, is := change(*j, found, known, s.vault.now())
		if !is || e.Event == vault.Ended && !began.After(s.vault.started[j.ID]) {
			continue
		}
		if err := s.vault.write(e); err != nil {
			return nil, err
		}
		if e.Event == vault.Ended {
			ended = append(ended, j)
		}
	}
	return ended, nil
}

// listing is Slurm's list of jobs, asked for once for all who want to know at about the same time. They share a failure, too.
type listing struct {
	mu     sync.Mutex // never held while Slurm is asked
	at     time.Time
	list   []slurm.Job
	asking *asking // nil = nobody asks
}

// asking is a query of Slurm that others wait for.
type asking struct {
	at   time.Time // of its begin
	done chan struct{}
	list []slurm.Job
	err  error
}

// listedFor is how long a list is good.
const listedFor = 5 * time.Second

func (l *listing) jobs(ctx context.Context, from slurmClient) ([]slurm.Job, time.Time, error) {
	return l.since(ctx, from, listedFor)
}

// since returns a list that was no older than this when it was called, and when Slurm was asked for it.
func (l *listing) since(ctx context.Context, from slurmClient, most time.Duration) ([]slurm.Job, time.Time, error) {
	oldest := time.Now().Add(-most)
	for {
		l.mu.Lock()
		if l.at.After(oldest) {
			defer l.mu.Unlock()
			return l.list, l.at, nil
		}
		q := l.asking
		if q == nil {
			q = &asking{at: time.Now(), done: make(chan struct{}), err: errors.New("the query was dropped")}
			l.asking = q
			l.mu.Unlock()
			l.ask(ctx, from, q)
			return q.list, q.at, q.err
		}
		l.mu.Unlock()
		select {
		case <-q.done:
		case <-ctx.Done():
			return nil, time.Time{}, ctx.Err()
		}
		if q.err != nil || q.at.After(oldest) {
			return q.list, q.at, q.err
		}
	}
}

// ask asks Slurm. An answer to a query that was forgotten meanwhile is for those who waited for it only.
func (l *listing) ask(ctx context.Context, from slurmClient, q *asking) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.asking == q {
			if l.asking = nil; q.err == nil {
				l.at, l.list = q.at, q.list
			}
		}
		close(q.done)
	}()
	q.list, q.err = from.Jobs(ctx)
}

// forget makes the next who asks ask Slurm. It MUST be called after Slurm has a new job and BEFORE the entry that it has:
// in an older list the job would be missing, as one that has ended.
func (l *listing) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.asking = time.Time{}, nil
}

// tokens are the jobs of the service account by their tokens. Only that account can give a job such a tag.
func (s *service) tokens(list []slurm.Job) map[string]slurm.Job {
	has := map[string]slurm.Job{}
	for _, j := range list {
		if tag, err := elastic.ParseTag(j.Comment); err == nil && j.UID == s.uid && tag.Spec.Token != "" {
			has[tag.Spec.Token] = j
		}
	}
	return has
}

// change is what is to be recorded of a job, of which Slurm says this.
func change(j vault.Job, now slurm.Job, known bool, at time.Time) (vault.Entry, bool) {
	alive := known && (!now.State.Ended() || now.Completing || now.Requeued)
	e := vault.Entry{Job: j.ID}
	switch {
	case j.State == wire.StateSubmitted && known, j.State == wire.StateEnded && alive:
		if j.Number != 0 && j.Number != int64(now.ID) {
			return e, false
		}
		e.Event, e.JobID = vault.Started, int64(now.ID)
	case j.State == wire.StateStarted && !alive, j.State == wire.StateSubmitted && at.Sub(j.Submitted) > lostAfter:
		e.Event = vault.Ended
	default:
		return e, false
	}
	return e, true
}

// cancel ends a job of the caller.
func (s *service) cancel(ctx context.Context, who caller, q wire.Request) (answer, error) {
	s.vault.mu.Lock()
	j, err := s.jobOf(who, q)
	s.vault.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	if err := s.refresh(ctx, j); err != nil {
		return answer{}, err
	}
	s.vault.mu.Lock()
	number, runs := j.Number, j.State == wire.StateStarted
	s.vault.mu.Unlock()
	if !runs {
		return answer{}, wire.Fail(wire.Conflict, "'sluice queue' shows your jobs", "job %s cannot be cancelled: Slurm does not have it, or it has ended", q.Job)
	}
	if err := s.end(ctx, who.name, j, false); err != nil {
		return answer{}, err
	}
	return answer{Answer: wire.Answer{ID: j.ID, JobID: number}}, nil
}

// end cancels a job that Slurm has; again if an entry of that is in the record.
func (s *service) end(ctx context.Context, by string, j *vault.Job, again bool) error {
	s.vault.mu.Lock()
	number, err := j.Number, error(nil)
	if j.State != wire.StateStarted {
		number = 0
	} else if !again {
		err = s.vault.write(vault.Entry{Event: vault.Cancelled, By: by, Job: j.ID})
	}
	s.vault.mu.Unlock()
	if err != nil || number == 0 {
		return err
	}
	if err := s.slurm.Cancel(ctx, slurm.JobID(number)); err != nil {
		return wire.Fail(wire.Unavailable, "try again in a moment", "job %d: %v", number, err)
	}
	return nil
}

// review shows the files that wait for the owner of a data set, or takes an order of the owner.
func (s *service) review(ctx context.Context, who caller, q wire.Request) (answer, error) {
	if q.File != "" && q.Order == "" {
		return s.showFile(ctx, who, q)
	}
	s.vault.mu.Lock()
	set, err := s.owned(who, q)
	var waiting map[string][]wire.Kept
	switch {
	case err != nil:
	case q.Order != "":
		err = s.decide(who, q, set)
	default:
		waiting = s.waiting(set)
	}
	s.vault.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	var a answer
	for _, user := range slices.Sorted(maps.Keys(waiting)) { // an equal share for each: none hides what others' jobs left
		kept, more := newest(waiting[user], mostListed/len(waiting))
		a.Kept, a.More = append(a.Kept, kept...), a.More || more
	}
	return a, nil
}

// waits reports whether a file waits for the owner of a data set.
func waits(j *vault.Job, f *vault.File, set *vault.Set) bool {
	return f != nil && f.State == wire.FileKept && f.Ordered(set.Name, f.Digest) == "" && slices.Contains(j.Sets, set.Name)
}

// waiting are the files that wait for the owner of a data set by user, those of the newest job last. The mutex must be held.
func (s *service) waiting(set *vault.Set) map[string][]wire.Kept {
	all := map[string][]wire.Kept{}
	for _, j := range s.vault.state.Jobs() {
		for _, name := range slices.Sorted(maps.Keys(j.Files)) {
			if f := j.Files[name]; waits(j, f, set) {
				all[j.User] = append(all[j.User], wire.Kept{Job: j.ID, User: j.User, Name: f.Name, Size: f.Size, Digest: f.Digest})
			}
		}
	}
	return all
}

// reviewed returns the digest of what an owner decides about: of a file that waits, or that the owner decided about before
// and that has not left; "" if there is none.
func reviewed(j *vault.Job, f *vault.File, set *vault.Set) string {
	switch {
	case f == nil || f.State == wire.FileReleased:
		return ""
	case waits(j, f, set):
		return f.Digest
	case f.Orders[set.Name].Order == "":
		return ""
	case f.Digest == "": // it was not read when it did not fit into the budget
		return f.Orders[set.Name].Digest
	}
	return f.Digest
}

// reviewable returns a file's job and the digest of what the owner of a data set decides about. The mutex must be held.
func (s *service) reviewable(q wire.Request, set *vault.Set) (*vault.Job, string, error) {
	if j := s.named(q.Job); j != nil && slices.Contains(j.Sets, set.Name) {
		f := j.Files[q.File]
		if f != nil && f.State == wire.FileReleased {
			return nil, "", wire.Fail(wire.Conflict, "", "the file %q of job %q has left already", q.File, q.Job)
		}
		if digest := reviewed(j, f, set); digest != "" {
			return j, digest, nil
		}
	}
	return nil, "", wire.Fail(wire.NotFound, "'sluice data review "+set.Name+"' lists those that wait", "no file %q of job %q waits for your review", q.File, q.Job)
}

// decide records an owner's order about a file. The mutex must be held.
func (s *service) decide(who caller, q wire.Request, set *vault.Set) error {
	j, digest, err := s.reviewable(q, set)
	switch {
	case err != nil:
		return err
	case q.Order != wire.Allow && q.Order != wire.Refuse:
		return wire.Fail(wire.BadRequest, "", "the order %q is neither %s nor %s", q.Order, wire.Allow, wire.Refuse)
	case !strings.HasPrefix(digest, q.Digest):
		return wire.Fail(wire.Conflict, "look at it again: 'sluice data review "+set.Name+" JOB FILE -o DIR'", "the file %q of job %q has other content now: its SHA-256 is %s", q.File, q.Job, digest)
	}
	return s.vault.write(vault.Entry{Event: vault.Reviewed, By: who.name, Set: set.Name, Job: j.ID, File: q.File, Digest: digest, State: q.Order})
}
