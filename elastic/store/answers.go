package store

import (
	"context"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

const (
	replaceAnswer   = `INSERT OR REPLACE INTO answers (` + answerColumns + `) VALUES (?, ?, ?, ?)`
	deleteAnswer    = `DELETE FROM answers WHERE uid = ? AND key = ? RETURNING sum`
	selectAnswerSum = `SELECT sum FROM answers WHERE uid = ? AND key = ?`
	selectAnswers   = `SELECT ` + answerColumns + ` FROM answers ORDER BY uid, key`
)

// SaveAnswers inserts, replaces or deletes answers by user and key, all or none. An answer with the
// zero time is deleted. If a list has two of one key, the later one counts. The caller bounds how
// many a user has; the store does not.
func (s *Store) SaveAnswers(ctx context.Context, answers []journal.Answer) error {
	return s.write(ctx, "save answers", func(c *change) error {
		for _, a := range answers {
			var err error
			if at := nanos(a.At); at.Valid {
				err = c.put("answers", replaceAnswer, []any{a.UID, a.Key, at}, selectAnswerSum, a.UID, a.Key)
			} else {
				err = c.forget("answers", deleteAnswer, a.UID, a.Key)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Answers returns all answers, in order of user and key. It returns nil if there are none.
func (s *Store) Answers(ctx context.Context) ([]journal.Answer, error) {
	var out []journal.Answer
	err := s.rows(ctx, "read answers", "answers", selectAnswers, func(r row) error {
		var a journal.Answer
		err := r.Scan(&a.UID, &a.Key, instant{&a.At})
		out = append(out, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
