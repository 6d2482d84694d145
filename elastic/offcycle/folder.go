package offcycle

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// unknown is the owner of a folder that was never read: uid -1, which no user has.
const unknown = ^uint32(0)

// mostQueued bounds the work queued for one folder: a read of each kind, and a sequence of
// writes.
const mostQueued = 4

// idleFor is how long a folder without work is kept.
const idleFor = time.Minute

type kind int

const (
	change    kind = iota // a write, or a read that has to begin after the call
	readWord              // Mailbox.Runner
	readLines             // Mailbox.Progress
)

// work is one call of the mailbox below. Its goroutine alone writes the results; they are read
// AFTER done is closed.
type work struct {
	kind     kind
	what     string // identifies a write; "" = never matches an earlier one
	uid      uint32
	offset   int64
	do       func(*work)
	asked    time.Time
	ended    time.Time
	begun    bool
	finished bool
	done     chan struct{} // closed when it is finished

	word  checkpoint.Runner
	ok    bool
	lines []checkpoint.Progress
	next  int64
	bad   []error
	err   error
}

// folder is the queued work for one job's folders, in order. The first is under way if busy is
// set.
type folder struct {
	token string
	uid   uint32
	queue []*work
	busy  bool
	waits bool  // waits for a goroutine
	slow  bool  // its last awaited read, or a later one, took too long
	word  *work // the newest runner's word that was read
	lines *work // read and not returned yet
	given *work // the last change, if its caller stopped waiting while it was under way
	used  time.Time
}

func (f *folder) find(k kind) *work {
	for _, o := range f.queue {
		if o.kind == k {
			return o
		}
	}
	return nil
}

// made returns the last change if it has that name, was no longer waited for, and is under way
// or done without an error. Without it, a write to a server that is slow every time would never
// count as done.
func (f *folder) made(what string) *work {
	if o := f.given; o != nil && what != "" && o.what == what && (!o.finished || o.err == nil) {
		return o
	}
	return nil
}

func (f *folder) drop(o *work) {
	f.queue = slices.DeleteFunc(f.queue, func(x *work) bool { return x == o })
}

func (f *folder) has(uid uint32, offset int64) bool {
	return f.lines != nil && f.lines.uid == uid && f.lines.offset == offset
}

// late returns the error that says since when the folder has not answered: since its oldest
// work was requested.
func (f *folder) late(o *work) error {
	since := f.used
	if o != nil {
		since = o.asked
	}
	if len(f.queue) > 0 {
		since = f.queue[0].asked
	}
	return &observe.Unanswered{Since: since}
}

// at returns the folder, and records its owner once that is known.
func (m *Mailbox) at(token string, uid uint32) *folder {
	f := m.folders[token]
	if f == nil {
		f = &folder{token: token, uid: uid}
		m.folders[token] = f
	}
	if uid != unknown && len(f.queue) == 0 { // else a goroutine counts for, or waits for, another user
		f.uid = uid
	}
	f.used = m.now()
	m.sweep()
	return f
}

// sweep drops folders without requests for idleFor, once per idleFor.
func (m *Mailbox) sweep() {
	now := m.now()
	if now.Sub(m.swept) < idleFor && !now.Before(m.swept) {
		return
	}
	m.swept = now
	for token, f := range m.folders {
		if len(f.queue) == 0 && now.Sub(f.used) >= idleFor {
			delete(m.folders, token)
		}
	}
}

// add appends work to the folder's queue and starts it as soon as the shares allow.
func (m *Mailbox) add(f *folder, o *work) *work {
	o.asked, o.done = m.now(), make(chan struct{})
	f.queue = append(f.queue, o)
	switch {
	case f.busy || f.waits:
	case m.crew.takes(f.uid):
		m.begin(f)
	default:
		f.waits = true
		m.crew.ready[f.uid] = append(m.crew.ready[f.uid], f)
	}
	return o
}

func (m *Mailbox) begin(f *folder) {
	f.busy, f.waits = true, false
	go m.serve(f, f.uid)
}

// dispatch starts work in folders that wait for a goroutine. The order of users is random.
func (m *Mailbox) dispatch() {
	for uid, waiting := range m.crew.ready {
		for len(waiting) > 0 && m.crew.takes(uid) {
			m.begin(waiting[0])
			waiting = waiting[1:]
		}
		if m.crew.ready[uid] = waiting; len(waiting) == 0 {
			delete(m.crew.ready, uid)
		}
	}
}

// serve does the folder's work until there is none. Any part of it may hang.
func (m *Mailbox) serve(f *folder, uid uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(f.queue) > 0 {
		o := f.queue[0]
		o.begun = true
		began := m.now()
		m.mu.Unlock()
		o.do(o)
		m.mu.Lock()
		o.ended, o.finished = m.now(), true
		f.queue = f.queue[1:]
		switch o.kind {
		case readWord:
			f.word = o
		case readLines:
			f.lines = o
		}
		if o.kind != change {
			f.slow = o.ended.Sub(began) >= readWait
		}
		close(o.done)
	}
	f.queue, f.busy = nil, false
	m.crew.leaves(uid)
	m.dispatch()
}
