package main

import (
	"strings"
	"testing"
	"time"

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
