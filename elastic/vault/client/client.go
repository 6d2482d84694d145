// Package client asks sluice-vaultd over its socket.
package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// Deadlines. A submission waits for sbatch, which itself retries for minutes; other requests wait for the
// disk. While raw bytes flow only a pause counts.
const (
	connect = 2 * time.Second
	usual   = time.Minute
	submit  = 6 * time.Minute
	results = 10 * time.Minute // vaultd copies or sums files before it answers
	pause   = time.Minute
)

// Client asks a sluice-vaultd. It is safe for concurrent use; each request uses its own connection.
type Client struct{ path string }

// Dial returns a client for the socket at path. It connects with each request.
func Dial(path string) *Client { return &Client{path} }

// Where returns the path of the socket.
func (c *Client) Where() string { return c.path }

// Do sends a request and returns the answer. From in it reads q.ScriptSize and then q.BundleSize bytes, which may
// be nil if both are 0; to out it writes the raw bytes of the answer, which are dropped if out is
// nil. All errors but those of in and out are *wire.Error.
func (c *Client) Do(ctx context.Context, q wire.Request, in io.Reader, out io.Writer) (wire.Answer, error) {
	q.Version = wire.Version
	line, err := json.Marshal(q)
	if err != nil {
		return wire.Answer{}, wire.Fail(wire.Internal, "", "the request cannot be written: %v", err)
	}
	if len(line)+1 > wire.MaxRequest {
		return wire.Answer{}, wire.Fail(wire.BadRequest, "give fewer or shorter options", "the request has %d bytes, at most %d are taken", len(line)+1, wire.MaxRequest)
	}
	dialer := net.Dialer{Timeout: connect}
	conn, err := dialer.DialContext(ctx, "unix", c.path)
	if err != nil {
		return wire.Answer{}, c.unreachable(ctx, err)
	}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(limited, func() { conn.Close() })()
	defer conn.Close()
	x := exchange{conn: conn, ctx: limited, timer: time.AfterFunc(pause, func() { cancel(errSlow) })}
	defer x.timer.Stop()
	return x.run(append(line, '\n'), q, in, out)
}

// errSlow is the cause of a cancelled exchange.
var errSlow = errors.New("sluice-vaultd did not answer in time")

func (c *Client) unreachable(ctx context.Context, err error) error {
	hint := "ask your administrators, or see 'systemctl status sluice-vaultd'"
	switch {
	case ctx.Err() != nil:
		return wire.Fail(wire.NoDaemon, "", "sluice-vaultd was not asked: %v", ctx.Err())
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return wire.Fail(wire.NoDaemon, hint, "sluice-vaultd does not run: nothing answers on %s", c.path)
	}
	return wire.Fail(wire.NoDaemon, hint, "sluice-vaultd cannot be reached on %s: %v", c.path, err)
}

// exchange is one request on its connection. The timer ends it.
type exchange struct {
	conn  net.Conn
	ctx   context.Context
	timer *time.Timer
}

func (x exchange) run(line []byte, q wire.Request, in io.Reader, out io.Writer) (wire.Answer, error) {
	var a wire.Answer
	_, sent := x.conn.Write(line)
	if n := q.ScriptSize + q.BundleSize; sent == nil && n > 0 {
		own := &source{from: in}
		_, sent = io.CopyN(moving{x.conn, x.timer}, own, n)
		if own.err != nil {
			return a, own.err
		}
	}
	// vaultd may refuse before it has read everything; then writing fails and there is an answer.
	x.timer.Reset(limit(q.Do))
	from := bufio.NewReader(x.conn)
	raw, err := wire.ReadLine(from, wire.MaxAnswer)
	if err != nil {
		return a, x.broken(errors.Join(sent, err))
	}
	if err := json.Unmarshal(raw, &a); err != nil || a.Version == 0 {
		return a, wire.Fail(wire.Internal, "is that process sluice-vaultd?", "what answers on the socket does not speak the protocol of sluice-vaultd")
	}
	if a.Error != nil {
		return a, a.Error
	}
	if out == nil {
		out = io.Discard
	}
	x.timer.Reset(pause)
	own := &sink{to: out}
	if _, err := io.CopyN(own, reading{from, x.timer}, a.Size); err != nil {
		if own.err != nil {
			return a, own.err
		}
		return a, x.broken(err)
	}
	return a, nil
}

// limit is the longest time for the line of the answer.
func limit(do wire.Verb) time.Duration {
	switch do {
	case wire.Submit:
		return submit
	case wire.Results, wire.Audit, wire.Review:
		return results
	}
	return usual
}

func (x exchange) broken(err error) error {
	if cause := context.Cause(x.ctx); cause != nil {
		err = cause
	}
	return wire.Fail(wire.Unavailable, "try again; what was counted is not counted twice", "the answer of sluice-vaultd broke off: %v", err)
}

// source and sink tell errors of the caller's reader and writer from those of the connection.
type source struct {
	from io.Reader
	err  error
}

// Read reads from the caller's reader.
func (s *source) Read(p []byte) (int, error) {
	if s.from == nil {
		s.err = io.ErrUnexpectedEOF
		return 0, s.err
	}
	n, err := s.from.Read(p)
	if err == io.EOF && n == 0 {
		err = io.ErrUnexpectedEOF // fewer bytes than the request says
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

type sink struct {
	to  io.Writer
	err error
}

// Write writes to the caller's writer.
func (s *sink) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.err = err
	return n, err
}

// moving and reading renew the deadline with each part.
type moving struct {
	to    io.Writer
	timer *time.Timer
}

// Write renews the deadline and writes.
func (m moving) Write(p []byte) (int, error) {
	m.timer.Reset(pause)
	return m.to.Write(p)
}

type reading struct {
	from  io.Reader
	timer *time.Timer
}

// Read renews the deadline and reads.
func (r reading) Read(p []byte) (int, error) {
	r.timer.Reset(pause)
	return r.from.Read(p)
}
