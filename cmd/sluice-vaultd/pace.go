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
	at := p.from(uid, now).Add(p.every)
	if at.After(now.Add(p.full())) {
		return false
	}
	p.next[uid] = at
	return true
}

// left is how often the user may do it now.
func (p *pace) left(uid uint32, now time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(max(0, now.Add(p.full()).Sub(p.from(uid, now))) / p.every)
}

// full is the time after which a burst may be had again.
func (p *pace) full() time.Duration { return time.Duration(p.burst) * p.every }

// from is the time from which on the next counts. The mutex must be held.
func (p *pace) from(uid uint32, now time.Time) time.Time {
	at := p.next[uid]
	if at.Before(now) || at.After(now.Add(2*p.full())) { // a clock that was set back holds nobody up
		return now
	}
	return at
}
