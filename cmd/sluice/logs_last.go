package main

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// block is how much of a file is read at once to find its last lines, and mostTail how much in all,
// in bytes: a longer end is printed from there.
const (
	block    = 64 << 10
	mostTail = 256 << 20
)

// toLastLines seeks to where the last n lines of a file begin.
func toLastLines(file *os.File, n int) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	size, buf := info.Size(), make([]byte, block)
	for end, found := size, 0; end > max(size-mostTail, 0); {
		from := max(end-block, 0)
		part := buf[:end-from]
		if _, err := file.ReadAt(part, from); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for {
			i := bytes.LastIndexByte(part, '\n')
			if i < 0 {
				break
			}
			at := from + int64(i) + 1
			if at < size { // the newline at the end of the file ends its last line
				if found++; found == n {
					_, err := file.Seek(at, io.SeekStart)
					return err
				}
			}
			part = part[:i]
		}
		end = from
	}
	_, err = file.Seek(max(size-mostTail, 0), io.SeekStart)
	return err
}
