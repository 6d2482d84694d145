package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/attempts"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// What the nodes of a job counted is in the record when its owner asks, and when it has ended; what runs is looked
// at in between.
func TestAttemptsAreRecorded(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	at := time.Unix(1_800_000_000, 0)
	count := func(node string, n int64) {
		var c attempts.Counts
		c.Add("ptrace", "python3", n, at, at.Add(time.Second))
		l.put(id, attempts.Prefix+node+attempts.Suffix, string(c.Data()))
	}
	told := func() (all []vault.Entry) {
		for _, e := range l.entries() {
			if e.Event == vault.Attempted {
				all = append(all, e)
			}
		}
		return all
	}
	gather := func(words string, entries int, sum int64) {
		t.Helper()
		all := told()
		if len(all) != entries {
			t.Fatalf("%s: %d entries, want %d", words, len(all), entries)
		}
		if e := all[entries-1]; len(e.Attempts) != 1 || e.Attempts[0].Count != sum || e.By != "ada" || e.JobID != 1 || !e.Attempts[0].First.Equal(at) {
			t.Errorf("%s: %+v", words, e)
		}
	}
	count("gpu1", 3)
	l.must(l.s.gather(false, l.s.recent("")...))
	gather("it runs", 1, 3)
	count("gpu2", 2)
	l.must(l.s.gather(false, l.s.recent("")...))
	gather("a few more", 1, 3)
	if audit, lines := l.get(hanna, wire.Request{Do: wire.Audit, Name: "mammo"}); !audit.Whole || !strings.Contains(lines, `"attempts":[{"call":"ptrace","process":"python3","count":5`) {
		t.Errorf("audit: %+v %s", audit, lines)
	}
	gather("its owner asks", 2, 5)
	l.get(hanna, wire.Request{Do: wire.Audit, Name: "mammo"})
	gather("its owner asks again", 2, 5)
	count("gpu1", 4)
	l.end(id)
	l.get(ada, wire.Request{Do: wire.Logs, Job: id})
	gather("it has ended", 3, 6)
	count("gpu2", 3) // seen late
	for range 2 {
		l.s.minute(t.Context(), nil)
		gather("a minute after its end", 4, 7)
	}
	l.open()
	l.put(id, attempts.Prefix+"gpu3"+attempts.Suffix, "torn")
	l.get(hanna, wire.Request{Do: wire.Audit, Name: "mammo"})
	if all := told(); len(all) != 5 || all[4].Uncounted != string(attempts.Lost) {
		t.Errorf("an unreadable file: %+v", all)
	}
	l.refused(wire.ErrDenied, "belongs to hanna", ada, wire.Request{Do: wire.Audit, Name: "mammo"}) // users learn nothing of it
}

// Denied calls of a job on data of several owners come into the record once it has ended, also if sluice-vaultd is stopped between
// the entry of its end and theirs, and started a day later.
func TestKilledBeforeAttempts(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	l.get(ada, wire.Request{Do: wire.Add, Set: &wire.Set{Name: "lungs", Path: filepath.Join(l.dir, "sets/lungs"), Readers: []string{"bob"}, Release: "50KB/job,50KB/week"}})
	text := strings.Replace(script, "--data=mammo", "--data=mammo,lungs", 1)
	a, _ := l.get(bob, wire.Request{Do: wire.Submit, Data: []string{"mammo", "lungs"}, Script: "train.sh", ScriptSize: int64(len(text))}, text)
	var c attempts.Counts
	c.Add("ptrace", "python3", 9, time.Unix(1_800_000_000, 0), time.Unix(1_800_000_001, 0))
	l.put(a.ID, attempts.Prefix+"gpu1"+attempts.Suffix, string(c.Data()))
	l.s.minute(t.Context(), nil)
	l.s.vault.mu.Lock()
	l.must(l.s.vault.write(vault.Entry{Event: vault.Ended, Job: a.ID}))
	l.s.vault.mu.Unlock()
	l.end(a.ID)
	l.open()
	later := func() time.Time { return time.Now().Add(24 * time.Hour) }
	l.s.vault.now = later
	ctx, stop := context.WithCancel(t.Context())
	stop()
	l.s.minutely(ctx)
	entries := l.entries()
	if last := entries[len(entries)-1]; last.Event != vault.Attempted || last.Job != a.ID || len(last.Attempts) != 1 || last.Attempts[0].Count != 8 {
		t.Errorf("%+v", last)
	}
}
