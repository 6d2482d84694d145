package control

import (
	"context"
	"slices"
	"sync"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// How many may wait for their turn: of one node, and in all.
const (
	mostOfNode = 32
	mostInAll  = 512
)

// turns shares a few places among many: when all are taken, nodes take turns, however
// many each has in its line. Of a node the last to come is the first to go in, and when
// its line is full the one who has waited longest leaves it: in a flood whoever comes
// waits briefly or is told at once to try again, where a queue would have everybody
// wait for the whole flood. No one of a flood gets more out of it than anybody else.
type turns struct {
	mu    sync.Mutex
	free  int
	wait  int // in all lines
	lines map[string][]*waiter
	order []string // the keys of lines, whose turn is next first
}

// waiter is one who waits. in says whether it was called in or crowded out; it is read
// once called is closed.
type waiter struct {
	called chan struct{}
	in     bool
}

func newTurns(places int) *turns {
	return &turns{free: places, lines: map[string][]*waiter{}}
}

// take waits for a place, which give returns; errCrowdedOut where none is to be had.
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
		if w.in { // it was called in this very moment
			t.give()
		}
		return ctx.Err()
	}
	if !w.in {
		return wire.ErrCrowdedOut
	}
	return nil
}

// bound sends away the longest in line where one came too many: of its node, or else of
// the node with the longest line.
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

// remove takes one out of a line and tells it why.
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

// forget takes one who left out of the line; false when it was called before.
func (t *turns) forget(key string, left *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.lines[key], left)
	if at >= 0 {
		t.remove(key, at, false)
	}
	return at >= 0
}

// give hands a place to the next node's last.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	key := t.order[0]
	t.order = append(t.order[1:], key)
	t.remove(key, len(t.lines[key])-1, true)
}
