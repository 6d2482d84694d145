package execute

import (
	"context"
	"fmt"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// Save makes what the cycle learnt durable, in as few transactions as it takes.
func (h *Hands) Save(ctx context.Context) error {
	if err := h.saveSpeeds(ctx); err != nil {
		return err
	}
	records, segments := h.UnsavedJobs()
	if len(records) > 0 {
		if err := h.Journal.SaveJobs(ctx, records); err != nil {
			return fmt.Errorf("keeping job records: %w", err)
		}
	}
	if len(segments) > 0 {
		if err := h.Journal.SaveSegments(ctx, segments); err != nil {
			return fmt.Errorf("keeping job history: %w", err)
		}
	}
	h.SavedJobs()
	if err := h.saveAnswers(ctx); err != nil {
		return err
	}
	return h.saveHealth(ctx)
}

func (h *Hands) saveSpeeds(ctx context.Context) error {
	for _, of := range h.UnsavedSpeeds() {
		if err := h.Samples.AddSamples(ctx, of.Key, of.Samples()); err != nil {
			return fmt.Errorf("keeping speeds: %w", err)
		}
		h.SavedSpeeds(of)
	}
	return nil
}

// saveAnswers makes durable which scripts and models have answered.
func (h *Hands) saveAnswers(ctx context.Context) error {
	if len(h.Unsaved) == 0 {
		return nil
	}
	if err := h.Journal.SaveAnswers(ctx, journal.SortedAnswers(h.Unsaved)); err != nil {
		return fmt.Errorf("keeping which scripts and models have answered: %w", err)
	}
	clear(h.Unsaved)
	return nil
}

// saveHealth makes durable what is said against GPUs: a restart must neither forget
// an operator's trust nor place jobs where others have just died.
func (h *Hands) saveHealth(ctx context.Context) error {
	if !h.HealthUnsaved() {
		return nil
	}
	if err := h.Journal.SaveHealth(ctx, h.Health); err != nil {
		return fmt.Errorf("keeping what is said of GPUs: %w", err)
	}
	h.Kept = h.Health
	return nil
}
