package offcycle

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// disk is a mailbox whose folders can be made to hang.
type disk struct {
	mu    sync.Mutex
	hung  map[string]chan struct{} // by token: closed when the folder answers again
	words map[string]string
	log   []string
	busy  map[string]int
	most  int // goroutines in one folder at once
	all   int
	peak  int
}

func newDisk() *disk {
	return &disk{hung: map[string]chan struct{}{}, words: map[string]string{}, busy: map[string]int{}}
}

func (d *disk) hang(tokens ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range tokens {
		d.hung[t] = make(chan struct{})
	}
}

func (d *disk) answer(tokens ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range tokens {
		close(d.hung[t])
		delete(d.hung, t)
	}
}

func (d *disk) do(op, token string) string {
	d.mu.Lock()
	d.busy[token]++
	d.all++
	d.most, d.peak = max(d.most, d.busy[token]), max(d.peak, d.all)
	hung := d.hung[token]
	d.mu.Unlock()
	if hung != nil {
		<-hung
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy[token]--
	d.all--
	d.log = append(d.log, op+" "+token)
	return d.words[token]
}

func (d *disk) said(token, word string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.words[token] = word
}

func (d *disk) done() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log)
}

func (d *disk) Runner(token string, _ uint32) (checkpoint.Runner, bool, error) {
	return checkpoint.Runner{Note: d.do("runner", token)}, true, nil
}

func (d *disk) RunnerNow(token string, _ uint32) (checkpoint.Runner, bool, error) {
	return checkpoint.Runner{Note: d.do("now", token)}, true, nil
}

func (d *disk) Progress(token string, _ uint32, offset int64) ([]checkpoint.Progress, int64, []error, error) {
	d.do("progress", token)
	return []checkpoint.Progress{{Done: float64(offset + 1)}}, offset + 1, nil, nil
}

func (d *disk) Ask(token string, r checkpoint.Request) error { d.do("ask "+r.ID, token); return nil }
func (d *disk) Withdraw(token string) error                  { d.do("withdraw", token); return nil }
func (d *disk) Aim(token string, _ checkpoint.Target) error  { d.do("aim", token); return nil }
func (d *disk) Forget(token string) error                    { d.do("forget", token); return nil }

func late(err error) bool { return errors.As(err, new(*observe.Unanswered)) }

// eventually waits for what other goroutines do.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 500 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("never: " + what)
}

func within(t *testing.T, most time.Duration, do func()) {
	t.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took > most {
		t.Errorf("took %s, more than %s", took, most)
	}
}

// TestHungFolderDelaysNoOther: with any number of folders hanging, all others are read at once,
// and those that hang cost a bounded wait once.
func TestHungFolderDelaysNoOther(t *testing.T) {
	d := newDisk()
	m := NewMailbox(d, time.Now)
	var hung []string
	for i := range 1000 {
		hung = append(hung, fmt.Sprint("hung", i))
	}
	d.hang(hung...)
	defer d.answer(hung...)
	round := func() {
		for i, token := range hung {
			if _, _, err := m.Runner(token, uint32(1000+i%10)); !late(err) {
				t.Fatalf("%s: %v", token, err)
			}
			if _, _, _, err := m.Progress(token, uint32(1000+i%10), 0); !late(err) {
				t.Fatalf("%s: %v", token, err)
			}
		}
	}
	within(t, 2*time.Second, round) // the first one of each user costs a wait
	within(t, time.Second, round)
	d.said("well", "hello")
	for range 3 {
		eventually(t, "a folder that answers is read", func() bool {
			word, ok, err := m.Runner("well", 7)
			return ok && err == nil && word.Note == "hello"
		})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.most > 1 || d.peak > mostAll {
		t.Errorf("%d goroutines in one folder, %d in all", d.most, d.peak)
	}
}

// TestUserWithManyHungFolders: a user's share of goroutines is bounded, and those of others
// stay free.
func TestUserWithManyHungFolders(t *testing.T) {
	d := newDisk()
	m := NewMailbox(d, time.Now)
	var hung []string
	for i := range 100 {
		hung = append(hung, fmt.Sprint("hung", i))
	}
	d.hang(hung...)
	for _, token := range hung {
		m.Runner(token, 1)
	}
	d.mu.Lock()
	if d.all > mostUser {
		t.Errorf("%d goroutines hang for one user", d.all)
	}
	d.mu.Unlock()
	eventually(t, "another user's folder is read meanwhile", func() bool {
		_, ok, err := m.Runner("well", 2)
		return ok && err == nil
	})
	d.answer(hung...)
	eventually(t, "all are read once they answer", func() bool {
		done := d.done()
		return !slices.ContainsFunc(hung, func(token string) bool { return !slices.Contains(done, "runner "+token) })
	})
	eventually(t, "no goroutine is left", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.crew.all == 0 && len(m.crew.of)+len(m.crew.ready) == 0
	})
}

