package main

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// How often Slurm is asked about a job whose results are wanted, and for how long while its nodes are cleaned up.
const (
	askedAgain = time.Second
	settling   = 10 * askedAgain
)

// settle is refresh for the results of a job: who waited for its end, as 'sluice submit --wait' does, gets them at once, though
// the last list of Slurm's jobs may be older than that end.
func (s *service) settle(ctx context.Context, j *vault.Job) error {
	late := time.Now().Add(settling)
	for {
		over := s.over(ctx, j)
		if err := s.refresh(ctx, j); err != nil {
			return err
		}
		s.vault.mu.Lock()
		runs := j.State == wire.StateStarted
		s.vault.mu.Unlock()
		if !runs || !over || time.Now().After(late) {
			return nil
		}
		select {
		case <-time.After(askedAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// over reports whether the work of a job is over, as far as Slurm says now; its nodes may be cleaned up still, or it may be
// requeued. The next refresh sees at least as much.
func (s *service) over(ctx context.Context, j *vault.Job) bool {
	list, _, err := s.listed.since(ctx, s.slurm, askedAgain)
	if err != nil {
		return false
	}
	found, known := s.tokens(list)[j.ID]
	return !known || found.State.Ended() && !found.Requeued
}
