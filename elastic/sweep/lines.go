package sweep

import (
	"bytes"
	"errors"
	"io"
)

// MaxLines bounds what Lines reads at once, in bytes.
const MaxLines = 1 << 20

// Lines passes the lines of a file between two offsets to take, each without its newline, and returns the
// offset for the next call. A line that does not end before to, as one that is being written, is left for a
// later call. Of a line longer than MaxLines, which no lane writes, all but its last part is skipped. After
// an error of the file next is behind the lines that were passed.
func Lines(file io.ReaderAt, from, to int64, take func(line []byte)) (next int64, err error) {
	buffer := make([]byte, min(max(0, to-from), MaxLines))
	for next = from; next < to; {
		n, err := file.ReadAt(buffer[:min(to-next, int64(len(buffer)))], next)
		if err != nil && !errors.Is(err, io.EOF) {
			return next, err
		}
		last := bytes.LastIndexByte(buffer[:n], '\n')
		if last < 0 && n < MaxLines {
			return next, nil
		}
		if last < 0 {
			next += int64(n)
			continue
		}
		for line := range bytes.SplitSeq(buffer[:last], []byte("\n")) {
			take(line)
		}
		next += int64(last) + 1
	}
	return next, nil
}
