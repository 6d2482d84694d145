package offcycle

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// unknown is the owner of a folder that was never read: uid -1, which no user has.
const unknown = ^uint32(0)

// mostQueued bounds the work queued for one folder: a read of each kind, and a sequence of writes.
// Forget checks it, since it alone queues without waiting.
const mostQueued = 4

// idleFor is how long a folder without work is kept.
const idleFor = time.Minute

// kind says which earlier result a call may use: a read that is asked for again uses the one that
// is queued. A change is queued anew, except as made says.
type kind int

const (
	change    kind = iota // a write, or a read that has to begin after the call
	readWord              // Mailbox.Runner
	readLines             // Mailbox.Progress
)

// work is one call of the mailbox below. Its goroutine alone writes the results; they are read
// AFTER done is closed. The times are set under the mailbox's lock: asked when it is queued, ended
// when it is finished.
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
//
// Its states are
//
//	idle      neither busy nor waits; the queue is empty
//	waits     the queue has work, and the crew has no goroutine for its user
//	busy      a goroutine is in serve; it alone takes work off the front
//
// uid is that of the job's user, by whom goroutines and waiting times are counted; unknown until a
// read names one. All fields are under the mailbox's lock.
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

// find returns the first queued work of a kind; nil if there is none.
func (f *folder) find(k kind) *work {
	for _, o := range f.queue {
		if o.kind == k {
			return o
		}
	}
	return nil
}

// made returns the last change if it has that name, was no longer waited for, and is under way or
// done without an error. Without it, a write to a server that is slow every time would never count
// as done. Work that ended with an error is not returned: the caller repeats it.
func (f *folder) made(what string) *work {
	if o := f.given; o != nil && what != "" && o.what == what && (!o.finished || o.err == nil) {
		return o
	}
	return nil
}

// drop removes work that MUST NOT have begun from the queue.
func (f *folder) drop(o *work) {
	f.queue = slices.DeleteFunc(f.queue, func(x *work) bool { return x == o })
}

// has reports whether lines from that offset on, of that user's file, were read and not returned
// yet.
func (f *folder) has(uid uint32, offset int64) bool {
	return f.lines != nil && f.lines.uid == uid && f.lines.offset == offset
}

// late returns the error that says since when the folder has not answered: since its oldest work
// was requested. o is work of the call, which may have been dropped from the queue; nil = it has
// none.
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

// at returns the folder, and records its owner once that is known. The caller holds the lock.
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

// sweep drops folders without requests for idleFor, once per idleFor. A clock that was set back
// begins the period anew.
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

// add appends work to the folder's queue and starts it as soon as the shares allow. The caller
// holds the lock, and has made sure that the queue has room. The work is under way only after the
// caller has released the lock.
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

// begin gives the folder a goroutine, which the caller has counted with takes.
func (m *Mailbox) begin(f *folder) {
	f.busy, f.waits = true, false
	go m.serve(f, f.uid)
}

// dispatch starts work in folders that wait for a goroutine. The order of users is random. Of one
// user, folders go in the order in which they began to wait.
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

// serve does the folder's work until there is none. Any part of it may hang. The lock is released
// only around the work itself. Every result is published under the lock BEFORE done is closed, so
// that a caller that was woken finds it. The goroutine is given back when the queue is empty, not
// after each work: a folder keeps its order that way. uid is that by which it was counted, since
// f.uid may change.
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
