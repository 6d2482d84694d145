package main

import (
	"archive/tar"
	"bytes"
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
	next  io.Reader // rest of the part that is read; nil = the next part begins
}

// part is a piece of the tar: bytes, or a file of size bytes.
type part struct {
	raw  []byte
	file string
	size int64
}

// add adds a file. Its header says nothing but its name and its size.
func (t *tarOf) add(f wire.File, file string) error {
	if err := checked(file, f.Size); err != nil {
		return err
	}
	var head bytes.Buffer
	w := tar.NewWriter(&head)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: f.Size, Mode: 0o644}); err != nil {
		return err
	}
	t.push(part{raw: head.Bytes(), size: int64(head.Len())})
	t.push(part{file: file, size: f.Size})
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
			t.Close()
		}
		if len(t.parts) == 0 {
			return 0, io.EOF
		}
		p := t.parts[0]
		t.parts = t.parts[1:]
		if p.file == "" {
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

// Close closes the file that is read.
func (t *tarOf) Close() error {
	if t.open == nil {
		return nil
	}
	err := t.open.Close()
	t.open = nil
	return err
}
