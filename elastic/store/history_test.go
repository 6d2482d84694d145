package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/past"
)

// history opens a new history in a folder that a store has prepared.
func history(t *testing.T) (*History, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.db")
	h, notice, err := OpenHistory(never, path, noon)
	if err != nil || notice != "" {
		t.Fatal(notice, err)
	}
	t.Cleanup(func() { h.Close() })
	return h, path
}

// all reads every page of a query.
func all(t *testing.T, h *History, q past.Query) (out []past.Entry) {
	t.Helper()
	for {
		page, err := h.Entries(never, q)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page...)
		if len(page) < q.Most {
			return out
		}
		q.AfterAt, q.AfterID = page[len(page)-1].At, page[len(page)-1].ID
	}
}

// Entries are read in order of time and in pages, whatever order they were added in: of a range, of a
// kind, of one job.
func TestHistoryEntries(t *testing.T) {
	h, _ := history(t)
	var add []past.Entry
	for i := range 50 {
		kind := past.Decisions
		if i%5 == 0 {
			kind = past.Moves
		}
		add = append(add, past.Entry{Kind: kind, At: noon.Add(time.Duration((i*7)%50/2) * time.Minute), Job: elastic.JobID(i % 3), UID: uint32(i), User: "ann", Body: fmt.Append(nil, i)})
	}
	add = append(add, past.Entry{Kind: past.Decisions, At: noon, Body: make([]byte, past.MostBody+1)})
	if err := h.Add(never, add, nil, noon); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{1, 3, 100} {
		got := all(t, h, past.Query{Kind: past.Decisions, From: noon, To: noon.Add(time.Hour), Most: most})
		if len(got) != 40 {
			t.Errorf("in pages of %d: %d entries", most, len(got))
		}
		for i, e := range got[1:] {
			if e.At.Before(got[i].At) {
				t.Errorf("in pages of %d: %v after %v", most, e.At, got[i].At)
			}
		}
	}
	some := all(t, h, past.Query{Kind: past.Decisions, From: noon.Add(5 * time.Minute), To: noon.Add(10 * time.Minute), Most: 4})
	for _, e := range some {
		if e.At.Before(noon.Add(5*time.Minute)) || !e.At.Before(noon.Add(10*time.Minute)) || string(e.Body) != fmt.Sprint(e.UID) || e.User != "ann" {
			t.Errorf("%+v", e)
		}
	}
	if len(some) != 8 {
		t.Errorf("%d entries in five minutes", len(some))
	}
	for _, e := range all(t, h, past.Query{Kind: past.Moves, From: noon, To: noon.Add(time.Hour), Job: 2, Most: 2}) {
		if e.Job != 2 || e.Kind != past.Moves {
			t.Errorf("%+v", e)
		}
	}
}

