package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// failing is SQLite whose n-th statement, row or commit fails, from 0; none if negative.
type failing struct {
	path string
	at   int
	seen int
	what string // the one that failed
}

func (f *failing) next(what string) error {
	f.seen++
	if f.seen-1 != f.at {
		return nil
	}
	f.what = what
	return sqlite3.Error{Code: sqlite3.ErrIoErr}
}

func (f *failing) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (f *failing) Connect(context.Context) (driver.Conn, error) {
	c, err := f.Driver().Open(source(f.path, time.Second))
	if err != nil {
		return nil, err
	}
	return failingConn{c.(*sqlite3.SQLiteConn), f}, nil
}

type failingConn struct {
	*sqlite3.SQLiteConn
	f *failing
}

func (c failingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.f.next(query); err != nil {
		return nil, err
	}
	rows, err := c.SQLiteConn.QueryContext(ctx, query, args)
	return failingRows{rows, c.f, query}, err
}

func (c failingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.f.next(query); err != nil {
		return nil, err
	}
	return c.SQLiteConn.ExecContext(ctx, query, args)
}

func (c failingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.f.next("begin"); err != nil {
		return nil, err
	}
	tx, err := c.SQLiteConn.BeginTx(ctx, opts)
	return failingTx{tx, c.f}, err
}

type failingTx struct {
	driver.Tx
	f *failing
}

func (t failingTx) Commit() error {
	if err := t.f.next("commit"); err != nil {
		return errors.Join(t.Rollback(), err)
	}
	return t.Tx.Commit()
}

type failingRows struct {
	driver.Rows
	f     *failing
	query string
}

func (r failingRows) Next(into []driver.Value) error {
	if err := r.f.next("a row of " + r.query); err != nil {
		return err
	}
	return r.Rows.Next(into)
}

// contents returns everything in a store's tables.
func contents(t *testing.T, db *sql.DB) string {
	t.Helper()
	names, err := db.Query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for names.Next() {
		var name string
		if err := names.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	var out strings.Builder
	for _, name := range tables {
		rows, err := db.Query("SELECT * FROM " + name)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		var lines []string
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%v", values))
		}
		slices.Sort(lines)
		fmt.Fprintln(&out, name, lines)
	}
	return out.String()
}

// calls are the store's calls, on a store with something in every table.
func calls(s *Store) []struct {
	name string
	do   func() error
} {
	ctx := context.Background()
	mine := func(job elastic.JobID) elastic.Intent {
		in := contract.Intent(job)
		in.ID = int64(job)
		return in
	}
	late := contract.Job("b", 2)
	late.Ended = noon
	complaint := func(node string) elastic.Complaint {
		return elastic.Complaint{Sighting: elastic.Sighting{Node: node, GPU: "0", UID: 7, Unfit: "XID 79"}, First: noon, Last: noon}
	}
	sample := speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: 1, Units: 1, At: noon}
	answer := func(uid uint32, at time.Time) journal.Answer {
		return journal.Answer{UID: uid, Key: "script/x", At: at}
	}
	credit := func(user string, seconds float64) journal.Credit {
		return journal.Credit{CreditKey: journal.CreditKey{Account: "phys", User: user}, Seconds: seconds, At: noon}
	}
	return []struct {
		name string
		do   func() error
	}{
		{"Intend", func() error {
			_, err := s.Intend(ctx, []elastic.Intent{contract.Intent(1), contract.Intent(2)})
			return err
		}},
		{"Advance", func() error { return s.Advance(ctx, mine(1)) }},
		{"Close", func() error { return s.Close(ctx, mine(2), elastic.Done, nil, noon) }},
		{"Open", func() error { _, err := s.Open(ctx); return err }},
		{"Written", func() error { _, err := s.Written(ctx); return err }},
		{"SaveJobs", func() error { return s.SaveJobs(ctx, []journal.JobRecord{contract.Job("a", 1), late}) }},
		{"SaveJobs again", func() error { return s.SaveJobs(ctx, []journal.JobRecord{late}) }},
		{"Jobs", func() error { _, err := s.Jobs(ctx, time.Time{}); return err }},
		{"SaveSegments", func() error { return s.SaveSegments(ctx, []journal.Segment{{Token: "b"}, {Token: "b", Restarts: 1}}) }},
		{"SaveSegments again", func() error {
			return s.SaveSegments(ctx, []journal.Segment{{Token: "b", Cause: reason.UserAskedRequeue}})
		}},
		{"Segments", func() error { _, err := s.Segments(ctx, "b"); return err }},
		{"SaveHealth", func() error { return s.SaveHealth(ctx, elastic.Health{complaint("n1"), complaint("n2")}) }},
		{"SaveHealth again", func() error { return s.SaveHealth(ctx, elastic.Health{complaint("n2"), complaint("n3")}) }},
		{"Health", func() error { _, err := s.Health(ctx); return err }},
		{"SaveAnswers", func() error { return s.SaveAnswers(ctx, []journal.Answer{answer(7, noon), answer(8, noon)}) }},
		{"SaveAnswers again", func() error {
			return s.SaveAnswers(ctx, []journal.Answer{answer(7, noon.Add(1)), answer(8, time.Time{})})
		}},
		{"Answers", func() error { _, err := s.Answers(ctx); return err }},
		{"SaveCredits", func() error { return s.SaveCredits(ctx, []journal.Credit{credit("a", 5), credit("b", -5)}) }},
		{"SaveCredits again", func() error { return s.SaveCredits(ctx, []journal.Credit{credit("a", 7), credit("b", 0)}) }},
		{"Credits", func() error { _, err := s.Credits(ctx); return err }},
		{"AddSamples", func() error { return s.AddSamples(ctx, "user:7/model:m/epoch", []speed.Sample{sample, sample}) }},
		{"AddSamples of a job", func() error { return s.AddSamples(ctx, "job:b/epoch", []speed.Sample{sample}) }},
		{"Samples", func() error { _, err := s.Samples(ctx, "user:7/model:m/epoch", 9); return err }},
		{"Newest", func() error { _, err := s.Newest(ctx); return err }},
		{"ForgetOwn", func() error { return s.ForgetOwn(ctx, noon.Add(time.Hour)) }},
		{"Prune", func() error { return s.Prune(ctx, noon.Add(time.Hour)) }},
		{"count an opening", func() error { _, err := s.countOpening(ctx, false); return err }},
	}
}

