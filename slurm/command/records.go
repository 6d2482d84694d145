package command

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// delimiter marks the end of each field and of each record in what squeue and
// sinfo print.
//
// A job's name, comment and working directory are whatever its user wrote,
// newlines included, and Slurm prints them as they are. With a fixed delimiter
// a user could name a job so that it reads as further fields, or as whole jobs
// of somebody else. So the delimiter holds 64 random bits drawn for each call,
// after everything the controller will answer with was already written, and for
// squeue it travels in the environment, which other users cannot read, instead
// of in the arguments, which they can. A field suffix may not begin with a digit
// or a dot (a width) nor hold a comma (the next field).
type delimiter struct{ field, record string }

func newDelimiter() delimiter {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails; it ends the process instead
	return delimiterOf(hex.EncodeToString(b[:]))
}

func delimiterOf(nonce string) delimiter {
	return delimiter{field: "@" + nonce + "|", record: "@" + nonce + ".\n"}
}

// format writes the argument of -O that prints the named fields so delimited.
// No field has a width: a width would cut long values.
func (d delimiter) format(names []string) string {
	parts := make([]string, len(names))
	for i, name := range names {
		suffix := d.field
		if i == len(names)-1 {
			suffix = strings.TrimSuffix(d.record, "\n")
		}
		parts[i] = name + ":" + suffix
	}
	return strings.Join(parts, ",")
}

var (
	errTruncated = errors.New("the answer ends in the middle of a record")
	errNoRecord  = errors.New("no record in the answer")
)

// split cuts an answer into records of the given number of fields. An empty
// answer has none. Anything that is not whole records is an error: a part of an
// answer must not pass for all of it.
func (d delimiter) split(out string, fields int) ([][]string, error) {
	var records [][]string
	for out != "" {
		end := strings.Index(out, d.record)
		if end < 0 {
			if strings.Contains(out, d.field) {
				return nil, errTruncated
			}
			return nil, errNoRecord
		}
		record := strings.Split(out[:end], d.field)
		if len(record) != fields {
			return nil, fmt.Errorf("record %d has %d fields, not %d", len(records)+1, len(record), fields)
		}
		records = append(records, record)
		out = out[end+len(d.record):]
	}
	return records, nil
}
