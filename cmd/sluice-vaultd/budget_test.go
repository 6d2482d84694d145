package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// took collects what a user got, byte by byte: parts of logs by job, files by job and name.
type took struct {
	mu    sync.Mutex
	logs  map[string]string
	files map[string]string
}

func newTook() *took { return &took{logs: map[string]string{}, files: map[string]string{}} }

// log adds a part of a log that begins at that byte. What was there before must be the same.
func (k *took) log(t testing.TB, job string, from int64, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.logs[job]
	if int(from) > len(all) {
		t.Errorf("%s: a log from byte %d on, and %d are there", job, from, len(all))
		return
	}
	have := all[from:]
	if !strings.HasPrefix(have, text) && !strings.HasPrefix(text, have) {
		t.Errorf("%s: another log at byte %d", job, from)
	}
	if len(text) > len(have) {
		k.logs[job] = all[:from] + text
	}
}

func (k *took) file(t testing.TB, job string, files map[string]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, text := range files {
		if old, seen := k.files[job+" "+name]; seen && old != text {
			t.Errorf("%s: %s is another file now", job, name)
		}
		k.files[job+" "+name] = text
	}
}

// bytes is what was got in all, of one job or of all ("").
func (k *took) bytes(job string) (n int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, text := range k.logs {
		if strings.HasPrefix(key, job) {
			n += int64(len(text))
		}
	}
	for key, text := range k.files {
		if strings.HasPrefix(key, job) {
			n += int64(len(text)) + int64(len(key)-33)
		}
	}
	return n
}

// Many requests at once, of several jobs with long logs and many files: what leaves is never above the budget of
// a job nor that of the user, and no byte is counted twice.
func TestBudgetRaced(t *testing.T) {
	l := newLab(t)
	l.s.site.Data.Numbers = 100
	l.add("mammo", "3KB/job,7KB/week")
	var ids []string
	for i := range 4 {
		id := l.submit(ada)
		ids = append(ids, id)
		l.put(id, logName, strings.Repeat(fmt.Sprintf("line of %d\n", i), 100))
		for k := range 8 {
			l.put(id, fmt.Sprintf("out/%d.pt", k), strings.Repeat("x", 100*(k+1)))
		}
		l.end(id)
	}
	k := newTook()
	var all sync.WaitGroup
	for i := range 16 {
		id := ids[i%len(ids)]
		all.Go(func() {
			if i%2 == i/4%2 {
				a, text, err := l.ask(ada, wire.Request{Do: wire.Logs, Job: id})
				if err != nil || a.Size != int64(len(text)) {
					t.Errorf("log: %v", err)
				}
				k.log(t, id, 0, text)
				return
			}
			_, raw, err := l.ask(ada, wire.Request{Do: wire.Results, Job: id})
			if err != nil {
				t.Errorf("results: %v", err)
			}
			k.file(t, id, l.files(raw))
		})
	}
	all.Wait()
	total := int64(0)
	for _, id := range ids {
		counted := l.counted(id)
		if got := k.bytes(id); counted > 3000 || got+100 > counted {
			t.Errorf("%s: %d bytes left, %d count, the budget is 3000", id, got, counted)
		}
		total += counted
	}
	if total > 7000 || k.bytes("")+400 > total {
		t.Errorf("%d bytes left, %d count, the budget is 7000", k.bytes(""), total)
	}
	t.Logf("reliability: confined-left %d", k.bytes(""))
	t.Logf("reliability: confined-budget 7000")
	if k.bytes("") < 3000 {
		t.Errorf("only %d bytes left", k.bytes(""))
	}
}

// failing is a record whose disk fails, before or after what is written reached it.
type failing struct {
	recordFile
	left  int  // entries that can still be made
	after bool // the last one reaches the disk
}

var errDisk = errors.New("the disk is full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 && !f.after {
		n, _ := f.recordFile.Write(p[:len(p)/2]) // a torn line
		return n, errDisk
	}
	return f.recordFile.Write(p)
}

func (f *failing) Sync() error {
	if f.left < 0 {
		return errDisk
	}
	return f.recordFile.Sync()
}

// flushed is a record that knows what was not flushed.
type flushed struct {
	recordFile
	waits bool
}

