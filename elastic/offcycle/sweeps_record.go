package offcycle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// replay reads the record.
func (f *files) replay() error {
	f.book = book.New()
	if err := os.MkdirAll(f.paths.Record, 0o700); err != nil {
		return err
	}
	name := filepath.Join(f.paths.Record, f.token+".jsonl")
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	f.record = file
	if err := syncFolder(f.paths.Record); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(file, mostRecord+1))
	if err != nil {
		return err
	}
	if len(data) > mostRecord { // what is beyond must not be taken for a line that a kill cut off
		return fmt.Errorf("%s: longer than %d bytes; move it away, and the trials are found again in their folders", name, mostRecord)
	}
	f.lost = !bytes.ContainsRune(data, '\n')
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole { // killed while it was written: nothing of it took effect
			if err := file.Truncate(f.size(file) - int64(len(line))); err != nil {
				return err
			}
			break
		}
		var e book.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s: %w; move it away, and the trials are found again in their folders", name, err)
		}
		f.book.Apply(e)
		data = rest
	}
	return file.Sync() // an earlier daemon was killed before that: nothing is told that could be lost
}

// syncFolder makes a file's name durable.
func syncFolder(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (f *files) size(file *os.File) int64 {
	info, err := file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// add records entries, durably, or none of them: what could not be made durable is taken back, since
// a later daemon would read it from the cache and tell it. Beyond mostRecord it records none: a later daemon
// reads no more, and one user's sweep must not fill the disk on which all jobs' moves are stored.
func (f *files) add(entries []book.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	size := f.size(f.record)
	if size+int64(b.Len()) > mostRecord {
		f.problem = cmp.Or[error](f.problem, tooMuch{record: true, size: size})
		return f.problem
	}
	_, err := f.record.Write(b.Bytes())
	if err == nil {
		err = f.record.Sync()
	}
	if err != nil {
		return errors.Join(err, f.record.Truncate(size))
	}
	return nil
}
