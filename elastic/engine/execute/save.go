package execute

import (
	"context"
	"fmt"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// Save stores what changed in the cycle, in few transactions. What could not be stored is tried
// again by the next call.
//
// The ORDER is speeds, records, runs, answers, credits, complaints. Records come BEFORE runs, since
// Prune finds a run by its record. It ends at the first error: a store that refuses one write
// mostly refuses the next, and each may have to wait. Nothing in Slurm depends on it, and a cycle
// whose Save failed is complete otherwise.
func (x *Executor) Save(ctx context.Context) error {
	if err := x.saveSpeeds(ctx); err != nil {
		return err
	}
	records, segments := x.UnsavedJobs()
	if len(records) > 0 {
		if err := x.Journal.SaveJobs(ctx, records); err != nil {
			return fmt.Errorf("keeping job records: %w", err)
		}
	}
	if len(segments) > 0 {
		if err := x.Journal.SaveSegments(ctx, segments); err != nil {
			return fmt.Errorf("keeping job history: %w", err)
		}
	}
	x.SavedJobs()
	if err := x.saveAnswers(ctx); err != nil {
		return err
	}
	if err := saveCredits(ctx, x.Journal, &x.Shares); err != nil {
		return err
	}
	return x.saveHealth(ctx)
}

// saveSpeeds stores the new samples, a transaction for each series; what a cycle stores at most is
// bounded by UnsavedSpeeds (decision 39).
func (x *Executor) saveSpeeds(ctx context.Context) error {
	for _, of := range x.UnsavedSpeeds() {
		if err := x.Samples.AddSamples(ctx, of.Key, of.Samples()); err != nil {
			return fmt.Errorf("keeping speeds: %w", err)
		}
		x.SavedSpeeds(of)
	}
	return nil
}

// saveAnswers stores which scripts and models have answered requests.
func (x *Executor) saveAnswers(ctx context.Context) error {
	if len(x.Unsaved) == 0 {
		return nil
	}
	if err := x.Journal.SaveAnswers(ctx, journal.SortedAnswers(x.Unsaved)); err != nil {
		return fmt.Errorf("keeping which scripts and models have answered: %w", err)
	}
	clear(x.Unsaved)
	return nil
}

// saveCredits stores what accounts had less than they deserved by shares, or more: a restart MUST NOT
// forgive it.
func saveCredits(ctx context.Context, to journal.Journal, shares *track.Shares) error {
	unsaved, due := shares.UnsavedCredits()
	if !due {
		return nil
	}
	if len(unsaved) > 0 {
		if err := to.SaveCredits(ctx, unsaved); err != nil {
			return fmt.Errorf("keeping what accounts had beyond their shares: %w", err)
		}
	}
	shares.SavedCredits(unsaved)
	return nil
}

// saveHealth stores the complaints about GPUs: a restart must neither forget an operator's trust
// nor place jobs on GPUs on which others have just failed.
func (x *Executor) saveHealth(ctx context.Context) error {
	if !x.HealthUnsaved() {
		return nil
	}
	if err := x.Journal.SaveHealth(ctx, x.Health); err != nil {
		return fmt.Errorf("keeping what is said of GPUs: %w", err)
	}
	x.Kept = x.Health
	return nil
}