func (f *flushed) Write(p []byte) (int, error) {
	f.waits = true
	return f.recordFile.Write(p)
}

func (f *flushed) Sync() error {
	f.waits = false
	return f.recordFile.Sync()
}

// When an answer is there, the entries that it follows from are on the disk.
func TestDurableBeforeItLeaves(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "2KB/job,4KB/week")
	record := &flushed{recordFile: l.s.vault.record}
	l.s.vault.record = record
	check := func(what string, raw string) {
		t.Helper()
		if record.waits || raw == "" {
			t.Errorf("%s: entries are not flushed, or nothing left: %q", what, raw)
		}
	}
	id := l.submit(ada)
	check("submission", id)
	l.put(id, logName, "text\n")
	l.put(id, "out/m.pt", "model")
	_, text := l.get(ada, wire.Request{Do: wire.Logs, Job: id})
	check("log", text)
	l.end(id)
	_, raw := l.get(ada, wire.Request{Do: wire.Results, Job: id})
	check("results", raw)
}

// vaultd ends at every entry that it makes, before or after the entry is on the disk. Nothing is handed out whose entry is not
// durable; afterwards all goes on, and no byte is counted twice.
func TestKilledAtEveryEntry(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 0; ; n++ {
			if killedAt(t, n, after) {
				break
			}
			if n > 50 {
				t.Fatal("it does not come to an end")
			}
		}
	}
}

// killedAt reports whether all was done before the n-th entry was made.
func killedAt(t *testing.T, n int, after bool) (done bool) {
	l := newLab(t)
	l.s.site.Data.Numbers = 100
	l.add("mammo", "2KB/job,4KB/week")
	l.s.vault.record = &failing{recordFile: l.s.vault.record, left: n, after: after}
	k, ok, never := newTook(), true, false
	way := func() {
		q, body := submissionOf("")
		if len(l.s.vault.state.Jobs()) == 0 {
			if _, _, err := l.ask(ada, q, body...); err != nil {
				ok = false
				return
			}
		}
		id := l.s.vault.state.Jobs()[0].ID
		if l.s.vault.state.Jobs()[0].State == wire.StateSubmitted && !l.accepted(id) { // killed before sluice submit ran
			l.refused(wire.ErrConflict, "has not ended", ada, wire.Request{Do: wire.Results, Job: id})
			never = true
			return
		}
		l.put(id, logName, "the log\n")
		l.put(id, "out/a.pt", strings.Repeat("a", 300))
		l.put(id, "out/b.pt", strings.Repeat("b", 5000))
		l.put(id, "out/c.txt", "kept")
		a, text, err := l.ask(ada, wire.Request{Do: wire.Logs, Job: id})
		ok = ok && err == nil
		k.log(t, id, 0, text)
		l.end(id)
		a, raw, err := l.ask(ada, wire.Request{Do: wire.Results, Job: id})
		if k.file(t, id, l.files(raw)); err != nil {
			ok = false
			return
		}
		if got := states(a.Files); got["a.pt"] != wire.FileReleased || got["b.pt"] != wire.FileOver || got["c.txt"] != wire.FileKept {
			t.Errorf("entry %d, %v: states %v", n, after, got)
		}
	}
	way()
	if !ok && l.s.vault.broken == nil {
		t.Fatalf("entry %d, %v: failed, and the record is whole", n, after)
	}
	held(t, l, k, n)
	done = ok && l.s.vault.broken == nil
	ok = true
	l.open()
	way()
	if !ok {
		t.Errorf("entry %d, %v: after a restart it does not go on", n, after)
	}
	held(t, l, k, n)
	released := map[string]int{}
	for _, e := range l.entries() {
		if e.Event == vault.Released || e.Event == vault.Logged || e.Event == vault.Told {
			released[string(e.Event)+e.File]++
		}
	}
	for what, times := range released {
		if times != 1 {
			t.Errorf("entry %d, %v: %s is counted %d times", n, after, what, times)
		}
	}
	if want := (map[string]int{"releaseda.pt": 1, "logged": 1, "toldb.pt": 1, "toldc.txt": 1}); !never && !maps.Equal(released, want) {
		t.Errorf("entry %d, %v: %v", n, after, released)
	}
	return done
}

