package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Line is one line of a record, verbatim.
type Line struct {
	File   string // base name of the record
	Number int    // from 1
	Text   string
	At     time.Time     // zero when the line has none
	Grain  time.Duration // resolution of At
}

// maxShown is how much of a line a report shows, in bytes.
const maxShown = 400

// String returns the line with its place, safe for a terminal.
func (l Line) String() string {
	text := l.Text
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return fmt.Sprintf("%s:%d: %s", l.File, l.Number, plain(text))
}

// plain replaces control characters: lines contain text that users chose.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

const (
	maxLine = 1 << 20 // bytes; longer lines are neither sluiced's nor Slurm's
	maxRead = 1 << 30 // bytes of one record
)

// errTooMuch is returned for a record beyond maxRead.
var errTooMuch = errors.New("longer than 1 GiB")

// eachLine calls do with every line of a record. Lines that are too long are skipped, but
// counted.
func eachLine(r io.Reader, file string, do func(Line)) error {
	limited := &io.LimitedReader{R: r, N: maxRead}
	in := bufio.NewReaderSize(limited, 64<<10)
	var text []byte
	for number, tooLong := 1, false; ; {
		chunk, err := in.ReadSlice('\n')
		if !tooLong {
			text = append(text, chunk...)
		}
		tooLong = tooLong || len(text) > maxLine
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !tooLong && len(text) > 0 {
			do(Line{File: file, Number: number, Text: string(bytes.TrimRight(text, "\r\n"))})
		}
		text, tooLong = text[:0], false
		number++
		switch {
		case errors.Is(err, io.EOF) && limited.N <= 0:
			return fmt.Errorf("%s: %w", file, errTooMuch)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", file, err)
		}
	}
}
