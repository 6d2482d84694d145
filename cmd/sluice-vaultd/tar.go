package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// block is the size of a block of a tar, in bytes.
const block = 512

// tarOf is a tar of files whose size is known before the files are read.
type tarOf struct {
	parts []part
	size  int64
	open  *os.File
	file  *os.File  // of a part; Close closes it
	next  io.Reader // rest of the part that is read; nil = the next part begins
}

// part is a piece of the tar: bytes, or a file of size bytes, which is open or not.
type part struct {
	raw  []byte
	file string
	from *os.File
	size int64
}

// add adds a copy of a file.
func (t *tarOf) add(f wire.File, file string) error {
	if err := checked(file, f.Size); err != nil {
		return err
	}
	return t.whole(f, part{file: file, size: f.Size})
}

// opened adds a file that is open, and that the tar closes. There can be one.
func (t *tarOf) opened(f wire.File, file *os.File) error {
	t.file = file
	return t.whole(f, part{from: file, size: f.Size})
}

// whole adds a file with its header, which says nothing but its name and its size.
func (t *tarOf) whole(f wire.File, content part) error {
	var head bytes.Buffer
	w := tar.NewWriter(&head)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: f.Size, Mode: 0o644}); err != nil {
		return err
	}
	t.push(part{raw: head.Bytes(), size: int64(head.Len())})
	t.push(content)
	if odd := f.Size % block; odd > 0 {
		t.push(part{raw: make([]byte, block-odd), size: block - odd})
	}
	return nil
}

func (t *tarOf) push(p part) {
	t.parts = append(t.parts, p)
	t.size += p.size
}

// end adds the end and returns the size of all.
func (t *tarOf) end() int64 {
	t.push(part{raw: make([]byte, 2*block), size: 2 * block})
	return t.size
}

// Read reads the tar, once.
func (t *tarOf) Read(b []byte) (int, error) {
	for {
		if t.next != nil {
			n, err := t.next.Read(b)
			if n > 0 || err != nil && err != io.EOF {
				return n, err
			}
			t.next = nil
			t.done()
		}
		if len(t.parts) == 0 {
			return 0, io.EOF
		}
		p := t.parts[0]
		t.parts = t.parts[1:]
		switch {
		case p.from != nil:
			t.next = io.LimitReader(p.from, p.size)
			continue
		case p.file == "":
			t.next = bytes.NewReader(p.raw)
			continue
		}
		file, err := os.Open(p.file)
		if err != nil {
			return 0, err
		}
		t.open, t.next = file, io.LimitReader(file, p.size)
	}
}

// Close closes the file that is read, and the one that was open before.
func (t *tarOf) Close() error {
	err := t.done()
	if t.file != nil {
		err = errors.Join(err, t.file.Close())
	}
	return err
}

func (t *tarOf) done() error {
	if t.open == nil {
		return nil
	}
	err := t.open.Close()
	t.open = nil
	return err
}
