package control

import (
	"context"
	"slices"
	"sync"
)

// turns shares a few places among many: when all are taken, nodes take turns,
// however many each has in its line.
type turns struct {
	mu    sync.Mutex
	free  int
	lines map[string][]chan struct{}
	order []string // the keys of lines, whose turn is next first
}

func newTurns(places int) *turns {
	return &turns{free: places, lines: map[string][]chan struct{}{}}
}

// take waits for a place, which give returns.
func (t *turns) take(ctx context.Context, key string) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	called := make(chan struct{})
	if len(t.lines[key]) == 0 {
		t.order = append(t.order, key)
	}
	t.lines[key] = append(t.lines[key], called)
	t.mu.Unlock()
	select {
	case <-called:
		return nil
	case <-ctx.Done():
		if !t.forget(key, called) {
			t.give() // it was called in this very moment
		}
		return ctx.Err()
	}
}

// forget takes one who left out of the line; false when he was called before.
func (t *turns) forget(key string, left chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := t.lines[key]
	for i, waiting := range line {
		if waiting == left {
			if t.lines[key] = append(line[:i], line[i+1:]...); len(line) == 1 {
				delete(t.lines, key)
				t.order = slices.DeleteFunc(t.order, func(k string) bool { return k == key })
			}
			return true
		}
	}
	return false
}

// give hands a place to the next node's first.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) > 0 {
		key := t.order[0]
		t.order = t.order[1:]
		line := t.lines[key]
		if t.lines[key] = line[1:]; len(line) > 1 {
			t.order = append(t.order, key)
		} else {
			delete(t.lines, key)
		}
		close(line[0])
		return
	}
	t.free++
}
