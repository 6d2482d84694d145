package track

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/slurm"
)

// booksOf are books of a site with the accounts phys and bio.
func booksOf(t *testing.T) *Shares {
	t.Helper()
	sh := new(Shares)
	sh.TookShares([]slurm.Share{{Account: "root"}, {Account: "phys", Parent: "root", Shares: 60}, {Account: "bio", Parent: "root", Shares: 40}}, nil, time.Time{})
	return sh
}

// save stores what is unsaved, and returns it.
func save(t *testing.T, sh *Shares, kept *journal.Memory) []journal.Credit {
	t.Helper()
	unsaved, due := sh.UnsavedCredits()
	if !due {
		return nil
	}
	if err := kept.SaveCredits(t.Context(), unsaved); err != nil {
		t.Fatal(err)
	}
	sh.SavedCredits(unsaved)
	return unsaved
}

// recalled are the books of a daemon that starts with this journal.
func recalled(t *testing.T, kept *journal.Memory, halfLife time.Duration, now time.Time) *Shares {
	t.Helper()
	sh := booksOf(t)
	rows, err := kept.Credits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sh.RecallCredits(rows)
	sh.book(halfLife, now)
	sh.recall(now)
	return sh
}

// TestBooksOutliveARestart: what users had less than they deserved is what it was, decayed for the
// time that the daemon was away, in which nothing is booked. At most a minute of it is lost.
func TestBooksOutliveARestart(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for name, c := range map[string]struct {
		halfLife, away time.Duration
		want           float64 // ann's credit, GPU-hours, of 2
	}{
		"at once":             {week, 0, 2},
		"after a half-life":   {week, week, 1},
		"after two":           {week, 2 * week, .5},
		"it never decays":     {0, 52 * week, 2},
		"the clock went back": {week, -time.Hour, 2},
	} {
		kept, now := new(journal.Memory), time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		sh := booksOf(t)
		sh.book(c.halfLife, now)
		sh.Last = divided(4, 10)
		save(t, sh, kept)
		for range 60 {
			now = now.Add(time.Minute)
			sh.book(c.halfLife, now)
			save(t, sh, kept)
		}
		now = now.Add(c.away)
		sh = recalled(t, kept, c.halfLife, now)
		if ann, bob := sh.credit.Credit("phys", "ann")/3600, sh.credit.Credit("bio", "bob")/3600; math.Abs(ann-c.want) > .01 || math.Abs(bob+c.want) > .01 {
			t.Errorf("%s: credits of %v and %v GPU-hours, want %v and %v", name, ann, bob, c.want, -c.want)
		}
		before := sh.credit.Credit("phys", "ann")
		if sh.recall(now); sh.credit.Credit("phys", "ann") != before {
			t.Errorf("%s: it counts twice", name)
		}
		if rows := save(t, sh, kept); len(rows) > 0 {
			t.Errorf("%s: written again: %v", name, rows)
		}
	}
}

// TestBooksAreWrittenSeldom: at most once a minute, and only what changed by more than it decays.
func TestBooksAreWrittenSeldom(t *testing.T) {
	kept, now := new(journal.Memory), time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	sh := booksOf(t)
	writes := 0
	cycles := func(n int, every time.Duration) {
		for range n {
			now = now.Add(every)
			sh.book(7*24*time.Hour, now)
			if len(save(t, sh, kept)) > 0 {
				writes++
			}
		}
	}
	sh.Last = divided(4, 10)
	if cycles(600, time.Second); writes < 9 || writes > 11 {
		t.Errorf("%d writes in 10 minutes of contention", writes)
	}
	sh.Last = claim.Claims{}
	cycles(1, time.Minute)
	writes = 0
	if cycles(1000, 30*time.Second); writes > 0 {
		t.Errorf("%d writes while nothing is booked", writes)
	}
	sh.Last = divided(6, 10) // each has what it deserves
	if cycles(100, 30*time.Second); writes > 0 {
		t.Errorf("%d writes while each has what it deserves", writes)
	}
	sh.Last = claim.Claims{}
	cycles(40, 7*24*time.Hour) // until nothing is left
	if rows, err := kept.Credits(t.Context()); err != nil || len(rows) > 0 {
		t.Errorf("%v, %v are left of the books", rows, err)
	}
}

// TestBooksOfInventedAccounts: the journal has credits of accounts in the tree only, and of these not
// more in one write than a bound. Without a tree it keeps what it has.
func TestBooksOfInventedAccounts(t *testing.T) {
	kept, now := new(journal.Memory), time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	if err := kept.SaveCredits(t.Context(), []journal.Credit{
		{CreditKey: journal.CreditKey{Account: "phys", User: "ann"}, Seconds: 7200, At: now}, {CreditKey: journal.CreditKey{Account: "gone", User: "ann"}, Seconds: 7200, At: now},
	}); err != nil {
		t.Fatal(err)
	}
	sh := recalled(t, kept, 0, now)
	tree := sh.Tree
	sh.Tree = nil
	if rows := save(t, sh, kept); rows != nil {
		t.Errorf("without a tree: %v", rows)
	}
	sh.Tree = tree
	sh.credit.Put("invented", "eve", 1e6)
	for i := range 2 * mostCredits {
		sh.credit.Put("bio", fmt.Sprint("u", i), 1e4+float64(i))
	}
	if rows := save(t, sh, kept); len(rows) != mostCredits || rows[0].User != fmt.Sprint("u", 2*mostCredits-1) {
		t.Errorf("%d rows in one write, first %v", len(rows), rows[:min(1, len(rows))])
	}
	for range 3 {
		now = now.Add(time.Minute)
		sh.book(0, now)
		save(t, sh, kept)
	}
	rows, err := kept.Credits(t.Context())
	if err != nil || len(rows) != 2*mostCredits+1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if !tree.Has(r.Account) {
			t.Errorf("%+v", r)
		}
	}
}

// TestBooksBeforeTheHalfLifeIsKnown: what the journal had is not deleted before it was taken up.
func TestBooksBeforeTheHalfLifeIsKnown(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	sh := booksOf(t)
	sh.RecallCredits([]journal.Credit{{CreditKey: journal.CreditKey{Account: "phys", User: "ann"}, Seconds: 7200, At: now}})
	sh.book(0, now)
	if rows, due := sh.UnsavedCredits(); rows != nil || due {
		t.Errorf("%v, %v", rows, due)
	}
}
