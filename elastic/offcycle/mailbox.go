package offcycle

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// How long a Mailbox waits at most, on its caller's goroutine.
const (
	// readWait is how long one read is waited for. A later answer is returned by the next call.
	// A folder that was late is not waited for until it answers in time again.
	readWait = 50 * time.Millisecond
	// actWait is how long a write is waited for, or a read that has to begin after the call.
	actWait = 500 * time.Millisecond
	// actFree of each such wait is not counted against the caller's time: a write to a file
	// server takes about this long, and the number of open moves bounds how many there are per
	// cycle.
	actFree = 20 * time.Millisecond
	// oldest is how old a runner's word may be that is returned while a newer one is late.
	oldest = 10 * time.Second
)

// errNotTried: there is no time left for a write, or a read that has to begin after the call,
// because other folders are late. Nothing was begun; the next cycle tries again.
var errNotTried = errors.New("not tried now: folders that do not answer used up the waiting time")

// Mailbox is an observe.Mailbox over another one that may block for ever. At most one goroutine
// works on a folder, in the order of the calls, so that no late write overtakes a newer one. A
// call that finds its folder late returns an *observe.Unanswered.
//
// It is meant for one caller at a time, as an engine is; concurrent callers are safe.
//
// What a call costs the cycle, whatever hangs: reads of a late folder are not waited for until it
// has answered in time again, and a write is not tried behind work that is late. All waits together
// come out of two budgets (patience), one for reads and one for writes. If a budget is used up,
// reads are begun and not waited for, and writes are not begun (errNotTried).
//
// A write that was begun and not waited for to its end may still take effect. So a caller MUST
// treat a failed write as one with an unknown outcome, and repeat the same call: effects are safe
// to repeat (I5).
type Mailbox struct {
	under observe.Mailbox
	now   func() time.Time

	mu      sync.Mutex
	folders map[string]*folder // folders that have work, hold a word not returned yet, or were late
	crew    crew
	reads   patience
	acts    patience
	swept   time.Time
}

var _ observe.Mailbox = (*Mailbox)(nil)

// NewMailbox returns a Mailbox over another one; now is the clock. The other one is called from
// many goroutines, but from one at a time for a folder.
func NewMailbox(under observe.Mailbox, now func() time.Time) *Mailbox {
	return &Mailbox{
		under: under, now: now, folders: map[string]*folder{}, crew: newCrew(),
		reads: newPatience(200*time.Millisecond, 0, now()), acts: newPatience(time.Second, actFree, now()), swept: now(),
	}
}

// Runner returns the runner's word as read now or, if the folder is late, as read at most 10 s
// ago.
//
// ok is false without an error if there is no word. A word of another user than uid is never
// returned, also one that was read before the folder changed hands. If a read is under way already
// none is begun, and none is waited for.
func (m *Mailbox) Runner(token string, uid uint32) (checkpoint.Runner, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.at(token, uid)
	o := f.find(readWord)
	if o == nil {
		o = m.add(f, &work{kind: readWord, uid: uid, do: func(w *work) { w.word, w.ok, w.err = m.under.Runner(token, uid) }})
		if !f.slow {
			m.wait(o, f, &m.reads, readWait)
		}
	}
	if last := f.word; last != nil && last.uid == uid && (o.finished || m.now().Sub(last.ended) < oldest) {
		return last.word, last.ok, last.err
	}
	return checkpoint.Runner{}, false, f.late(o)
}

// RunnerNow returns the runner's word from a read that begins after the call.
//
// It is for the moment before a job is stopped, when an old answer would cost work: a read that was
// queued before the call does not count. It waits as a write does, and comes out of the same
// budget.
func (m *Mailbox) RunnerNow(token string, uid uint32) (checkpoint.Runner, bool, error) {
	w, err := m.act(token, uid, "", func(w *work) { w.word, w.ok, w.err = m.under.RunnerNow(token, uid) })
	if w == nil {
		return checkpoint.Runner{}, false, err
	}
	return w.word, w.ok, err
}

