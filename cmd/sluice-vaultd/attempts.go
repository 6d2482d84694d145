package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/attempts"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// Denied calls of jobs that run are recorded every gatherEvery, and those of jobs that ended within gatherAfter are looked at
// again: a network file system may show what a node wrote last a while later, and what reads them may be stopped before.
const (
	gatherEvery = time.Minute
	gatherAfter = time.Hour
)

// minutely does what is done each minute until ctx ends.
func (s *service) minutely(ctx context.Context) {
	tick := time.NewTicker(gatherEvery)
	defer tick.Stop()
	// What ran when sluice-vaultd was stopped may have ended just before that, and not have been looked at.
	if err := s.gather(false, s.running("", s.vault.before.Add(-gatherAfter))...); err != nil {
		s.log.Error().Err(err).Msg("denied calls cannot be recorded")
	}
	var lost []*vault.Job
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			lost = s.minute(ctx, lost)
		}
	}
}

// recent are the jobs of a data set ("" = of all) that run or ended a short time ago.
func (s *service) recent(set string) []*vault.Job {
	return s.running(set, s.vault.now().Add(-gatherAfter))
}

// running are the jobs of a data set ("" = of all) that run or ended since.
func (s *service) running(set string, since time.Time) []*vault.Job {
	return s.jobsOf(set, since, wire.StateStarted)
}

// jobsOf are the jobs of a data set ("" = of all) in one of these states, and those that ended since.
func (s *service) jobsOf(set string, since time.Time, states ...string) []*vault.Job {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.vault.state.Jobs()), func(j *vault.Job) bool {
		is := slices.Contains(states, j.State) || j.State == wire.StateEnded && j.Ended.After(since)
		return !is || set != "" && !slices.Contains(j.Sets, set)
	})
}

// gather records the calls that the fences of jobs denied, as their nodes counted them; with exact, or once they have ended, every
// one. The mutex must not be held: it reads files.
func (s *service) gather(exact bool, jobs ...*vault.Job) error {
	for _, j := range jobs {
		counts, err := s.counts(j.ID)
		if err != nil {
			s.log.Warn().Err(err).Str("job", j.ID).Msg("what its nodes counted cannot be read")
			continue
		}
		s.vault.mu.Lock()
		e, is := s.vault.state.Attempt(j, counted(counts), string(counts.Uncounted), exact || j.State == wire.StateEnded)
		if is {
			err = s.vault.write(e)
		}
		s.vault.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// counts reads what the nodes of a job counted.
func (s *service) counts(job string) (attempts.Counts, error) {
	dir, err := s.own(job, "")
	if err != nil {
		return attempts.Counts{}, err
	}
	defer dir.Close()
	names, err := os.ReadDir(s.vault.jobFolder(job))
	var all []attempts.Counts
	for _, n := range names {
		if !strings.HasPrefix(n.Name(), attempts.Prefix) || !strings.HasSuffix(n.Name(), attempts.Suffix) {
			continue
		}
		data, failed := dir.Read(n.Name(), attempts.MaxFile)
		var c attempts.Counts
		if failed == nil {
			c, failed = attempts.Parse(data)
		}
		if failed != nil { // the rest counts
			s.log.Warn().Err(failed).Str("job", job).Str("file", n.Name()).Msg("what a node counted cannot be read")
			c = attempts.Counts{Uncounted: attempts.Lost}
		}
		all = append(all, c)
	}
	return attempts.Merge(all...), err
}

// counted are counts as the record has them.
func counted(c attempts.Counts) []vault.Attempt {
	var all []vault.Attempt
	for _, r := range c.Rows {
		all = append(all, vault.Attempt{Call: r.Call, Process: r.Process, Count: r.Count, First: time.Unix(r.First, 0).UTC(), Last: time.Unix(r.Last, 0).UTC()})
	}
	return all
}
