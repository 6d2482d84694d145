package munge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// usual are the paths where munge's packages put munged's socket, the most common first.
var usual = []string{
	"/run/munge/munge.socket.2", "/var/run/munge/munge.socket.2",
	"/usr/local/var/run/munge/munge.socket.2", "/opt/munge/var/run/munge/munge.socket.2",
}

const (
	// maxPath is the longest path of a socket, in bytes (sockaddr_un).
	maxPath = 107
	// within is the deadline of one exchange, with all its tries.
	within = 3 * time.Second
	// tries is how often a request is sent if munged, because it was restarted, may not have
	// answered it.
	tries = 3
	// knocks and knockAgain bound the wait for a munged whose queue is full, or that does not
	// listen on its socket yet: 1 s in all.
	knocks     = 14
	knockAgain = 10 * time.Millisecond
)

// where returns the path of munged's socket.
func (t *Tool) where() (string, error) {
	for _, path := range t.sockets {
		if info, err := os.Stat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: there is no socket of munged at %s; is munged running?", ErrMissing, strings.Join(t.sockets, ", "))
}

// ask sends a request and returns the body of munged's answer.
func (t *Tool) ask(ctx context.Context, k kind, body []byte) ([]byte, error) {
	path, err := t.where()
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for try := byte(0); ; try++ {
		answer, err := once(bounded, path, message(k, try, body), k+1)
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case bounded.Err() != nil:
			return nil, fmt.Errorf("%w: munged at %s has not answered in %v; is it running?", ErrMissing, path, within)
		case errors.Is(err, ErrMissing), errors.Is(err, ErrRefused):
			return nil, err
		case try+1 == tries:
			return nil, silent(path, err)
		}
	}
}

// silent returns why munged gave no answer. A munged with another protocol version closes the
// connection.
func silent(path string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w: munged at %s closed the connection without an answer; %w", ErrMissing, path, errForeign)
	}
	return fmt.Errorf("%w: munged at %s: %w", ErrMissing, path, err)
}

// once sends one message and reads one, until ctx ends.
func once(ctx context.Context, path string, request []byte, want kind) ([]byte, error) {
	conn, err := knock(ctx, path)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	unhook := context.AfterFunc(ctx, func() { conn.Close() })
	defer unhook()
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	var header [headerBytes]byte
	if _, err := io.ReadFull(conn, header[:]); err != nil {
		return nil, err
	}
	length, err := bodyLength(header, want)
	if err != nil {
		return nil, err
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, err
	}
	return body, nil
}

// knock connects in the caller's thread: munged gets the identity of that thread from the
// kernel. A refused connection (ECONNREFUSED: nothing listens yet; EAGAIN: the queue is full)
// is tried again, after pauses that grow by knockAgain each time.
func knock(ctx context.Context, path string) (net.Conn, error) {
	var dialer net.Dialer
	for n := time.Duration(1); ; n++ {
		conn, err := dialer.DialContext(ctx, "unix", path)
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.EAGAIN), n == knocks:
			return nil, fmt.Errorf("%w: munged at %s cannot be asked: %w; is it running?", ErrMissing, path, err)
		}
		timer := time.NewTimer(n * knockAgain)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}
