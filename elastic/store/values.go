package store

import (
	"database/sql"
	"encoding/json"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// nanos returns a time as the schema stores it: nanoseconds since 1970, NULL if unknown (the zero
// time, which has no such number). The caller MUST have made the time normal (journal.NormalIntent
// and its like): one that nanoseconds cannot represent is not detected here.
func nanos(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixNano(), Valid: !t.IsZero()}
}

// instant scans such a time into what it points to. NULL becomes the zero time; other times are in
// UTC, so that they equal those of journal.Memory.
type instant struct{ at *time.Time }

// Scan takes a column's value.
func (i instant) Scan(column any) error {
	var n sql.NullInt64
	if err := n.Scan(column); err != nil {
		return err
	}
	*i.at = time.Time{}
	if n.Valid {
		*i.at = time.Unix(0, n.Int64).UTC()
	}
	return nil
}

// placed returns a placement as JSON: names and numbers, which never fail.
func placed(p nodes.Placement) string {
	raw, _ := json.Marshal(p)
	return string(raw)
}

// encode returns a tag or an ending as JSON. Infinite or NaN numbers are an error.
func encode(v any) (string, error) {
	raw, err := json.Marshal(v)
	return string(raw), err
}

// document scans what placed or encode wrote into what it points to. Fields that the text does not
// have keep their values, so that into MUST be zero; fields that an older sluice did not write stay
// zero.
type document struct{ into any }

// Scan takes a column's value.
func (d document) Scan(column any) error {
	var text sql.NullString
	if err := text.Scan(column); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text.String), d.into)
}

// because scans a reason; an older sluice stored it as a sentence. It is in the one column for
// both, and never fails: a text that is no reason is one that says the text.
type because struct{ into *reason.Reason }

// Scan takes a column's value.
func (b because) Scan(column any) error {
	var text sql.NullString
	if err := text.Scan(column); err != nil {
		return err
	}
	*b.into = reason.Decode(text.String)
	return nil
}

// accounted returns an account as the schema stores it: NULL if it is not known. An account that is
// known to be none is the empty text: see journal.Account.
func accounted(a journal.Account) sql.NullString {
	return sql.NullString{String: a.Name, Valid: a.Known}
}

// named scans such an account into what it points to.
type named struct{ into *journal.Account }

// Scan takes a column's value.
func (n named) Scan(column any) error {
	var text sql.NullString
	if err := text.Scan(column); err != nil {
		return err
	}
	*n.into = journal.Account{Name: text.String, Known: text.Valid}
	return nil
}
