package track

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// The books are written at most once in creditsPeriod, and of them what differs from the journal by
// creditsStep or more, at most mostCredits users, those with the largest differences first: so one
// write stays short whatever the number of users.
const (
	creditsPeriod = time.Minute
	creditsStep   = 60.0 // GPU-seconds; a turn changes after share.Quantum
	mostCredits   = 500
)

// creditsKept is what the journal has of the books.
type creditsKept struct {
	rows   map[journal.CreditKey]journal.Credit
	at     time.Time // when it was compared last; zero = not since the start
	recall []journal.Credit
}

// RecallCredits takes what the journal has at the start. It counts in the books once the half-life is
// known (see recall).
func (sh *Shares) RecallCredits(rows []journal.Credit) {
	sh.kept.rows = make(map[journal.CreditKey]journal.Credit, len(rows))
	for _, r := range rows {
		sh.kept.rows[r.CreditKey] = r
	}
	sh.kept.recall = rows
}

// recall adds to the books what the journal had, decayed for the time since it was written.
func (sh *Shares) recall(now time.Time) {
	for _, r := range sh.kept.recall {
		sh.credit.Put(r.Account, r.User, sh.credit.Credit(r.Account, r.User)+sh.left(r, now))
	}
	sh.kept.recall = nil
}

// left returns what is left of a credit.
func (sh *Shares) left(c journal.Credit, now time.Time) float64 {
	return c.Seconds * sh.credit.Left(now.Sub(c.At))
}

// change is a credit that the journal is to have, and by how much that differs from what it has.
type change struct {
	journal.Credit
	by float64
}

// UnsavedCredits returns what the journal is to have of the books, if they are due to be compared with
// it. Accounts that are not in the tree have none there: users could invent them. A credit of 0 means
// that its row is to be deleted. It is not due while there is no tree, while the journal's credits
// are not in the books yet, and for creditsPeriod after the last comparison.
func (sh *Shares) UnsavedCredits() (unsaved []journal.Credit, due bool) {
	tree, since := sh.InForce(), sh.upTo.Sub(sh.kept.at)
	if tree == nil || sh.credit == nil || len(sh.kept.recall) > 0 || !sh.kept.at.IsZero() && since >= 0 && since < creditsPeriod {
		return nil, false
	}
	var all []change
	listed := map[journal.CreditKey]bool{}
	for _, e := range sh.credit.Entries() {
		key := journal.CreditKey{Account: e.Account, User: e.User}
		if !tree.Has(e.Account) {
			continue
		}
		listed[key] = true
		if by := math.Abs(e.Credit - sh.left(sh.kept.rows[key], sh.upTo)); by >= creditsStep {
			all = append(all, change{journal.Credit{CreditKey: key, Seconds: e.Credit, At: sh.upTo}, by})
		}
	}
	for key, row := range sh.kept.rows {
		if !listed[key] {
			all = append(all, change{journal.Credit{CreditKey: key}, math.Abs(row.Seconds)})
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		return cmp.Or(cmp.Compare(b.by, a.by), cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User))
	})
	out := make([]journal.Credit, min(len(all), mostCredits))
	for i := range out {
		out[i] = all[i].Credit
	}
	return out, true
}

// SavedCredits records that the journal has these now. It MUST be called AFTER each comparison, also
// one without a difference. saved MUST be what UnsavedCredits returned, and MUST be in the journal
// BEFORE.
func (sh *Shares) SavedCredits(saved []journal.Credit) {
	sh.kept.at = sh.upTo
	if sh.kept.rows == nil {
		sh.kept.rows = map[journal.CreditKey]journal.Credit{}
	}
	for _, c := range saved {
		if c.Seconds == 0 {
			delete(sh.kept.rows, c.CreditKey)
		} else {
			sh.kept.rows[c.CreditKey] = c
		}
	}
}