// TestEveryStatementFails: if any statement of a call, or any row that it reads, fails, the
// call returns an error and has changed nothing.
func TestEveryStatementFails(t *testing.T) {
	s := must(t, filepath.Join(t.TempDir(), "state", "sluice.db"))
	plain, f := s.db, &failing{path: s.path}
	s.db = sql.OpenDB(f)
	s.db.SetMaxOpenConns(1)
	t.Cleanup(func() { s.db.Close(); s.db = plain })
	tried := 0
	for _, call := range calls(s) {
		for n := 0; ; n++ {
			before := contents(t, plain)
			f.at, f.seen, f.what = n, 0, ""
			err := call.do()
			if f.what == "" {
				if err != nil {
					t.Fatalf("%s: %v", call.name, err)
				}
				break
			}
			tried++
			if !errors.Is(err, ErrDisk) {
				t.Errorf("%s, where %.60q fails: %v", call.name, f.what, err)
			}
			if after := contents(t, plain); after != before {
				t.Errorf("%s, where %.60q fails, changes\n%sto\n%s", call.name, f.what, before, after)
			}
		}
	}
	if tried < 150 {
		t.Errorf("%d failures tried", tried)
	}
	if err := verify(t.Context(), plain, tables); err != nil {
		t.Error(err)
	}
}

// TestEveryStatementOfAStartFails: the same for what checks a store and migrates it, from an
// empty file and from earlier schemas: it is unchanged, or up to date. What stores the schema a
// second time may be missing. Of the statements for each row some are tried.
func TestEveryStatementOfAStartFails(t *testing.T) {
	for _, from := range []string{"", "schema2", "schema3", "schema5"} {
		m, let := image{}, 0
		if from != "" {
			m, _ = earlier(t, from)
		}
		_, was, is, err := failingStart(t, m, -1)
		if err != nil || was == is {
			t.Fatalf("%s: %v", from, err)
		}
		for n := 0; ; n += 1 + n/30 {
			what, before, after, err := failingStart(t, m, n)
			switch {
			case what == "" && err != nil:
				t.Errorf("%s: %v", from, err)
			case what != "" && err == nil && strings.HasSuffix(what, selectTally) && let < 2 && after == is:
				let++
			case what != "" && !errors.Is(err, ErrDisk):
				t.Errorf("%s, where number %d, %.60q, fails: %v", from, n, what, err)
			case what != "" && after != before && after != is:
				t.Errorf("%s, where number %d, %.60q, fails, changes\n%sto\n%s", from, n, what, before, after)
			}
			if what == "" {
				break
			}
		}
	}
}

// failingStart checks a copy of a store, whose n-th statement fails.
func failingStart(t *testing.T, m image, n int) (what, before, after string, failed error) {
	t.Helper()
	root := t.TempDir()
	if err := m.write(root, flip{}); err != nil {
		t.Fatal(err)
	}
	f := &failing{path: newStory(root).path, at: n}
	plain, err := sql.Open("sqlite3", source(f.path, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	before = contents(t, plain)
	db := sql.OpenDB(f)
	db.SetMaxOpenConns(1)
	failed = checkAll(t.Context(), db, f.path)
	after = contents(t, plain)
	if err := errors.Join(db.Close(), plain.Close()); err != nil {
		t.Fatal(err)
	}
	return f.what, before, after, failed
}