// Progress returns the lines after the offset, as read now or since the last call.
//
// The caller MUST pass the offset that the last call returned: lines are returned once, and what
// was read from another offset is dropped. After an *observe.Unanswered the offset that is returned
// is the one passed; the lines are not lost but come with a later call.
func (m *Mailbox) Progress(token string, uid uint32, offset int64) ([]checkpoint.Progress, int64, []error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.at(token, uid)
	o := f.find(readLines)
	if o == nil && !f.has(uid, offset) {
		o = m.add(f, &work{kind: readLines, uid: uid, offset: offset, do: func(w *work) {
			w.lines, w.next, w.bad, w.err = m.under.Progress(token, uid, offset)
		}})
		if !f.slow {
			m.wait(o, f, &m.reads, readWait)
		}
	}
	if f.has(uid, offset) {
		got := f.lines
		f.lines = nil
		return got.lines, got.next, got.bad, got.err
	}
	f.lines = nil // of another offset: read again
	return nil, offset, nil, f.late(o)
}

// Ask writes a request. A request with an earlier deadline that was written late counts as written.
// Calls that differ in anything else are different writes.
func (m *Mailbox) Ask(token string, r checkpoint.Request) error {
	same := r
	same.Asked, same.Deadline = time.Time{}, time.Time{}
	_, err := m.act(token, unknown, fmt.Sprintf("ask %+v", same), func(w *work) { w.err = m.under.Ask(token, r) })
	return err
}

// Withdraw removes the request, if there is any.
func (m *Mailbox) Withdraw(token string) error {
	_, err := m.act(token, unknown, "withdraw", func(w *work) { w.err = m.under.Withdraw(token) })
	return err
}

// Aim writes the target. A target with other values is another write, which comes after one that is
// late.
func (m *Mailbox) Aim(token string, t checkpoint.Target) error {
	_, err := m.act(token, unknown, fmt.Sprintf("aim %+v", t), func(w *work) { w.err = m.under.Aim(token, t) })
	return err
}

// Forget removes the job's outbox folder. It returns BEFORE that is done. Words and lines that were
// read are dropped. An error means that nothing was queued; whether the removal itself succeeds is
// not reported.
func (m *Mailbox) Forget(token string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.at(token, unknown)
	if len(f.queue) >= mostQueued {
		return f.late(f.queue[0])
	}
	f.word, f.lines, f.given = nil, nil, nil
	m.add(f, &work{kind: change, do: func(w *work) { w.err = m.under.Forget(token) }})
	return nil
}

// act does one thing in the folder and waits for it; the work is nil if it was not done in
// time. Work that has not begun by then is dropped; work that has may still be done, BEFORE any
// later work in that folder. A caller that repeats the same call, with no other in between,
// gets the late result.
//
//	the same write, late, was done meanwhile         its result, without waiting
//	the folder's oldest work is older than actWait   Unanswered at once; nothing is queued
//	the user's or the common budget is empty         errNotTried; nothing is queued
//	done in time                                     its result
//	not begun in time                                dropped; Unanswered
//	begun, and not done in time                      kept as given; Unanswered
func (m *Mailbox) act(token string, uid uint32, what string, do func(*work)) (*work, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.at(token, uid)
	o := f.made(what)
	if o != nil && o.finished {
		f.given = nil
		return o, nil
	}
	if len(f.queue) > 0 && m.now().Sub(f.queue[0].asked) > actWait {
		return nil, f.late(nil)
	}
	if m.acts.left(f.uid, m.now()) <= 0 {
		return nil, errNotTried
	}
	if o == nil {
		o, f.given = m.add(f, &work{kind: change, what: what, uid: uid, do: do}), nil
	}
	m.wait(o, f, &m.acts, actWait)
	switch {
	case o.finished:
		return o, o.err
	case !o.begun:
		f.drop(o)
	default:
		f.given = o
	}
	return nil, f.late(o)
}

// wait waits for the work at most this long. The caller holds the lock, which is released
// meanwhile. It does not wait if the budget is empty. Everything that the caller read from the
// folder before MUST be read again. A change that is late does not make the folder slow: reads may
// be fast where writes are not.
func (m *Mailbox) wait(o *work, f *folder, p *patience, most time.Duration) {
	began := m.now()
	most = min(most, p.left(f.uid, began))
	if most <= 0 {
		return
	}
	m.mu.Unlock()
	timer := time.NewTimer(most)
	select {
	case <-o.done:
	case <-timer.C:
	}
	timer.Stop()
	m.mu.Lock()
	p.spend(f.uid, m.now().Sub(began), m.now())
	f.slow = f.slow || !o.finished && o.kind != change
}
