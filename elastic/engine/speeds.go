package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/learn"
)

// Speeds is what is known of the speed of a user's jobs of one model.
type Speeds = learn.Speeds

// Asked is a configuration and its expected speed.
type Asked = learn.Asked

// Speeds returns what is known of the speed of a user's jobs of a model. The lookup is not cached.
func (e *Engine) Speeds(ctx context.Context, uid uint32, model string, now time.Time) (Speeds, error) {
	out, err := e.Learnt.Speeds(ctx, e.Rules.LearnerOf(uid, model), now)
	if err != nil {
		return Speeds{}, fmt.Errorf("the speeds of model %.80q cannot be read: %w", model, err)
	}
	out.Shared = e.cfg.ShareSpeeds
	return out, nil
}
