package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// cutWithin bounds how long a revoke waits for Slurm. It MUST be shorter than a client waits.
const cutWithin = 50 * time.Second

// backWithin is how long after its end a job is looked for that Slurm may have again.
const backWithin = 24 * time.Hour

// grant adds and removes readers. Jobs of users who may not read the data set any more are cancelled: their
// numbers would leave else. What could not be cancelled is tried again each minute, and by a second revoke.
func (s *service) grant(ctx context.Context, who caller, q wire.Request) (answer, error) {
	a, missing, err := s.regrant(who, q)
	if err != nil || q.Do == wire.Grant {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, cutWithin)
	defer cancel()
	failed := s.refresh(ctx, s.alive(q.Name, math.MaxInt64)...)
	lost, err := s.lost(q.Name)
	failed = errors.Join(failed, err, s.cutOff(ctx, who.name, lost))
	switch {
	case failed != nil:
		return answer{}, wire.Fail(wire.Unavailable, "'sluice data revoke' again says how it is; the account of [data] can use scancel",
			"the grant is revoked, but jobs may run on for now; sluice-vaultd tries again each minute: %v", failed)
	case missing != "" && len(lost) == 0:
		return answer{}, wire.Fail(wire.Conflict, "'sluice data show "+q.Name+"' shows its readers", "%s is not among the readers of %q", missing, q.Name)
	}
	return a, nil
}

// regrant records a change of readers. If none of those to revoke is there, missing is the first of them, and nothing is recorded.
func (s *service) regrant(who caller, q wire.Request) (a answer, missing string, err error) {
	if err := vault.CheckReaders(q.Readers); err != nil || len(q.Readers) == 0 {
		if err == nil {
			err = errors.New("name users, or groups as @GROUP")
		}
		return answer{}, "", wire.Fail(wire.BadRequest, "", "%v", err)
	}
	if q.Do == wire.Grant {
		s.vault.mu.Lock()
		_, err := s.owned(who, q)
		s.vault.mu.Unlock()
		if err == nil {
			err = s.groupsAre(q.Readers)
		}
		if err != nil {
			return answer{}, "", err
		}
	}
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	set, err := s.owned(who, q)
	if err != nil {
		return answer{}, "", err
	}
	event := vault.Granted
	if q.Do == wire.Revoke {
		event = vault.Revoked
		gone := slices.DeleteFunc(slices.Clone(q.Readers), func(r string) bool { return slices.Contains(set.Readers, r) })
		switch {
		case len(gone) == len(q.Readers):
			return setAnswer(set, who.name), gone[0], nil
		case len(gone) > 0:
			return answer{}, "", wire.Fail(wire.Conflict, "'sluice data show "+set.Name+"' shows its readers", "%s is not among the readers of %q", gone[0], set.Name)
		}
	}
	if err := vault.CheckReaders(slices.Concat(set.Readers, q.Readers)); err != nil && event == vault.Granted {
		return answer{}, "", wire.Fail(wire.BadRequest, "", "%v", err)
	}
	if err := s.vault.write(vault.Entry{Event: event, By: who.name, Set: set.Name, Readers: q.Readers}); err != nil {
		return answer{}, "", err
	}
	return setAnswer(set, who.name), "", nil
}

// alive are the jobs of a data set ("" = of all) that Slurm has or may have, and those that ended within a time.
func (s *service) alive(set string, within time.Duration) []*vault.Job {
	return s.jobsOf(set, s.vault.now().Add(-within), wire.StateStarted, wire.StateSubmitted)
}

