package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// ownSocket returns where the socket of a user's own pages is: in the runtime folder, which only
// the user can enter, else in a folder like it below /tmp.
func ownSocket() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && private(dir) == nil {
		return filepath.Join(dir, "sluice-web.sock"), nil
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("sluice-web-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := private(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, "sluice-web.sock"), nil
}

// private reports why a folder is not the user's alone. A link is not followed.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known || !info.IsDir() || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder of yours alone; remove it, or name a socket with --socket", dir)
	}
	return nil
}

// listenUnix listens on a socket with these permissions. A socket that no process answers on is
// replaced; what is not a socket, or answers, is not touched.
func listenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	if len(path) > 100 {
		return nil, fmt.Errorf("--socket %s: the path is longer than 100 characters, which Unix sockets cannot have", path)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is there and is not a socket", path)
		}
		if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
			c.Close()
			return nil, fmt.Errorf("sluice web runs already: %s answers; end that one, or name another --socket", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	// The umask counts BEFORE the socket exists for others; chmod alone would be too late.
	old := syscall.Umask(0o177)
	l, err := net.Listen("unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// limited is a listener with at most so many connections at once; others wait in the kernel.
type limited struct {
	net.Listener
	seats chan struct{}
}

func limit(l net.Listener, n int) net.Listener { return limited{l, make(chan struct{}, n)} }

// Accept takes the next connection.
func (l limited) Accept() (net.Conn, error) {
	l.seats <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.seats
		return nil, err
	}
	return &seated{Conn: c, leave: sync.OnceFunc(func() { <-l.seats })}, nil
}

// seated is a connection that gives its seat back when it is closed.
type seated struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (s *seated) Close() error {
	defer s.leave()
	return s.Conn.Close()
}

// Unwrap returns the connection itself.
func (s *seated) Unwrap() net.Conn { return s.Conn }

// ownLog passes on net/http's own messages, a line each.
func ownLog(errs io.Writer) *log.Logger { return log.New(lines{errs}, "", 0) }

type lines struct{ out io.Writer }

// Write takes one line.
func (l lines) Write(p []byte) (int, error) {
	_, err := fmt.Fprintln(l.out, "sluice web:", terminal.Escape(strings.TrimSpace(string(p))))
	return len(p), err
}
