package store

import (
	"context"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

const (
	replaceCredit   = `INSERT OR REPLACE INTO credits (` + creditColumns + `) VALUES (?, ?, ?, ?, ?)`
	deleteCredit    = `DELETE FROM credits WHERE account = ? AND user = ? RETURNING sum`
	selectCreditSum = `SELECT sum FROM credits WHERE account = ? AND user = ?`
	selectCredits   = `SELECT ` + creditColumns + ` FROM credits ORDER BY account, user`
)

// SaveCredits inserts, replaces or deletes credits by account and user, all or none. One of 0 is
// deleted. Prune deletes none: a credit that did not change is not written again, and counts on. A
// credit that is infinite or no number counts as 0 (journal.NormalCredit).
func (s *Store) SaveCredits(ctx context.Context, credits []journal.Credit) error {
	return s.write(ctx, "save credits of shares", func(c *change) error {
		for _, x := range credits {
			var err error
			if x = journal.NormalCredit(x); x.Seconds == 0 {
				err = c.forget("credits", deleteCredit, x.Account, x.User)
			} else {
				err = c.put("credits", replaceCredit, []any{x.Account, x.User, x.Seconds, nanos(x.At)}, selectCreditSum, x.Account, x.User)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Credits returns all credits, in order of account and user. They are as they were at their own
// times: the caller MUST decay each one from At to now BEFORE it compares or adds any.
func (s *Store) Credits(ctx context.Context) ([]journal.Credit, error) {
	var out []journal.Credit
	err := s.rows(ctx, "read credits of shares", "credits", selectCredits, func(r row) error {
		var c journal.Credit
		err := r.Scan(&c.Account, &c.User, &c.Seconds, instant{&c.At})
		out = append(out, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
