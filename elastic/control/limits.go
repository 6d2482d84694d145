package control

import (
	"sync"
	"sync/atomic"
	"time"
)

// buckets are token buckets, one per key. A caller may send a burst of requests and then one
// per interval. Full buckets are dropped: a key without a bucket is treated as one with a full
// bucket, so nothing is lost.
type buckets[K comparable] struct {
	burst int
	every time.Duration

	mu     sync.Mutex
	of     map[K]bucket
	forget int // number of buckets at which full ones are dropped
}

type bucket struct {
	tokens float64
	at     time.Time
}

// take reports whether the key has a token left at now, and takes it.
func (b *buckets[K]) take(key K, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropFull(now)
	have, ok := b.of[key]
	if !ok {
		have = bucket{tokens: float64(b.burst), at: now}
	}
	have.tokens, have.at = b.level(have, now), now
	defer func() { b.of[key] = have }()
	if have.tokens < 1 {
		return false
	}
	have.tokens--
	return true
}

// dropFull drops the buckets that are full again, once there are twice as many as were left the
// last time. So the time per call is constant on average.
func (b *buckets[K]) dropFull(now time.Time) {
	if b.of == nil {
		b.of, b.forget = map[K]bucket{}, 1000
	}
	if len(b.of) <= b.forget {
		return
	}
	for key, have := range b.of {
		if b.level(have, now) >= float64(b.burst) {
			delete(b.of, key)
		}
	}
	b.forget = max(1000, 2*len(b.of))
}

// level returns the number of tokens at now. A clock that was set back adds none.
func (b *buckets[K]) level(have bucket, now time.Time) float64 {
	return min(float64(b.burst), have.tokens+max(0, float64(now.Sub(have.at))/float64(b.every)))
}

// delayed calls a function later, once however often it is asked to meanwhile.
type delayed struct{ pending atomic.Bool }

func (d *delayed) call(after time.Duration, f func()) {
	if d.pending.CompareAndSwap(false, true) {
		time.AfterFunc(after, func() {
			d.pending.Store(false)
			f()
		})
	}
}
