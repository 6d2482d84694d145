package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// mostRead bounds the bytes of files that one request reads, so that it answers while its client waits. One file is read
// whatever its size. A variable only for tests.
var mostRead int64 = 32 << 30

// look is what one request reads of files.
type look struct {
	ctx  context.Context
	read int64 // bytes
}

// errUnread: a file was not read, so that nothing is known of it. errEnough: the request has read enough.
var (
	errUnread = errors.New("not read")
	errEnough = fmt.Errorf("%w: the request has read %d bytes", errUnread, mostRead)
)

// of returns the file as a source, if this request may still read that many bytes.
func (l *look) of(file io.Reader, size int64) (*source, error) {
	if l.read > 0 && l.read+size > mostRead {
		return nil, errEnough
	}
	return &source{l, file}, nil
}

// source is a file that is read until the request's context ends. Its errors are errUnread; those of a copy are not.
type source struct {
	look *look
	from io.Reader
}

// Read reads and counts.
func (f *source) Read(p []byte) (int, error) {
	n, err := 0, f.look.ctx.Err()
	if err == nil {
		n, err = f.from.Read(p)
	}
	f.look.read += int64(n)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", errUnread, err)
	}
	return n, err
}

// refused is nil if an error says that a file is none that may leave. Any other error says nothing of the file.
func refused(err error) error {
	for _, none := range []error{checkpoint.ErrNotRegular, checkpoint.ErrOwner, checkpoint.ErrName, fs.ErrPermission} {
		if errors.Is(err, none) {
			return nil
		}
	}
	if errors.Is(err, errUnread) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnread, err)
}

// copied is a file that was read.
type copied struct {
	name, digest string
	size         int64
	plain        bool // it is a file of its own, of the service account
	over         bool // it has more bytes than may leave
	kept         bool // there is a copy of all of it
}

// file opens a file of a job's output.
func (s *service) file(job, name string) (*os.File, fs.FileInfo, error) {
	out, err := s.own(job, outName)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %v", errUnread, err) // it is not the file that is wrong
	}
	defer out.Close()
	dir, last, err := out.Reach(name)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	return dir.Open(last)
}

// copy reads a file, and copies it if it may leave and fits. The error is errUnread if the file is not read now.
func (s *service) copy(l *look, job, name string, leaves bool, room int64) (copied, error) {
	c := copied{name: name}
	file, info, err := s.file(job, name)
	if err != nil {
		return c, refused(err)
	}
	defer file.Close()
	c.plain, c.size = true, min(info.Size(), vault.MaxBytes)
	if c.over = c.size > room; c.over { // it is not even read: a sparse file may have any size
		return c, nil
	}
	if digest := s.seen.digest(job, name, info); digest != "" && !leaves {
		c.digest = digest
		return c, nil
	}
	from, err := l.of(file, c.size)
	if err != nil {
		return c, err
	}
	hash := sha256.New()
	if !leaves {
		c.size, err = io.Copy(hash, io.LimitReader(from, room))
		c.digest = hex.EncodeToString(hash.Sum(nil))
		if err == nil {
			s.seen.keep(job, name, info, c.digest)
		}
		return c, err
	}
	at := s.releasedFile(job, name)
	to, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return c, err
	}
	c.size, err = io.Copy(io.MultiWriter(to, hash), io.LimitReader(from, room+1))
	c.digest, c.over = hex.EncodeToString(hash.Sum(nil)), c.size > room
	c.kept = !c.over
	if err = errors.Join(err, to.Sync(), to.Close(), syncFolder(filepath.Dir(at))); err == nil && c.kept {
		s.seen.keep(job, name, info, c.digest)
	}
	return c, err
}

// differs reports whether a file has other content than what left of it. If it cannot be read now it is as it was.
func (s *service) differs(l *look, job string, left wire.File) bool {
	file, info, err := s.file(job, left.Name)
	if err != nil {
		return false
	}
	defer file.Close()
	if info.Size() != left.Size {
		return true
	}
	digest := s.seen.digest(job, left.Name, info)
	if digest == "" {
		from, err := l.of(file, left.Size)
		hash := sha256.New()
		if err == nil {
			_, err = io.Copy(hash, io.LimitReader(from, left.Size))
		}
		if err != nil {
			return false
		}
		digest = hex.EncodeToString(hash.Sum(nil))
		s.seen.keep(job, left.Name, info, digest)
	}
	return digest != left.Digest
}

// mostSeen is the number of files above which all are forgotten; they are read again then.
const mostSeen = 100_000

// seen are files as they were when they were read last: as long as one is the same, it need not be read again to say what
// is known of it. Nothing leaves by it: what leaves is read while it is copied.
type seen struct {
	mu sync.Mutex
	of map[string]sight
}

// sight is how a file was before it was read, and its digest.
type sight struct {
	inode, device uint64
	size          int64
	written       syscall.Timespec // its content, last
	changed       syscall.Timespec // itself: its content, name or mode, last
	digest        string
}

func sightOf(info fs.FileInfo) (sight, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return sight{}, false
	}
	return sight{inode: stat.Ino, device: uint64(stat.Dev), size: stat.Size, written: stat.Mtim, changed: stat.Ctim}, true
}

// digest is that of a file that was read and is the same; "" if it is not.
func (s *seen) digest(job, name string, info fs.FileInfo) string {
	now, ok := sightOf(info)
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.of[job+"/"+name]
	now.digest = was.digest
	if !ok || !known || now != was {
		return ""
	}
	return was.digest
}

// keep takes a file that was read; info is from before.
func (s *seen) keep(job, name string, info fs.FileInfo, digest string) {
	now, ok := sightOf(info)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= mostSeen {
		s.of = map[string]sight{}
	}
	now.digest = digest
	s.of[job+"/"+name] = now
}
