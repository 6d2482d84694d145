package control

import (
	"context"
	"slices"
	"sync"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// How many may wait for their turn: of one node, and in all. A waiter costs a connection and up
// to munge.MaxCredential bytes.
const (
	mostOfNode = 32
	mostInAll  = 512
)

// turns shares a few places among many callers. When all places are taken, nodes take turns,
// however long each node's queue is. Within a node the newest waiter is served first; when its
// queue is full the oldest is refused. So in a flood a caller waits briefly or is told at once
// to try again; with a first-in-first-out queue all would wait for the whole flood. No caller
// of a flood gets more places than another.
//
// Invariants: while a place is free there are no waiters. order contains exactly the keys that
// have waiters, each once. A place that is given back goes to a waiter directly and is not
// counted as free in between, so no newcomer can take it first.
type turns struct {
	mu    sync.Mutex
	free  int
	wait  int // number of waiters in all queues
	lines map[string][]*waiter
	order []string // the keys of lines, in the order of their turns
}

// waiter is a waiting caller. in says whether it got a place or was refused; it is valid once
// called is closed.
type waiter struct {
	called chan struct{}
	in     bool
}

func newTurns(places int) *turns {
	return &turns{free: places, lines: map[string][]*waiter{}}
}

// take waits for a place, which the caller MUST return with give. It returns wire.ErrTooManyWait
// if there is none to be had, or the error of ctx.
func (t *turns) take(ctx context.Context, key string) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	w := &waiter{called: make(chan struct{})}
	if len(t.lines[key]) == 0 {
		t.order = append(t.order, key)
	}
	t.lines[key] = append(t.lines[key], w)
	t.wait++
	t.bound(key)
	t.mu.Unlock()
	select {
	case <-w.called:
	case <-ctx.Done():
		if t.forget(key, w) {
			return ctx.Err()
		}
		if w.in { // it was called at this moment
			t.give()
		}
		return ctx.Err()
	}
	if !w.in {
		return wire.ErrTooManyWait
	}
	return nil
}

// bound refuses the oldest waiter where there is one too many: of the key, or else of the key
// with the longest queue.
func (t *turns) bound(key string) {
	if len(t.lines[key]) <= mostOfNode {
		if t.wait <= mostInAll {
			return
		}
		for k, line := range t.lines {
			if len(line) > len(t.lines[key]) {
				key = k
			}
		}
	}
	t.remove(key, 0, false)
}

// remove takes a waiter out of a queue and tells it why.
func (t *turns) remove(key string, at int, in bool) {
	w := t.lines[key][at]
	t.wait--
	if t.lines[key] = slices.Delete(t.lines[key], at, at+1); len(t.lines[key]) == 0 {
		delete(t.lines, key)
		t.order = slices.DeleteFunc(t.order, func(k string) bool { return k == key })
	}
	w.in = in
	close(w.called)
}

// forget takes a waiter that gave up out of its queue; false if it was called before.
func (t *turns) forget(key string, left *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.lines[key], left)
	if at >= 0 {
		t.remove(key, at, false)
	}
	return at >= 0
}

// give passes a place to the newest waiter of the next node.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	key := t.order[0] // to the end of the order BEFORE remove, which deletes a key without waiters
	t.order = append(t.order[1:], key)
	t.remove(key, len(t.lines[key])-1, true)
}
