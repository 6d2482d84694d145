package journal

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Credit says by how much a user of an account had less than it deserved by shares, or more.
// Credits decay with the half-life of Slurm's usage, so that two of different times MUST NOT be
// compared or added before that.
type Credit struct {
	CreditKey
	Seconds float64   // GPU-seconds; negative = it had more
	At      time.Time // when it was so much; it decays from then on
}

// CreditKey is a user of an account.
type CreditKey struct{ Account, User string }

// NormalCredit is NormalIntent for credits. Seconds that are infinite or no number become 0, as
// which a credit is deleted.
func NormalCredit(c Credit) Credit {
	c.Seconds, c.At = finite(c.Seconds), normalTime(c.At)
	return c
}

// SaveCredits inserts, replaces or deletes credits by account and user.
func (m *Memory) SaveCredits(ctx context.Context, credits []Credit) error {
	return m.write(ctx, "SaveCredits", func() error {
		for _, c := range credits {
			if c = NormalCredit(c); c.Seconds == 0 {
				delete(m.credits, c.CreditKey)
			} else {
				m.credits[c.CreditKey] = c
			}
		}
		return nil
	})
}

// Credits returns all credits in order of account and user.
func (m *Memory) Credits(ctx context.Context) ([]Credit, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Credit, 0, len(m.credits))
	for _, c := range m.credits {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Credit) int { return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User)) })
	return out, ctx.Err()
}
