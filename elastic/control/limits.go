package control

import (
	"sync"
	"time"
)

// A caller may send a burst of costly requests (orders, plans; events have buckets of their own), and then
// as many as one bucket refills.
const (
	burst    = 20
	everyOne = 500 * time.Millisecond
)

// buckets are the token buckets of all callers. Full ones are forgotten, so
// that the map holds only callers of the last ten seconds.
type buckets struct {
	mu sync.Mutex
	of map[uint32]bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// take reports whether the caller has a token left at now, and takes it.
func (b *buckets) take(uid uint32, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.of) > 1000 {
		b.forget(now)
	}
	if b.of == nil {
		b.of = map[uint32]bucket{}
	}
	have, ok := b.of[uid]
	if !ok {
		have = bucket{tokens: burst, at: now}
	}
	have.tokens, have.at = have.level(now), now
	defer func() { b.of[uid] = have }()
	if have.tokens < 1 {
		return false
	}
	have.tokens--
	return true
}

// forget drops the buckets that are full again.
func (b *buckets) forget(now time.Time) {
	for uid, have := range b.of {
		if have.level(now) >= burst {
			delete(b.of, uid)
		}
	}
}

// level is how many tokens there are by now. A clock set back adds none.
func (b bucket) level(now time.Time) float64 {
	return min(burst, b.tokens+max(0, float64(now.Sub(b.at))/float64(everyOne)))
}
