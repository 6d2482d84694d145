package main

import (
	"sync"
	"time"
)

// pace bounds how often each user does something: a burst, then one in each interval.
type pace struct {
	burst int
	every time.Duration
	mu    sync.Mutex
	next  map[uint32]time.Time // until when the user's burst is used up, less the burst
}

// mostPaced is the number of users above which those are forgotten who could do it at once.
const mostPaced = 10_000

func newPace(burst int, every time.Duration) *pace {
	return &pace{burst: burst, every: every, next: map[uint32]time.Time{}}
}

// take reports whether the user may do it now, and counts it if so.
func (p *pace) take(uid uint32, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.next) > mostPaced {
		for k, at := range p.next {
			if !at.After(now) {
				delete(p.next, k)
			}
		}
	}
	full := time.Duration(p.burst) * p.every
	at := p.next[uid]
	if at.Before(now) || at.After(now.Add(2*full)) { // a clock that was set back holds nobody up
		at = now
	}
	if at = at.Add(p.every); at.After(now.Add(full)) {
		return false
	}
	p.next[uid] = at
	return true
}