// TestLateAnswerIsReturned: the word of a slow folder is returned one call later; meanwhile the
// error has the time of the oldest request.
func TestLateAnswerIsReturned(t *testing.T) {
	d := newDisk()
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	m := NewMailbox(d, func() time.Time { mu.Lock(); defer mu.Unlock(); return now })
	pass := func(by time.Duration) { mu.Lock(); now = now.Add(by); mu.Unlock() }
	d.said("a", "first")
	if word, _, _ := m.Runner("a", 1); word.Note != "first" {
		t.Fatalf("read %q", word.Note)
	}
	d.hang("a")
	asked := now
	for range 3 {
		if word, ok, err := m.Runner("a", 1); !ok || err != nil || word.Note != "first" {
			t.Errorf("while it is late the last status is returned: %q %v", word.Note, err)
		}
		pass(3 * time.Second)
	}
	if _, _, err := m.Runner("a", 2); !late(err) {
		t.Errorf("another user's question is answered by what this one's found: %v", err)
	}
	pass(3 * time.Second)
	var u *observe.Unanswered
	if _, _, err := m.Runner("a", 1); !errors.As(err, &u) || !u.Since.Equal(asked) {
		t.Errorf("it is late since %v: %v", asked, err)
	}
	d.said("a", "second")
	d.answer("a")
	eventually(t, "the word arrives", func() bool { word, _, err := m.Runner("a", 1); return err == nil && word.Note == "second" })
	d.hang("a")
	if _, _, _, err := m.Progress("a", 1, 5); !late(err) {
		t.Errorf("progress: %v", err)
	}
	d.answer("a")
	eventually(t, "the lines arrive", func() bool { _, next, _, err := m.Progress("a", 1, 5); return err == nil && next == 6 })
	if lines, next, _, err := m.Progress("a", 1, 6); err != nil || next != 7 || lines[0].Done != 7 {
		t.Errorf("lines are handed out twice: %v %d %v", lines, next, err)
	}
}

// TestLateWriteIsNotOvertaken: a write that is no longer waited for and is done late comes
// BEFORE every later one in that folder; one that had not begun is never done.
func TestLateWriteIsNotOvertaken(t *testing.T) {
	d := newDisk()
	m := NewMailbox(d, time.Now)
	d.hang("a")
	within(t, 3*actWait, func() {
		if err := m.Ask("a", checkpoint.Request{ID: "1"}); !late(err) {
			t.Errorf("ask: %v", err)
		}
		if err := m.Withdraw("a"); err == nil {
			t.Error("withdrawn before the request is there")
		}
	})
	d.answer("a")
	eventually(t, "it is withdrawn", func() bool { return m.Withdraw("a") == nil })
	if got := fmt.Sprint(d.done()); got != "[ask 1 a withdraw a]" {
		t.Errorf("in this order: %s", got)
	}
	d.hang("b")
	m.Runner("b", 1) // hangs, and nothing queued after it begins
	if err := m.Aim("b", checkpoint.Target{}); !late(err) {
		t.Errorf("aim: %v", err)
	}
	d.answer("b")
	eventually(t, "it answers", func() bool { return m.Withdraw("b") == nil })
	if got := d.done()[2:]; slices.Contains(got, "aim b") {
		t.Errorf("what was given up was done: %s", got)
	}
}