// held checks what a user got against what the record on the disk counts.
func held(t *testing.T, l *lab, k *took, n int) {
	t.Helper()
	raw, err := os.Open(filepath.Join(l.dir, "vault", recordName))
	l.must(err)
	defer raw.Close()
	s := vault.NewState()
	_, err = vault.Verify(raw, func(e vault.Entry, _ []byte) error { return s.Apply(e) })
	l.must(err)
	for _, j := range s.Jobs() {
		if got := k.bytes(j.ID); got > 0 && got+j.Numbers > j.Counted || j.Counted > 2000 {
			t.Errorf("entry %d: %d bytes left, %d count", n, got, j.Counted)
		}
	}
	if len(s.Jobs()) == 0 && k.bytes("") > 0 {
		t.Errorf("entry %d: bytes left of a job that is not in the record", n)
	}
}

// A log that is longer than the budget ends at it; one that is rewritten leaves only what is new; what left before
// comes from the copy.
func TestLogWithinBudget(t *testing.T) {
	l := newLab(t)
	l.s.site.Data.Numbers = 0
	l.add("mammo", "100B/job,1KB/week")
	id := l.submit(ada)
	l.put(id, logName, strings.Repeat("a", 60))
	a, text := l.get(ada, wire.Request{Do: wire.Logs, Job: id})
	if len(text) != 60 || a.Over {
		t.Errorf("%q, %+v", text, a)
	}
	l.put(id, logName, strings.Repeat("b", 500))
	a, text = l.get(ada, wire.Request{Do: wire.Logs, Job: id, From: 30})
	if text != strings.Repeat("a", 30) || a.Next != 60 {
		t.Errorf("again: %q, %+v", text, a)
	}
	a, text = l.get(ada, wire.Request{Do: wire.Logs, Job: id, From: 60})
	if text != strings.Repeat("b", 24) || l.counted(id) != 100 {
		t.Errorf("the rest: %q, %d bytes count", text, l.counted(id))
	}
	if a, text = l.get(ada, wire.Request{Do: wire.Logs, Job: id, From: 84}); text != "" || !a.Over {
		t.Errorf("over: %q, %+v", text, a)
	}
	l.refused(wire.ErrBadRequest, "only 84 bytes", ada, wire.Request{Do: wire.Logs, Job: id, From: 85})
	l.put(id, "out/m.pt", "m")
	l.end(id)
	if a, raw := l.get(ada, wire.Request{Do: wire.Results, Job: id}); len(a.Files) != 0 || !a.More || raw != "" {
		t.Errorf("without budget: %+v", a)
	}
	l.s.site.Data.Log = 10
	other := l.submit(ada)
	l.put(other, logName, strings.Repeat("c", 60))
	if a, text = l.get(ada, wire.Request{Do: wire.Logs, Job: other}); len(text) != 10 {
		t.Errorf("the site's limit: %q", text)
	}
}

// Escapes and control characters without end do not stop the log.
func TestLogWithoutText(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	l.put(id, logName, strings.Repeat("\x00", mostPart+100)+"text\n")
	if _, text := l.get(ada, wire.Request{Do: wire.Logs, Job: id}); text != "text\n" {
		t.Errorf("%q", text)
	}
}

// With less budget left than the largest character needs, a log that grows is not told from one that does not.
func TestLogOfALastByte(t *testing.T) {
	l := newLab(t)
	l.s.site.Data.Numbers = 0
	l.add("mammo", "100B/job,1KB/week")
	id := l.submit(ada)
	l.put(id, logName, strings.Repeat("a", 82))
	before, _ := l.get(ada, wire.Request{Do: wire.Logs, Job: id})
	q := wire.Request{Do: wire.Logs, Job: id, From: before.Next}
	l.s.logged.Delete(id)
	before, _ = l.get(ada, q)
	l.put(id, logName, strings.Repeat("a", 82)+"\U0001F600")
	l.s.logged.Delete(id)
	if after, text := l.get(ada, q); fmt.Sprintf("%+v", after) != fmt.Sprintf("%+v", before) || text != "" {
		t.Errorf("it tells that the log has grown: %+v, then %+v", before, after)
	}
}
