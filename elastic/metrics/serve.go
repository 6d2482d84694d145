package metrics

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	mostScrapes     = 4  // answered at once
	mostConnections = 16 // open at once; further ones wait in the kernel
	readWithin      = 5 * time.Second
	writeWithin     = 15 * time.Second // a scraper that reads more slowly is dropped
	maxHeader       = 16 << 10
	stopWithin      = time.Second
)

// Server answers scrapes at one address.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Listen opens the address: a HOST:PORT, or the absolute path of a Unix socket, which gets mode 0660.
// complain receives what net/http has to say.
func Listen(ctx context.Context, address string, h http.Handler, complain func(error)) (*Server, error) {
	listener, err := open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("[metrics] listen %q: %w; set another address, or \"\" for none", address, err)
	}
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: readWithin, ReadTimeout: readWithin, WriteTimeout: writeWithin,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(lines(complain), "", 0),
	}
	server.SetKeepAlivesEnabled(false) // one scrape per connection, so that no seat is kept
	return &Server{bounded(listener), server}, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx ends. It returns nil then.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		if s.http.Shutdown(patience) != nil {
			s.http.Close()
		}
	})
	defer stop()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

func open(ctx context.Context, address string) (net.Listener, error) {
	if !filepath.IsAbs(address) {
		return new(net.ListenConfig).Listen(ctx, "tcp", address)
	}
	if err := clear(ctx, address); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(address, 0o660); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// clear removes a socket at which no process answers. Nothing else is removed.
func clear(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("something else is there, and it is not a socket")
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(errors.New("another process answers there"), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// bounded returns the listener with at most mostConnections open connections.
func bounded(l net.Listener) net.Listener {
	return &seats{Listener: l, free: make(chan struct{}, mostConnections), done: make(chan struct{})}
}
