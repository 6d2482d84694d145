package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrShortened: the file is shorter than the part that was read before.
var ErrShortened = errors.New("made shorter")

// maxBad is how many unreadable lines one call reports separately.
const maxBad = 16

// maxCounted is the position up to which lines are counted to report a line number, in
// bytes.
const maxCounted = 1 << 20

// Progress reads complete lines of progress.jsonl from offset on, at most 2000 lines or
// 256 KiB per call, and returns the offset after them: call it again until the offset no
// longer changes. A missing file has no lines. Lines that cannot be read, or are longer
// than 4 KiB, are skipped and reported in bad as *FormatError. A file shorter than offset
// was replaced: it is read from the start, and bad contains ErrShortened.
func (m *Mailbox) Progress(token string, uid uint32, offset int64) (lines []Progress, next int64, bad []error, err error) {
	dir, err := m.job(token, uid)
	if err != nil {
		return nil, offset, nil, none(err)
	}
	defer dir.Close()
	lines, next, bad, err = dir.Progress(offset)
	for i := range bad {
		bad[i] = jobError(token, bad[i])
	}
	if err != nil {
		err = jobError(token, err)
	}
	return lines, next, bad, err
}

// Progress is Mailbox.Progress for the job's folder.
func (d *Dir) Progress(offset int64) (lines []Progress, next int64, bad []error, err error) {
	f, info, err := d.Open(ProgressFile)
	if err != nil {
		return nil, offset, nil, none(err)
	}
	defer f.Close()
	if offset < 0 || offset > info.Size() {
		bad = append(bad, fmt.Errorf("%s: %w: %w: %d bytes, %d were read before: it was replaced and is read afresh",
			ProgressFile, ErrMalformed, ErrShortened, info.Size(), offset))
		offset = 0
	}
	chunk := make([]byte, maxChunk)
	n, err := f.ReadAt(chunk, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, offset, bad, err
	}
	s := scan{start: offset}
	s.lines(chunk[:n])
	before := 0
	if len(s.bad) > 0 {
		before = lineAt(f, offset)
	}
	for _, e := range s.bad {
		if before > 0 { // 0: too far into the file
			e.Line = before + bytes.Count(chunk[:e.at-offset], []byte("\n"))
		}
		bad = append(bad, e.FormatError)
	}
	return s.good, offset + s.used, bad, nil
}

// scan splits one chunk.
type scan struct {
	start int64 // the chunk's offset in the file
	used  int64 // bytes processed
	count int
	good  []Progress
	bad   []badLine
}

type badLine struct {
	*FormatError
	at int64 // the line's offset in the file
}

// lines reads complete lines only: the last one may still be being written.
func (s *scan) lines(chunk []byte) {
	for s.count < maxLines {
		rest := chunk[s.used:]
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			s.overlong(rest)
			return
		}
		s.line(rest[:end])
		s.used += int64(end) + 1
		s.count++
	}
}

func (s *scan) line(line []byte) {
	line = bytes.TrimRight(line, "\r")
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		return
	case len(line) > maxLine:
		s.complain(&FormatError{File: ProgressFile, Err: ErrMalformed, Column: maxLine + 1,
			Words: fmt.Sprintf("a line of %d bytes: at most %d", len(line), maxLine)})
		return
	}
	p, err := ParseProgress(line)
	if err == nil {
		s.good = append(s.good, p)
		return
	}
	var fe *FormatError
	if errors.As(err, &fe) {
		s.complain(fe)
	}
}

// overlong skips an unfinished line that is already too long, so that it does not block
// the lines after it. Its remainder is another bad line.
func (s *scan) overlong(rest []byte) {
	if len(rest) <= maxLine {
		return
	}
	s.complain(&FormatError{File: ProgressFile, Err: ErrMalformed, Column: maxLine + 1,
		Words: fmt.Sprintf("a line of more than %d bytes", maxLine)})
	s.used += int64(len(rest))
}

func (s *scan) complain(e *FormatError) {
	if len(s.bad) < maxBad {
		s.bad = append(s.bad, badLine{FormatError: e, at: s.start + s.used})
	}
}

// lineAt returns the number of the line that starts at offset, 0 if that is too far into
// the file to count.
func lineAt(f *os.File, offset int64) int {
	if offset > maxCounted {
		return 0
	}
	line := 1
	buffer := make([]byte, 64<<10)
	for at := int64(0); at < offset; {
		n, err := f.ReadAt(buffer[:min(int64(len(buffer)), offset-at)], at)
		line += bytes.Count(buffer[:n], []byte("\n"))
		if at += int64(n); err != nil || n == 0 {
			break
		}
	}
	return line
}
