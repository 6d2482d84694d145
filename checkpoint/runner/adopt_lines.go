package runner

import (
	"bytes"
	"io"
	"os"
	"strconv"
)

const (
	maxLogLine = 4 << 10 // longer lines are ignored
	maxLogRead = 1 << 20 // read at once; if there is more, only the end is read
)

// splitter splits output into lines. Progress bars end theirs with a carriage return.
type splitter struct {
	part []byte
	long bool // the line is too long: skip the rest
}

func (s *splitter) feed(chunk []byte, line func(string)) {
	for len(chunk) > 0 {
		end := bytes.IndexAny(chunk, "\r\n")
		piece := chunk
		if end >= 0 {
			piece = chunk[:end]
		}
		if s.long = s.long || len(s.part)+len(piece) > maxLogLine; s.long {
			s.part = s.part[:0]
		} else {
			s.part = append(s.part, piece...)
		}
		if end < 0 {
			return
		}
		if len(s.part) > 0 {
			line(string(s.part))
		}
		s.part, s.long = s.part[:0], false
		chunk = chunk[end+1:]
	}
}

// tail follows one file of the job's output.
type tail struct {
	file *os.File
	at   int64
	splitter
}

// newTail opens the file behind an open descriptor: the same file, whatever its name.
// Only a regular file can be followed; nil for a pipe or terminal.
func newTail(f *os.File) *tail {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	own, err := os.Open("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return nil
	}
	return &tail{file: own, at: info.Size()}
}

// read passes on the lines written since.
func (t *tail) read(line func(string)) error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < t.at { // the file was truncated
		t.at, t.splitter = 0, splitter{}
	}
	if behind := info.Size() - t.at; behind > maxLogRead {
		t.at, t.splitter = info.Size()-maxLogRead, splitter{long: true}
	}
	chunk := make([]byte, min(maxLogRead, info.Size()-t.at))
	n, err := t.file.ReadAt(chunk, t.at)
	t.at += int64(n)
	t.feed(chunk[:n], line)
	if err == io.EOF {
		err = nil
	}
	return err
}
