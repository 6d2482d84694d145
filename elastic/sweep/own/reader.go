package own

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// Bounds of a Reader.
const (
	foundFor = 15 * time.Second // folders are searched for sweeps at most so often
	restsFor = time.Hour        // the lanes of a sweep that is over are read again for so long after its last line
	mostHeld = 128 << 20        // lines, in bytes, of the sweeps whose trials are held in memory
)

// ErrNotFound: the user has no such sweep.
var ErrNotFound = errors.New("no such sweep")

// ErrBusy: the folders were not read in time, as on a file system that hangs.
var ErrBusy = errors.New("the folders of sweeps cannot be read in time; try again in a minute")

// Reader reads a user's sweeps again and again: of each only what was added. Any goroutine may use it. One
// at a time reads; the others wait, at most until their ctx ends.
type Reader struct {
	jobs, outbox string
	uid          uint32
	now          func() time.Time

	turn  chan struct{} // holds one token: who has taken it has what follows
	found time.Time
	all   []*entry       // the newest last
	pass  map[string]int // see find
	used  []*entry       // those whose view is held, the last used last
}

// entry is one sweep, and what its file says. view is nil while its trials are not held; rests says that
// summary stays.
type entry struct {
	file    sweep.Sweep
	folder  string
	view    *View
	summary Summary
	summed  time.Time
	rests   bool
}

// NewReader returns a reader of the sweeps of a user. now is the clock.
func NewReader(jobs, outbox string, uid uint32, now func() time.Time) *Reader {
	r := &Reader{jobs: jobs, outbox: outbox, uid: uid, now: now, turn: make(chan struct{}, 1), pass: map[string]int{}}
	r.turn <- struct{}{}
	return r
}

// alone runs f alone. If ctx ends first, f is left to itself, and others wait for it: nothing that f sets
// may be looked at then.
func (r *Reader) alone(ctx context.Context, f func() error) error {
	select {
	case <-r.turn:
	case <-ctx.Done():
		return ErrBusy
	}
	done := make(chan error, 1)
	go func() {
		defer func() { r.turn <- struct{}{} }()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ErrBusy
	}
}

// List returns all sweeps of the user, the newest first. What cannot be read is left out.
func (r *Reader) List(ctx context.Context) (out []Summary, err error) {
	var all []Summary
	err = r.alone(ctx, func() error {
		if err := r.find(); err != nil {
			return err
		}
		for _, e := range slices.Backward(r.all) {
			if r.sum(e) == nil {
				all = append(all, e.summary)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Look passes the sweep of a number to f. f MUST NOT keep it, and nothing that f sets may be used if Look
// returns ErrBusy.
func (r *Reader) Look(ctx context.Context, number int64, f func(*View)) error {
	return r.alone(ctx, func() error {
		if err := r.find(); err != nil {
			return err
		}
		for _, e := range slices.Backward(r.all) {
			if err := r.sum(e); err == nil && e.summary.Number == number {
				v, err := r.hold(e)
				if err == nil {
					f(v)
				}
				return err
			}
		}
		return ErrNotFound
	})
}

// find looks for new sweeps, for changed ones and for those that are gone.
func (r *Reader) find() error {
	now := r.now()
	if !r.found.IsZero() && now.Sub(r.found) < foundFor && now.After(r.found) {
		return nil
	}
	if len(r.pass) > mostFolders {
		r.pass = map[string]int{}
	}
	views, err := find(r.jobs, r.uid, r.pass)
	if err != nil {
		return err
	}
	before := map[string]*entry{}
	for _, e := range r.all {
		before[e.file.Token] = e
	}
	r.all = nil
	for _, v := range views {
		e := before[v.Token]
		if e == nil {
			e = &entry{folder: v.Folder, file: v.Sweep}
		}
		if !reflect.DeepEqual(e.file, v.Sweep) { // its user changed it; what was read of the trials stays
			e.file, e.rests = v.Sweep, false
			if e.view != nil {
				number := e.view.Number
				if e.view.Sweep = v.Sweep; e.view.unnumbered {
					e.view.Number = number
				}
			}
		}
		r.all = append(r.all, e)
	}
	r.found = now
	return nil
}

// sum makes the summary of a sweep a fresh one.
func (r *Reader) sum(e *entry) error {
	now := r.now()
	if e.rests || !e.summed.IsZero() && now.Sub(e.summed) < time.Second && now.After(e.summed) {
		return nil
	}
	v, err := r.hold(e)
	if err != nil {
		return err
	}
	e.summary, e.summed = v.Summary(), now
	e.rests = v.Over() != book.NotOver && e.summary.Lanes == 0 && now.Sub(v.newest) > restsFor
	return nil
}

// hold reads a sweep, and holds its trials in memory; those of the sweep that was longest not looked at are
// let go.
func (r *Reader) hold(e *entry) (*View, error) {
	v := e.view
	if v == nil {
		v = New(e.file, e.folder)
	}
	err := v.Read(r.jobs, r.outbox, r.now())
	if err != nil { // from its beginning
		v = New(e.file, e.folder)
		err = v.Read(r.jobs, r.outbox, r.now())
	}
	r.used = slices.DeleteFunc(r.used, func(x *entry) bool { return x == e })
	if e.view = nil; err != nil {
		return nil, err
	}
	e.view = v
	r.used = append(r.used, e)
	held := int64(0)
	for i, x := range slices.Backward(r.used) {
		if held += x.view.bytes; held > mostHeld && x != e {
			for _, old := range r.used[:i+1] {
				old.view = nil
			}
			r.used = slices.Clone(r.used[i+1:])
			break
		}
	}
	return v, nil
}
