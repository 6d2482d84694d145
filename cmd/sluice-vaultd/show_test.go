package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// An owner can look at a file that waits, if it can contain no data but theirs. It is in the record before it is sent, counts
// nothing, and is what was told of.
func TestOwnersLook(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,50KB/week")
	id := l.submit(ada)
	l.put(id, "out/sub/notes.txt", "notes")
	l.put(id, "out/model.pt", "model")
	l.end(id)
	look := func(file string) wire.Request {
		return wire.Request{Do: wire.Review, Name: "mammo", Job: id, File: file}
	}
	l.refused(wire.ErrNotFound, "waits for your review", hanna, look("sub/notes.txt")) // its user has not asked for it
	l.get(ada, wire.Request{Do: wire.Results, Job: id})
	counted := l.counted(id)
	a, raw := l.get(hanna, look("sub/notes.txt"))
	if got := l.files(raw); len(got) != 1 || got["sub/notes.txt"] != "notes" || len(a.Files) != 1 || a.Files[0].State != wire.FileKept || a.Files[0].Size != 5 {
		t.Errorf("%q, %+v", got, a)
	}
	entries := l.entries()
	if last := entries[len(entries)-1]; last.Event != vault.Shown || last.By != "hanna" || last.File != "sub/notes.txt" || last.Digest != a.Files[0].Digest || l.counted(id) != counted {
		t.Errorf("%+v, and %d bytes count", last, l.counted(id)-counted)
	}
	for _, uid := range []uint32{ada, bob} {
		l.refused(wire.ErrDenied, "belongs to hanna", uid, look("sub/notes.txt"))
	}
	l.refused(wire.ErrNotFound, "no data set", eve, look("sub/notes.txt"))
	l.refused(wire.ErrConflict, "has left already", hanna, look("model.pt"))
	l.put(id, "out/sub/notes.txt", "other")
	l.refused(wire.ErrConflict, "has other content", hanna, look("sub/notes.txt"))
	path := filepath.Join(l.s.vault.jobFolder(id), "out/sub/notes.txt")
	long := func(when string, size int64) { // to read it all would take hours
		t.Helper()
		l.must(os.Truncate(path, size))
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := l.s.showFile(ctx, caller{uid: hanna, name: "hanna"}, look("sub/notes.txt")); !errors.Is(err, wire.ErrConflict) {
			t.Errorf("%s: %v", when, err)
		}
	}
	long("it is longer now", 1<<43)
	l.put(id, "out/sub/notes.txt", "notes")
	l.reviewed(id, "sub/notes.txt", wire.Refuse)
	l.put(id, "out/sub/notes.txt", "notes")
	l.must(os.Truncate(path, 1<<42))
	l.get(ada, wire.Request{Do: wire.Results, Job: id}) // it is too long for the budget, and not even read
	long("it was not read", 1<<42)
	l.put(id, "out/sub/notes.txt", "notes")
	if _, raw := l.get(hanna, look("sub/notes.txt")); l.files(raw)["sub/notes.txt"] != "notes" {
		t.Errorf("it is as it was: %q", raw)
	}
	l.must(os.Remove(path))
	l.must(os.Symlink("/etc/passwd", path))
	l.refused(wire.ErrUnavailable, "cannot be read", hanna, look("sub/notes.txt"))

	l.get(ada, wire.Request{Do: wire.Add, Set: &wire.Set{Name: "lungs", Path: filepath.Join(l.dir, "sets/lungs"), Readers: []string{"bob"}, Release: "50KB/job,50KB/week"}})
	text := strings.Replace(script, "--data=mammo", "--data=mammo,lungs", 1)
	both, _ := l.get(bob, wire.Request{Do: wire.Submit, Data: []string{"mammo", "lungs"}, Script: "train.sh", ScriptSize: int64(len(text))}, text)
	id = both.ID
	l.put(id, "out/both.txt", "of both")
	l.end(id)
	l.get(bob, wire.Request{Do: wire.Results, Job: id})
	l.refused(wire.ErrDenied, "data of another owner", hanna, look("both.txt"))
	l.open() // the record holds
}
