package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
)

// refusals are the errors of a full, over-quota, read-only or failing file system.
var refusals = []unix.Errno{unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EIO}

// trouble fails calls: the n-th, and with forever all after it.
type trouble struct {
	sync.Mutex
	errno   unix.Errno
	at      int
	forever bool
	count   int // calls seen
	failed  int
	healed  bool
}

func (f *trouble) judge(disktest.Call) unix.Errno {
	f.Lock()
	defer f.Unlock()
	f.count++
	if f.healed || f.errno == 0 || f.count-1 != f.at && (!f.forever || f.count-1 < f.at) {
		return 0
	}
	f.failed++
	return f.errno
}

func (f *trouble) heal() {
	f.Lock()
	defer f.Unlock()
	f.healed = true
}

// Every system call that writes fails in turn, once or from then on, in each of four ways. The
// store's call returns an error with a message and changes nothing, and works as soon as the
// failure is over.
func TestEveryWriteFails(t *testing.T) {
	total, failed, surfaced := everyWriteFails(t, func(root string) *story { return newStory(root) })
	if total < 100 {
		t.Errorf("%d calls seen: the story was not watched", total)
	}
	counted(t, "store-write-calls", total)
	counted(t, "store-write-failures", failed)
	counted(t, "store-write-failures-surfaced", surfaced)
}

// The same during the migration of a store of an earlier schema.
func TestEveryWriteOfAMigrationFails(t *testing.T) {
	m, _ := earlier(t, "schema2-killed")
	total, failed, surfaced := everyWriteFails(t, func(root string) *story {
		if err := m.write(root, flip{}); err != nil {
			t.Error(err)
		}
		y := newStory(root)
		y.short = true
		return y
	})
	counted(t, "store-migration-write-calls", total)
	counted(t, "store-migration-write-failures", failed)
	counted(t, "store-migration-write-failures-surfaced", surfaced)
}

// everyWriteFails plays the story that begin makes with one failure each time. An ordinary run
// takes one call in seven, in one way each.
func everyWriteFails(t *testing.T, begin func(root string) *story) (total, failed, surfaced int) {
	t.Helper()
	healthy := &trouble{}
	var want []string
	w := &disktest.Watch{Root: disktest.Scratch(t), Seen: healthy.judge}
	y := begin(w.Root)
	w.Do(t, func() { want = tell(t, y, nil, nil) })
	every := campaign(t, 0) > 0
	for at := range healthy.count {
		for i, errno := range refusals {
			for _, forever := range []bool{false, true} {
				if !every && (at%7 > 0 || i != (at/2)%4 || forever != (at%2 == 0)) {
					continue
				}
				f := &trouble{errno: errno, at: at, forever: forever}
				w := &disktest.Watch{Root: disktest.Scratch(t), Seen: f.judge}
				y := begin(w.Root)
				w.Do(t, func() { tell(t, y, want, f) })
				if t.Failed() {
					t.Fatalf("call %d of %d fails with %v, and all behind it: %v", at, healthy.count, errno, forever)
				}
				failed += f.failed
				if f.healed {
					surfaced++
				}
			}
		}
	}
	return healthy.count, failed, surfaced
}

// tell plays the story and returns the contents of the store after every step. With want it
// looks only after a failure, and after the last step but one.
func tell(t *testing.T, y *story, want []string, f *trouble) (stood []string) {
	steps := y.steps()
	compare := func(n int, when string) string {
		now, err := y.dump()
		if err != nil || want != nil && y.s != nil && now != want[n] {
			t.Errorf("%s: %v\n%s\nwant\n%s", when, err, now, want[n])
		}
		return now
	}
	for n, step := range steps {
		err := step()
		if err != nil && f == nil {
			t.Errorf("step %d: %v", n, err)
			return nil
		}
		if err != nil {
			worded(t, n, err)
			f.heal()
			if y.s != nil && want[max(n-1, 0)] == "" { // it was opened, and then the pragma failed
				y.shutdown()
			}
			if n > 0 {
				compare(n-1, fmt.Sprintf("step %d failed, and the store is not as before", n))
			}
			if err := step(); err != nil {
				t.Errorf("step %d, once the trouble is over: %v", n, err)
				return nil
			}
		}
		if want == nil || err != nil || n == len(steps)-2 {
			stood = append(stood, compare(n, fmt.Sprintf("after step %d", n)))
		}
	}
	if len(y.notes) > 0 {
		t.Errorf("notices: %q", y.notes)
	}
	return stood
}

// worded checks that an error is one of the store's, with a hint.
func worded(t *testing.T, step int, err error) {
	t.Helper()
	var e *Error
	kinds := []error{ErrFull, ErrReadOnly, ErrDisk}
	if !errors.As(err, &e) || e.Hint == "" || !slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) }) {
		t.Errorf("step %d: the error does not say what to do: %v", step, err)
	}
}