// TestLookOfThisMoment: the read before a stop is never answered by an earlier one.
func TestLookOfThisMoment(t *testing.T) {
	d := newDisk()
	m := NewMailbox(d, time.Now)
	d.said("a", "waiting")
	m.Runner("a", 1)
	d.said("a", "training")
	if word, ok, err := m.RunnerNow("a", 1); !ok || err != nil || word.Note != "training" {
		t.Errorf("%q %v", word.Note, err)
	}
	d.hang("a")
	if _, ok, err := m.RunnerNow("a", 1); ok || !late(err) {
		t.Errorf("a folder that hangs answers: %v", err)
	}
	d.answer("a")
}

// TestWritesOfOthersHaveTime: a user whose folders hang, all of them new ones, uses up its own
// half of the waiting time, not that of others.
func TestWritesOfOthersHaveTime(t *testing.T) {
	d := newDisk()
	m := NewMailbox(d, time.Now)
	var hung []string
	for i := range 20 {
		hung = append(hung, fmt.Sprint("hung", i))
	}
	d.hang(hung...)
	defer d.answer(hung...)
	within(t, time.Second, func() {
		for _, token := range hung {
			m.RunnerNow(token, 1)
		}
	})
	if _, ok, err := m.RunnerNow("well", 2); !ok || err != nil {
		t.Errorf("another user's: %v", err)
	}
}

// TestForgetDoesNotWait: Forget does not wait, and earlier work in the folder is done
// before it.
func TestForgetDoesNotWait(t *testing.T) {
	d := newDisk()
	m := NewMailbox(d, time.Now)
	d.hang("a")
	within(t, 20*time.Millisecond, func() {
		for range 10 {
			m.Forget("a")
		}
	})
	d.answer("a")
	eventually(t, "it is forgotten", func() bool { return len(d.done()) == mostQueued })
}

// A write that takes too long each time counts as done at the next call for the same thing, and
// only there.
func TestLateWriteCountsAsDone(t *testing.T) {
	d, now := newDisk(), time.Now()
	var later atomic.Int64 // cycles are far apart here: each has all its time for waiting
	m := NewMailbox(d, func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	idle := func() {
		t.Helper()
		eventually(t, "the folder to be idle", func() bool { m.mu.Lock(); defer m.mu.Unlock(); return len(m.folders["a"].queue) == 0 })
	}
	slow := func(call func() error) {
		t.Helper()
		later.Add(int64(5 * time.Second))
		d.hang("a")
		if err := call(); !late(err) {
			t.Fatalf("on a folder that hangs: %v", err)
		}
		before := len(d.done())
		d.answer("a")
		eventually(t, "the write to be done", func() bool { return len(d.done()) > before })
		idle()
	}
	ask := func(id string, deadline time.Time) func() error {
		return func() error { return m.Ask("a", checkpoint.Request{ID: id, Asked: now, Deadline: deadline}) }
	}
	slow(ask("r1", now))
	d.hang("a")
	if err := ask("r1", now.Add(time.Minute))(); err != nil {
		t.Errorf("asked again for what was written: %v", err)
	}
	later.Add(int64(5 * time.Second))
	if err := ask("r2", now)(); !late(err) {
		t.Errorf("asked for something else: %v", err)
	}
	d.answer("a")
	idle()
	slow(ask("r3", now))
	if err := m.Withdraw("a"); err != nil {
		t.Error(err)
	}
	if err := ask("r3", now)(); err != nil {
		t.Error(err)
	}
	if got := d.done(); !slices.Equal(got, []string{"ask r1 a", "ask r2 a", "ask r3 a", "withdraw a", "ask r3 a"}) {
		t.Errorf("was done: %q", got)
	}
	d.hang("a")
	for range 2 {
		later.Add(int64(5 * time.Second))
		if _, _, err := m.RunnerNow("a", 1); !late(err) {
			t.Errorf("a look of this moment: %v", err)
		}
	}
	d.answer("a")
}
