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

// split cuts an answer into records of the given number of fields and hands each to
// take, who must not keep the slice. An empty answer has none. Anything that is not
// whole records is an error: a part of an answer must not pass for all of it.
//
// The fields lie in the answer: who keeps one keeps all of it, which with 100,000 jobs
// is 60 MB. See pool.
func (d delimiter) split(out string, fields int, take func(record []string)) (records int, err error) {
	var record []string
	for out != "" {
		text, rest, ended := strings.Cut(out, d.record)
		if !ended {
			if strings.Contains(out, d.field) {
				return records, errTruncated
			}
			return records, errNoRecord
		}
		record = d.fields(record[:0], text, fields)
		if len(record) != fields {
			return records, fmt.Errorf("record %d has %d fields, not %d", records+1, strings.Count(text, d.field)+1, fields)
		}
		take(record)
		records++
		out = rest
	}
	return records, nil
}

// fields appends the fields of one record, one more than most when there are more.
func (d delimiter) fields(record []string, text string, most int) []string {
	for len(record) < most {
		field, rest, more := strings.Cut(text, d.field)
		if record = append(record, field); !more {
			return record
		}
		text = rest
	}
	return append(record, text)
}

// pool makes copies of words of an answer that do not keep the answer, and one copy of
// words that are said often: users, partitions, accounts.
type pool map[string]string

// own returns the word's copy.
func (p pool) own(word string) string {
	if word == "" {
		return ""
	}
	if known, ok := p[word]; ok {
		return known
	}
	word = strings.Clone(word)
	p[word] = word
	return word
}

// all does so with each.
func (p pool) all(words ...*string) {
	for _, w := range words {
		*w = p.own(*w)
	}
}

// list does so with a list.
func (p pool) list(words []string) {
	for i, w := range words {
		words[i] = p.own(w)
	}
}