// lost are the jobs of a data set ("" = of all) that live though their users may certainly not read it any more. The error names
// jobs of which that is not known: they are not among them. The mutex must not be held: a directory may be slow.
func (s *service) lost(set string) (lost []*vault.Job, err error) {
	jobs := s.alive(set, 0)
	sets := map[string]vault.Set{}
	s.vault.mu.Lock()
	for _, of := range s.vault.state.Sets() {
		if set == "" || set == of.Name {
			now := *of
			now.Readers = slices.Clone(of.Readers)
			sets[of.Name] = now
		}
	}
	s.vault.mu.Unlock()
	known := s.directory()
	var open doubts
	for _, j := range jobs {
		var ofJob doubts
		gone := false
		for _, name := range j.Sets {
			of, is := sets[name]
			if !is {
				continue
			}
			var why error
			if gone, why = known.gone(of, j.User); gone {
				break
			}
			if why != nil {
				ofJob.add(doubt{user: j.User, set: name, why: why})
			}
		}
		if gone {
			lost = append(lost, j)
			continue
		}
		for _, d := range ofJob {
			open.add(d)
		}
	}
	return lost, open.err()
}

// cutOff cancels jobs that are lost, those that Slurm is known to have, unless their users may read again meanwhile. It ends after
// cutWithin; those that were tried longest ago are first. The record gets one entry of each, also if it takes several tries. The
// error names some of those that could not be cancelled.
func (s *service) cutOff(ctx context.Context, by string, lost []*vault.Job) error {
	ctx, cancel := context.WithTimeout(ctx, cutWithin)
	defer cancel()
	tried := func(j *vault.Job) (at time.Time) {
		if last, is := s.cut.Load(j.ID); is {
			at = last.(time.Time)
		}
		return at
	}
	known := s.directory()
	var failed []error
	for i, j := range slices.SortedStableFunc(slices.Values(lost), func(a, b *vault.Job) int { return tried(a).Compare(tried(b)) }) {
		if ctx.Err() != nil {
			failed = slices.Insert(failed, 0, fmt.Errorf("there was no time for %d of %d jobs", len(lost)-i, len(lost)))
			break
		}
		s.vault.mu.Lock()
		started := j.State == wire.StateStarted
		s.vault.mu.Unlock()
		if !started || s.regained(known, j) {
			continue // one that has not started: hand cancels it, or the next minute
		}
		_, again := s.cut.Swap(j.ID, time.Now())
		if err := s.end(ctx, by, j, again); err != nil {
			failed = append(failed, err)
		}
	}
	return some(failed)
}

// regained reports whether the user of a job that was lost may certainly read all of its data sets now.
func (s *service) regained(known directory, j *vault.Job) bool {
	groups, _ := known.of(j.User) // without an answer, in none
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	return !slices.ContainsFunc(j.Sets, func(name string) bool {
		set := s.vault.state.Set(name)
		return set == nil || !set.MayRead(j.User, groups)
	})
}

// minute does what is done each minute: it records denied calls, and how jobs are, so that the numbers of those that ended do not
// count for ever; and it cancels jobs whose users may not read their data sets any more. It is given the lost jobs of the
// minute before, and returns those of this one: only a job that is among both is cancelled, since a directory may be
// wrong for a moment.
func (s *service) minute(ctx context.Context, before []*vault.Job) []*vault.Job {
	if err := s.gather(false, s.recent("")...); err != nil {
		s.log.Error().Err(err).Msg("denied calls cannot be recorded")
	}
	if err := s.refresh(ctx, s.alive("", backWithin)...); err != nil {
		s.log.Warn().Err(err).Msg("states of jobs are as of before")
	}
	lost, err := s.lost("")
	s.cut.Range(func(id, _ any) bool {
		if !slices.ContainsFunc(lost, func(j *vault.Job) bool { return j.ID == id }) {
			s.cut.Delete(id)
		}
		return true
	})
	twice := slices.DeleteFunc(slices.Clone(lost), func(j *vault.Job) bool { return !slices.Contains(before, j) })
	if err := errors.Join(err, s.cutOff(ctx, s.site.Data.Account, twice)); err != nil {
		s.log.Error().Err(err).Msg("jobs run on whose users may not read their data sets, or may not be known")
	}
	return lost
}
