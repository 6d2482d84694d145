package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// reviewed gives an owner's order about a file of a job.
func (l *lab) reviewed(id, file, order string) {
	l.t.Helper()
	l.get(hanna, wire.Request{Do: wire.Review, Name: "mammo", Job: id, File: file, Order: order})
}

// waiting are the files that wait for the owner.
func (l *lab) waiting() string {
	l.t.Helper()
	a, _ := l.get(hanna, wire.Request{Do: wire.Review, Name: "mammo"})
	var names []string
	for _, k := range a.Kept {
		names = append(names, k.Name)
	}
	return strings.Join(names, " ")
}

// fetched wants these states of all files of a job, as NAME=STATE, and returns what came.
func (l *lab) fetched(when, id, want string) map[string]string {
	l.t.Helper()
	a, raw := l.get(ada, wire.Request{Do: wire.Results, Job: id})
	var got []string
	for _, f := range a.Files {
		got = append(got, f.Name+"="+f.State)
	}
	if strings.Join(got, " ") != want {
		l.t.Errorf("%s: %v, want %s", when, got, want)
	}
	return l.files(raw)
}

// An owner's order holds for what was reviewed: not for what the file contains later, however often it is asked for, and
// still when the file is again what it was, or did not fit in between.
func TestReviewHoldsForOneContent(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,5KB/week")
	id := l.submit(ada)
	l.put(id, "out/a.txt", "one")
	l.put(id, "out/b.txt", "one")
	l.end(id)
	l.fetched("at first", id, "a.txt=kept b.txt=kept")
	l.reviewed(id, "a.txt", wire.Allow)
	l.reviewed(id, "b.txt", wire.Refuse)
	l.put(id, "out/a.txt", "two")
	l.put(id, "out/b.txt", "two")
	for range 3 {
		if got := l.fetched("changed", id, "a.txt=kept b.txt=kept"); len(got) > 0 {
			t.Fatalf("what nobody reviewed has left: %q", got)
		}
	}
	if got := l.waiting(); got != "a.txt b.txt" {
		t.Errorf("%q waits for a review", got)
	}
	l.open()
	l.put(id, "out/a.txt", "one")
	l.put(id, "out/b.txt", "one")
	if got := l.fetched("as it was", id, "a.txt=released b.txt=refused"); got["a.txt"] != "one" {
		t.Errorf("allowed, and %q comes", got)
	}

	id = l.submit(ada)
	l.put(id, "out/c.txt", strings.Repeat("x", 2500))
	l.end(id)
	l.fetched("at first", id, "c.txt=kept")
	l.reviewed(id, "c.txt", wire.Allow)
	l.put(id, "out/m.pt", strings.Repeat("x", 1000))
	l.get(ada, wire.Request{Do: wire.Results, Job: id, File: "m.pt"})
	l.fetched("without room", id, "c.txt=over m.pt=released")
	counted := l.counted(id)
	l.s.vault.now = func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }
	l.fetched("with room again", id, "c.txt=released m.pt=released")
	if got := l.waiting(); got != "" || l.counted(id) != counted+2500 {
		t.Errorf("%q waits for a review, and %d bytes count", got, l.counted(id)-counted)
	}
}