// Samples are thinned with age, the oldest entries go, and nothing that is young does.
func TestHistoryThins(t *testing.T) {
	h, _ := history(t)
	now := noon.AddDate(0, 0, 100)
	var samples []past.Sample
	for age := time.Duration(0); age < 12*24*time.Hour; age += time.Minute {
		samples = append(samples, past.Sample{Kind: past.Clusters, At: now.Add(-age), Seconds: 60, Body: []byte("x")})
	}
	empty := []byte("{}")
	old := []past.Entry{{Kind: past.Moves, At: now.Add(-past.Keep - 1), Body: empty}, {Kind: past.Decisions, At: now.Add(-past.Keep - 1), Body: empty}, {Kind: past.Decisions, At: now.Add(-past.Keep), Body: empty}}
	if err := errors.Join(h.Add(never, old, samples, now), h.Add(never, nil, []past.Sample{{Kind: past.Shares, At: noon, Body: nil}}, now), h.Thin(never, now), h.Thin(never, now)); err != nil {
		t.Fatal(err)
	}
	got, err := h.Samples(never, past.Query{Kind: past.Clusters, From: noon, To: now.Add(time.Hour), Most: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	minutes, tens, hours := 24*60, 7*24*6, 4*24
	if n := len(got); n < minutes+tens+hours-20 || n > minutes+tens+hours+20 {
		t.Errorf("%d samples of %d are left, want about %d", n, len(samples), minutes+tens+hours)
	}
	for i, s := range got[1:] {
		if gap := s.At.Sub(got[i].At).Seconds(); gap > got[i].Seconds+1 && now.Sub(s.At) > 25*time.Hour && now.Sub(s.At) < 7*24*time.Hour {
			t.Errorf("the sample of %v stands for %v s, and the next comes after %v s", got[i].At, got[i].Seconds, gap)
		}
	}
	if left := all(t, h, past.Query{Kind: past.Decisions, From: noon, To: now, Most: 9}); len(left) != 1 {
		t.Errorf("%d decisions are left", len(left))
	}
	if left, err := h.Samples(never, past.Query{Kind: past.Shares, From: noon, To: now, Most: 9}); len(left) != 0 || err != nil {
		t.Errorf("%d old samples are left, %v", len(left), err)
	}
}

// What SQLite compressed for the store is read back, and takes a part of its size: 1000 nodes.
func TestHistorySamplesAreSmall(t *testing.T) {
	h, path := history(t)
	var c past.Cluster
	for i := range 1000 {
		c.Nodes = append(c.Nodes, past.Node{Name: fmt.Sprintf("gpu%04d", i), GPUs: 8, Used: i % 9, Elastic: i % 5, Free: 8 - i%9})
	}
	body, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var samples []past.Sample
	for i := range 100 {
		samples = append(samples, past.Sample{Kind: past.Clusters, At: noon.Add(time.Duration(i) * time.Minute), Seconds: 60, Body: body})
	}
	if err := h.Add(never, nil, samples, noon); err != nil {
		t.Fatal(err)
	}
	got, err := h.Samples(never, past.Query{Kind: past.Clusters, From: noon, To: noon.Add(time.Hour), Most: 1})
	if err != nil || len(got) != 1 || string(got[0].Body) != string(body) {
		t.Fatalf("%d samples, %v", len(got), err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > int64(len(samples)*len(body)/4) {
		t.Errorf("%d bytes for %d of samples, %v", info.Size(), len(samples)*len(body), err)
	}
	t.Logf("%d bytes a sample of 1000 nodes", info.Size()/int64(len(samples)))
}

// It is kept over a restart. A file that is no database, one of a newer sluice, and one whose damage is found
// only later are set aside, and an empty one is started.
func TestHistoryIsSetAside(t *testing.T) {
	h, path := history(t)
	entry := past.Entry{Kind: past.Moves, At: noon, Body: []byte("{}")}
	if err := errors.Join(h.Add(never, []past.Entry{entry}, nil, noon), h.Close()); err != nil {
		t.Fatal(err)
	}
	q := past.Query{Kind: past.Moves, From: noon, To: noon.Add(time.Hour), Most: 9}
	h, notice, err := OpenHistory(never, path, noon)
	if err != nil || notice != "" || len(all(t, h, q)) != 1 {
		t.Fatalf("opened again: %q, %v", notice, err)
	}
	if _, err := h.db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	h.Close()
	h, notice, err = OpenHistory(never, path, noon)
	if err != nil || !strings.Contains(notice, "schema 99") || len(all(t, h, q)) != 0 {
		t.Fatalf("of a newer sluice: %q, %v", notice, err)
	}
	h.Close()
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	h, notice, err = OpenHistory(never, path, noon)
	if err != nil || !strings.Contains(notice, "an empty one is started") {
		t.Fatalf("no database: %q, %v", notice, err)
	}
	t.Cleanup(func() { h.Close() })
	h.Told = func(text string) { notice = text }
	if err := h.explain("read history", damaged(sortRows, "a row is not what it was")); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if err := h.Add(never, []past.Entry{entry}, nil, noon.Add(time.Hour)); err != nil || len(all(t, h, q)) != 1 {
		t.Errorf("after damage: %v", err)
	}
	if !strings.Contains(notice, "a row is not what it was") || !strings.Contains(notice, ".corrupt-20") {
		t.Errorf("said after damage: %q", notice)
	}
	first, err1 := filepath.Glob(path + ".corrupt-*-history")
	second, err2 := filepath.Glob(path + ".corrupt-*-history-2")
	if aside := append(first, second...); len(aside) != 3 || err1 != nil || err2 != nil {
		t.Errorf("set aside: %v", aside)
	}
}

// TestDamagedSampleIsNoticed: a sample that cannot be unpacked is damage, like any other. The next Add starts an empty
// file; while that is impossible it says where the damaged one is, and tries again.
func TestDamagedSampleIsNoticed(t *testing.T) {
	h, path := history(t)
	told := 0
	h.Told = func(string) { told++ }
	sample := past.Sample{Kind: past.Clusters, At: noon, Seconds: 60, Body: []byte(strings.Repeat("n1 has 8 GPUs ", 99))}
	if err := h.Add(never, nil, []past.Sample{sample}, noon); err != nil {
		t.Fatal(err)
	}
	q := past.Query{Kind: past.Clusters, From: noon, To: noon.Add(time.Hour), Most: 9}
	for name, body := range map[string]string{"cut off": "substr(body, 1, length(body) / 2)", "another": "x'ffffff'"} {
		if _, err := h.db.Exec("UPDATE samples SET body = " + body); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Samples(never, q); len(got) > 0 || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err := h.Add(never, nil, []past.Sample{sample}, noon); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Samples(never, q); len(got) != 1 || err != nil {
			t.Errorf("%s, afterwards: %v, %v", name, got, err)
		}
	}
	if told != 2 {
		t.Errorf("told %d times", told)
	}
	if _, err := h.db.Exec("UPDATE samples SET body = x'ffffff'"); err != nil {
		t.Fatal(err)
	}
	_, _ = h.Samples(never, q)
	stopped, stop := context.WithCancel(never)
	stop()
	if err := h.Add(stopped, nil, []past.Sample{sample}, noon); err == nil || !strings.Contains(err.Error(), path+".corrupt-") {
		t.Errorf("no empty file can be opened: %v", err)
	}
	if err := h.Add(never, nil, []past.Sample{sample}, noon); err != nil || told != 3 {
		t.Errorf("and then it can: %v, told %d times", err, told)
	}
}

// TestHistoryIsLeftAlone: what is not damaged stays where it is, whatever keeps it from being opened.
func TestHistoryIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	h, notice, err := OpenHistory(t.Context(), path, time.Now())
	if h != nil || notice != "" || !errors.Is(err, ErrForeign) {
		t.Errorf("%v, %q, %v", h, notice, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// Every statement is found by an index: a page does not read the history of three months.
func TestHistoryUsesIndexes(t *testing.T) {
	h, _ := history(t)
	for query, args := range map[string][]any{
		pageOfEntries: {"x", 1, 1, 2, 3}, pageOfJob: {"x", 7, 1, 1, 2, 3}, pageOfSamples: {"x", 1, 2, 3}, pruneOldEntries: {"x", 1},
	} {
		rows, err := h.db.QueryContext(never, "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil || !strings.Contains(detail, "SEARCH") {
				t.Errorf("%s: %q, %v", query, detail, err)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
	}
}
