package engine

import (
	"context"
	"fmt"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// save makes what the cycle learnt durable, in as few transactions as it takes.
func (h *hands) save(ctx context.Context) error {
	if err := h.saveSpeeds(ctx); err != nil {
		return err
	}
	records, segments := h.UnsavedJobs()
	if len(records) > 0 {
		if err := h.journal.SaveJobs(ctx, records); err != nil {
			return fmt.Errorf("keeping job records: %w", err)
		}
	}
	if len(segments) > 0 {
		if err := h.journal.SaveSegments(ctx, segments); err != nil {
			return fmt.Errorf("keeping job history: %w", err)
		}
	}
	h.SavedJobs()
	if err := h.saveAnswers(ctx); err != nil {
		return err
	}
	return h.saveHealth(ctx)
}

func (h *hands) saveSpeeds(ctx context.Context) error {
	for _, of := range h.UnsavedSpeeds() {
		if err := h.samples.AddSamples(ctx, of.Key, of.Samples()); err != nil {
			return fmt.Errorf("keeping speeds: %w", err)
		}
		h.SavedSpeeds(of)
	}
	return nil
}

// saveAnswers makes durable which scripts and models have answered.
func (h *hands) saveAnswers(ctx context.Context) error {
	if len(h.Unsaved) == 0 {
		return nil
	}
	if err := h.journal.SaveAnswers(ctx, journal.SortedAnswers(h.Unsaved)); err != nil {
		return fmt.Errorf("keeping which scripts and models have answered: %w", err)
	}
	clear(h.Unsaved)
	return nil
}

// saveHealth makes durable what is said against GPUs: a restart must neither forget
// an operator's trust nor place jobs where others have just died.
func (h *hands) saveHealth(ctx context.Context) error {
	if !h.HealthUnsaved() {
		return nil
	}
	if err := h.journal.SaveHealth(ctx, h.Health); err != nil {
		return fmt.Errorf("keeping what is said of GPUs: %w", err)
	}
	h.Kept = h.Health
	return nil
}
