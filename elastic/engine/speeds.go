package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/learn"
)

// Speeds is what is known of the speed of a user's jobs of one model.
type Speeds = learn.Speeds

// Asked is a shape as the samples know it, and what is believed of it.
type Asked = learn.Asked

// Speeds looks up what is known. Nothing is kept of what is asked.
func (e *Engine) Speeds(ctx context.Context, uid uint32, model string, now time.Time) (Speeds, error) {
	out, err := e.Learnt.Speeds(ctx, e.Rules.LearnerOf(uid, model), now)
	if err != nil {
		return Speeds{}, fmt.Errorf("the speeds of model %.80q cannot be read: %w", model, err)
	}
	out.Shared = e.cfg.ShareSpeeds
	return out, nil
}