// A name that could not be read, or was no file of its own, is looked at again: nothing is recorded of the one, and the
// other leaves once it is a file.
func TestFilesAreLookedAtAgain(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	id := l.submit(ada)
	out := filepath.Join(l.s.vault.jobFolder(id), "out")
	l.must(os.Symlink("/etc/passwd", filepath.Join(out, "link.pt")))
	l.end(id)
	l.fetched("a link", id, "link.pt=refused")
	counted := l.counted(id)
	l.fetched("a link still", id, "link.pt=refused")
	if l.counted(id) != counted {
		t.Error("it is counted twice")
	}
	l.must(os.Remove(filepath.Join(out, "link.pt")))
	l.put(id, "out/link.pt", "model")
	if got := l.fetched("a file", id, "link.pt=released"); got["link.pt"] != "model" {
		t.Errorf("%q", got)
	}

	counted = l.counted(id)
	for range 2 { // another node has removed it since the folder was listed
		f, told, err := l.s.result(&look{ctx: t.Context()}, caller{uid: ada, name: "ada"}, wire.Request{Job: id}, l.s.vault.state.Job(id), "gone.pt")
		if err != nil || told || f.State != "" || l.counted(id) != counted {
			t.Errorf("a file that cannot be read: %+v, told %v, %d bytes, %v", f, told, l.counted(id)-counted, err)
		}
	}
	for _, err := range []error{syscall.ESTALE, syscall.EIO, syscall.EMFILE, fs.ErrNotExist} {
		if got := refused(fmt.Errorf("x: %w", err)); !errors.Is(got, errUnread) {
			t.Errorf("%v says something of the file: %v", err, got)
		}
	}
	for _, err := range []error{checkpoint.ErrNotRegular, checkpoint.ErrOwner, checkpoint.ErrName, syscall.EACCES} {
		if got := refused(fmt.Errorf("x: %w", err)); got != nil {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// One request reads so much and no more; the next goes on. A kept file is read again only if it changed, and none once
// sluice-vaultd stops. Folders without end are not walked to their end.
func TestOneRequestEnds(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "500KB/job,900KB/week")
	defer func(was int64) { mostRead = was }(mostRead)
	mostRead = 10_000
	id := l.submit(ada)
	for _, name := range []string{"a", "b", "c", "d"} {
		l.put(id, "out/"+name+".bin", strings.Repeat(name, 4000))
	}
	l.put(id, "out/e.pt", strings.Repeat("e", 30_000))
	l.end(id)
	ask := func(ctx context.Context) (int64, error) {
		l.s.vault.mu.Lock()
		j := l.s.vault.state.Job(id)
		l.s.vault.mu.Unlock()
		look := &look{ctx: ctx}
		for _, name := range []string{"a.bin", "b.bin", "c.bin", "d.bin", "e.pt"} {
			if _, _, err := l.s.result(look, caller{uid: ada, name: "ada"}, wire.Request{Job: id}, j, name); err != nil {
				return look.read, err
			}
		}
		return look.read, nil
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for i, want := range []int64{0, 8000, 8000, 30_000, 0} {
		ctx := t.Context()
		if i == 0 {
			ctx = stopped
		}
		if read, err := ask(ctx); read != want || err != nil {
			t.Errorf("request %d reads %d bytes, want %d (%v)", i, read, want, err)
		}
	}
	l.fetched("in the end", id, "a.bin=kept b.bin=kept c.bin=kept d.bin=kept e.pt=released")
	l.put(id, "out/a.bin", "other")
	if read, err := ask(t.Context()); read != 5 || err != nil {
		t.Errorf("one has changed, and %d bytes are read, %v", read, err)
	}
	if _, err := l.s.results(stopped, caller{uid: ada, name: "ada"}, wire.Request{Job: id}); !errors.Is(err, wire.ErrUnavailable) {
		t.Errorf("sluice-vaultd stops: %v", err)
	}
	for i := range 10 {
		l.must(os.MkdirAll(filepath.Join(l.s.vault.jobFolder(id), "out/f", fmt.Sprint(i)), 0o700))
	}
	dir, err := l.s.own(id, outName)
	l.must(err)
	defer dir.Close()
	for left, want := range map[int]int{3: 3, 5: 5, 15: 5, 16: 5} {
		w := walk{left: left}
		if w.folder(dir, "", 1); len(w.names) != want || w.more != (left < 16) {
			t.Errorf("%d names are looked at: %d files, and more: %v", left, len(w.names), w.more)
		}
	}
}

// A file leaves once. That it has other content since is told, and counted once; what left before comes again.
func TestAFileLeavesOnce(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	l.put(id, "out/a.pt", "model one")
	l.put(id, "out/b.pt", "same size")
	l.end(id)
	want := func(when string, changed bool, costs int64) {
		t.Helper()
		before := l.counted(id)
		a, raw := l.get(ada, wire.Request{Do: wire.Results, Job: id})
		if len(a.Files) != 2 || a.Files[0].Changed != changed || a.Files[1].Changed || l.counted(id) != before+costs {
			t.Errorf("%s: %+v, and %d bytes count", when, a.Files, l.counted(id)-before)
		}
		if got := l.files(raw); got["a.pt"] != "model one" || got["b.pt"] != "same size" {
			t.Errorf("%s: %q", when, got)
		}
	}
	name := vault.NameCost("a.pt")
	want("at first", false, 2*(name+9))
	want("again", false, 0)
	l.open()
	want("after a restart", false, 0)
	l.put(id, "out/a.pt", "model two")
	want("brought back, and ended again", true, vault.ChangeCost)
	want("once more", true, 0)
	l.put(id, "out/a.pt", "model one")
	l.open()
	want("as it was", true, 0)
	l.put(id, "out/b.pt", "longer than it was")
	l.s.vault.state.Job(id).Counted = 5000 // no budget is left
	want("without budget", true, 0)
}

// growing is a context in which a file becomes longer once it is read.
type growing struct {
	context.Context
	grow func()
}

func (g *growing) Err() error {
	if g.grow != nil {
		g.grow()
		g.grow = nil
	}
	return g.Context.Err()
}

// Of a file that becomes too long while it is copied no digest is told: none is counted.
func TestAFileGrows(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	l.put(id, "out/a.pt", "secret")
	l.end(id)
	l.get(ada, wire.Request{Do: wire.Logs, Job: id})
	ctx := &growing{t.Context(), func() { l.put(id, "out/a.pt", strings.Repeat("secret", 1000)) }}
	f, told, err := l.s.result(&look{ctx: ctx}, caller{uid: ada, name: "ada"}, wire.Request{Job: id}, l.s.vault.state.Job(id), "a.pt")
	if err != nil || !told || f.State != wire.FileOver || f.Digest != "" {
		t.Errorf("%+v, told %v, %v", f, told, err)
	}
	entries := l.entries()
	if last := entries[len(entries)-1]; last.File != "a.pt" || last.Digest != f.Digest || last.Size != f.Size {
		t.Errorf("told %+v, and the record has %+v", f, last)
	}
}

// As long as a file has not left its owner can decide otherwise; a file that left, or was never to be reviewed, is not decided about.
func TestOwnersChangeTheirMind(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,5KB/week")
	id := l.submit(ada)
	l.put(id, "out/a.txt", "notes")
	l.put(id, "out/m.pt", strings.Repeat("m", 3000))
	l.end(id)
	l.get(ada, wire.Request{Do: wire.Results, Job: id, File: "a.txt"})
	of := func(text string) wire.Request {
		sum := sha256.Sum256([]byte(text))
		return wire.Request{Do: wire.Review, Name: "mammo", Job: id, File: "a.txt", Order: wire.Allow, Digest: hex.EncodeToString(sum[:4])}
	}
	l.refused(wire.ErrConflict, "other content now", hanna, of("what the owner looked at"))
	l.get(hanna, of("notes"))
	l.reviewed(id, "a.txt", wire.Refuse)
	if got := l.fetched("allowed by mistake", id, "a.txt=refused m.pt=released"); len(got) != 1 {
		t.Errorf("it has left: %q", got)
	}
	l.reviewed(id, "a.txt", wire.Refuse)
	l.reviewed(id, "a.txt", wire.Allow)
	if got := l.fetched("refused by mistake", id, "a.txt=released m.pt=released"); got["a.txt"] != "notes" {
		t.Errorf("%q", got)
	}
	review := func(file string) wire.Request {
		return wire.Request{Do: wire.Review, Name: "mammo", Job: id, File: file, Order: wire.Refuse}
	}
	l.refused(wire.ErrConflict, "has left already", hanna, review("a.txt"))
	l.refused(wire.ErrConflict, "has left already", hanna, review("m.pt"))
	l.refused(wire.ErrNotFound, "waits for your review", hanna, review("x.pt"))

	other := l.submit(bob)
	l.put(other, "out/b.txt", strings.Repeat("b", 3000))
	l.put(other, "out/c.pt", strings.Repeat("c", 9000))
	l.end(other)
	l.get(bob, wire.Request{Do: wire.Results, Job: other})
	l.reviewed(other, "b.txt", wire.Allow)
	l.put(other, "out/d.pt", strings.Repeat("d", 2500))
	l.get(bob, wire.Request{Do: wire.Results, Job: other, File: "d.pt"})
	if a, _ := l.get(bob, wire.Request{Do: wire.Results, Job: other, File: "b.txt"}); states(a.Files)["b.txt"] != wire.FileOver {
		t.Errorf("%+v", a.Files)
	}
	id = other
	l.reviewed(other, "b.txt", wire.Refuse)
	l.refused(wire.ErrNotFound, "waits for your review", hanna, review("c.pt")) // the budget alone holds it up
	l.s.vault.now = func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }
	if a, _ := l.get(bob, wire.Request{Do: wire.Results, Job: other, File: "b.txt"}); states(a.Files)["b.txt"] != wire.FileRefused {
		t.Errorf("with room again: %+v", a.Files)
	}
}
