package control

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
var ErrInUse = errors.New("another sluiced answers there")

// socket is the listening socket and the lock beside it. The lock keeps two daemons from
// removing each other's socket as stale.
type socket struct {
	*net.UnixListener
	lock *os.File
}

// listen makes the socket at path with mode 0666, because the kernel identifies callers, or
// 0600 in user mode. A stale socket is removed only under the lock and only if no process
// answers on it.
func listen(ctx context.Context, path string, userMode bool) (*socket, error) {
	dirMode, mode := fs.FileMode(0o755), fs.FileMode(0o666)
	if userMode {
		dirMode, mode = 0o700, 0o600
	}
	if err := makeFolder(filepath.Dir(path), dirMode); err != nil {
		return nil, fmt.Errorf("socket %s: %w; the daemon's account must be able to make its folder", path, err)
	}
	lock, err := lockSocket(path)
	if err != nil {
		return nil, err
	}
	listener, err := bind(ctx, path, mode)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &socket{UnixListener: listener, lock: lock}, nil
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
func (s *socket) Close() error {
	return errors.Join(s.UnixListener.Close(), s.lock.Close())
}

func lockSocket(path string) (*os.File, error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w; the daemon's account must own its folder", path, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, inUse(path, "")
	}
	return lock, nil
}

// bind makes the socket. The lock MUST be held: between the removal of a stale socket and
// ListenUnix, another daemon could make its own.
func bind(ctx context.Context, path string, mode fs.FileMode) (*net.UnixListener, error) {
	if err := clear(ctx, path); err != nil {
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

// clear removes a stale socket at path.
func clear(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket %s: %w", path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("socket %s: something else is there (%v); move it away or set [paths] socket", path, info.Mode().Type())
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		defer conn.Close()
		who, err := peer(conn.(*net.UnixConn))
		if err != nil || who.PID < 1 {
			return inUse(path, "")
		}
		return inUse(path, fmt.Sprintf(" with pid %d", who.PID))
	}
	if !isRefused(err) {
		return inUse(path, "") // it cannot be determined: better no daemon than two
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("socket %s: the stale one cannot be removed: %w", path, err)
	}
	return nil
}

func inUse(path, who string) error {
	return fmt.Errorf("socket %s: %w%s; stop it, or set [paths] socket", path, ErrInUse, who)
}

// isRefused reports whether no process listens on a socket that exists.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
