package journal

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// SaveAnswers inserts, replaces or forgets answers by user and key.
func (m *Memory) SaveAnswers(ctx context.Context, answers []Answer) error {
	return m.write(ctx, "SaveAnswers", func() error {
		for _, a := range answers {
			k := AnswerKey{a.UID, a.Key}
			if m.answers[k] = normalTime(a.At); m.answers[k].IsZero() {
				delete(m.answers, k)
			}
		}
		return nil
	})
}

// Answers returns all answers in order of user and key.
func (m *Memory) Answers(ctx context.Context) ([]Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return SortedAnswers(maps.Clone(m.answers)), ctx.Err()
}

// AnswerKey is a script or a model of one user. A program reports its answers itself, so that an
// answer counts only for jobs of the same user.
type AnswerKey struct {
	UID uint32
	Key string // "script/DIGEST" or "model/NAME"
}

// SortedAnswers lists answers in order of user and key. The map may be nil.
func SortedAnswers(of map[AnswerKey]time.Time) []Answer {
	out := make([]Answer, 0, len(of))
	for k, at := range of {
		out = append(out, Answer{k.UID, k.Key, at})
	}
	slices.SortFunc(out, func(a, b Answer) int { return cmp.Or(cmp.Compare(a.UID, b.UID), cmp.Compare(a.Key, b.Key)) })
	return out
}
