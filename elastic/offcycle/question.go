package offcycle

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

const (
	// askWait is how long an answer of Slurm is waited for, on the caller's goroutine.
	askWait = 2 * time.Second
	// askOld is how long an answer that came later is kept.
	askOld = 10 * time.Minute
)

// asker makes queries in a goroutine, one at a time. An answer that does not come within
// askWait is returned by a later call. Until one comes in time again, calls do not wait.
//
//	a query ends within askWait    its caller gets the result
//	it ends later                  calls get ErrAsking at once; the first one after the end gets the result
//	no call within askOld          the result is dropped, and the next call begins a new query
//
// slow is set by a late answer and cleared by one in time: it is what keeps a database that is down
// from costing each cycle askWait.
type asker[T any] struct {
	ctx context.Context // of the queries, which outlive the calls
	now func() time.Time

	mu     sync.Mutex
	asking *question[T] // under way, or not returned yet
	slow   bool
}

// question is one query of the source below. Its results are read AFTER done is closed.
type question[T any] struct {
	done  chan struct{}
	asked time.Time
	ended time.Time
	ahead bool // nobody has waited for it yet
	found T
	err   error
}

// ahead begins a query whose result the next call of ask returns, and waits for as for its own.
// Of several the last one counts. It returns false while another query is under way, or has a
// result that no call has returned.
func (a *asker[T]) ahead(do func(context.Context) (T, error)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.asking; q != nil && !(q.over() && (q.ahead || a.old(q))) {
		return false
	}
	a.asking = a.begin(do)
	a.asking.ahead = true
	return true
}

// old reports whether the result of a query that is over was kept for too long.
func (a *asker[T]) old(q *question[T]) bool { return a.now().Sub(q.ended) > askOld }

// ask returns the result of do, or that of an earlier call. It returns observe.ErrAsking while
// there is none.
//
// The lock is held during the wait, so that a second caller waits too. A context that ends stops
// the wait alone, and the query stays the one that is under way. The result of an earlier call's do
// may be returned although this call's differs, so that callers MUST ask for the same or check what
// they get.
func (a *asker[T]) ask(ctx context.Context, do func(context.Context) (T, error)) (none T, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.asking; q != nil && q.over() && a.old(q) {
		a.asking = nil
	}
	fresh := a.asking == nil || a.asking.ahead
	if a.asking == nil {
		a.asking = a.begin(do)
	}
	q := a.asking
	q.ahead = false
	if fresh && !a.slow {
		wait := time.NewTimer(askWait - a.now().Sub(q.asked))
		defer wait.Stop()
		select {
		case <-q.done:
		case <-wait.C:
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
	if !q.over() {
		a.slow = true
		return none, observe.ErrAsking
	}
	a.asking, a.slow = nil, q.ended.Sub(q.asked) >= askWait
	return q.found, q.err
}

// over reports whether the query has ended; found, err and ended may be read then.
func (q *question[T]) over() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// begin starts a query in a goroutine. Its context is the asker's, so that it ends with the daemon
// at the latest, if the source respects it.
func (a *asker[T]) begin(do func(context.Context) (T, error)) *question[T] {
	q := &question[T]{done: make(chan struct{}), asked: a.now()}
	go func() {
		q.found, q.err = do(a.ctx)
		q.ended = a.now()
		close(q.done)
	}()
	return q
}
