// Package local is a daemon's Unix socket: made once, with a lock beside it, and the account that the
// kernel reports of who connects.
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse: another daemon answers on the socket.
var ErrInUse = errors.New("another daemon answers there")

// Place is where a socket is made.
type Place struct {
	Path string
	// Private: only its account can connect. Otherwise the socket has mode 0666.
	Private bool
	// Key is the key of sluice.toml that names the path, for errors.
	Key string
}

// Socket is the listening socket and the lock beside it. The lock keeps two daemons from
// removing each other's socket as stale.
type Socket struct {
	*net.UnixListener
	lock *os.File
}

// Listen makes the socket with mode 0666, because the kernel identifies callers, or
// 0600 if it is private. A stale socket is removed only under the lock and only if no process
// answers on it; otherwise the error is ErrInUse.
func Listen(ctx context.Context, p Place) (*Socket, error) {
	dirMode, mode := fs.FileMode(0o755), fs.FileMode(0o666)
	if p.Private {
		dirMode, mode = 0o700, 0o600
	}
	if err := makeFolder(filepath.Dir(p.Path), dirMode); err != nil {
		return nil, fmt.Errorf("socket %s: %w; the daemon's account must be able to make its folder", p.Path, err)
	}
	lock, err := p.acquire()
	if err != nil {
		return nil, err
	}
	listener, err := p.bind(ctx, mode)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Socket{UnixListener: listener, lock: lock}, nil
}

// makeFolder makes the socket's folder with this mode, whatever the umask: users MUST be able
// to enter it. An existing folder keeps the mode that its administrator gave it.
func makeFolder(dir string, mode fs.FileMode) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}

// Close removes the socket, then drops the lock.
func (s *Socket) Close() error {
	return errors.Join(s.UnixListener.Close(), s.lock.Close())
}

func (p Place) acquire() (*os.File, error) {
	path := p.Path
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w; the daemon's account must own its folder", path, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, p.inUse("")
	}
	return lock, nil
}

// bind makes the socket. The lock MUST be held: between the removal of a stale socket and
// ListenUnix, another daemon could make its own.
func (p Place) bind(ctx context.Context, mode fs.FileMode) (*net.UnixListener, error) {
	path := p.Path
	if err := p.clear(ctx); err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := os.Chmod(path, mode); err != nil {
		listener.Close()
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	return listener, nil
}

// clear removes a stale socket.
func (p Place) clear(ctx context.Context) error {
	path := p.Path
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket %s: %w", path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("socket %s: something else is there (%v); move it away or set %s", path, info.Mode().Type(), p.Key)
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		defer conn.Close()
		who, err := PeerOf(conn.(*net.UnixConn))
		if err != nil || who.PID < 1 {
			return p.inUse("")
		}
		return p.inUse(fmt.Sprintf(" with pid %d", who.PID))
	}
	if !isRefused(err) {
		return p.inUse("") // it cannot be determined: better no daemon than two
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("socket %s: the stale one cannot be removed: %w", path, err)
	}
	return nil
}

func (p Place) inUse(who string) error {
	return fmt.Errorf("socket %s: %w%s; stop it, or set %s", p.Path, ErrInUse, who, p.Key)
}

// isRefused reports whether no process listens on a socket that exists.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// Peer is the account at the other end of a connection, as the kernel reports it.
type Peer struct {
	UID, GID uint32
	PID      int32 // process that connected, which may be gone
}

// PeerOf asks the kernel which account connected.
func PeerOf(conn *net.UnixConn) (Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Peer{}, err
	}
	if asked != nil {
		return Peer{}, fmt.Errorf("who connected: %w", asked)
	}
	return Peer{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}, nil
}
