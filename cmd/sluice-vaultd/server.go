package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/local"
	"github.com/sluice-hpc/sluice/elastic/control/seats"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// Bounds of connections: of one account, and of all; and of questions to the directory of users at a time, each of which may
// hold a thread.
const (
	perUser = 8
	inAll   = 256
	mostAsk = 32
)

// Deadlines of a connection: for the line of a request, for a part of raw bytes, for all of those
// of a request, for all of those of an answer, and for requests that are served while vaultd stops.
const (
	lineWithin  = 10 * time.Second
	partWithin  = 30 * time.Second
	bodyWithin  = 10 * time.Minute
	replyWithin = 2 * time.Hour
	stopWithin  = 20 * time.Second
)

// answer is what a request is answered: the line, and its raw bytes, if there are any.
type answer struct {
	wire.Answer
	body io.ReadCloser // Size bytes; nil = none
}

// server answers on the socket.
type server struct {
	service *service
	seats   seats.Seats[uint32]
	asks    chan struct{} // who asks the directory of users
	running sync.WaitGroup
}

func newServer(s *service) *server {
	return &server{service: s, seats: seats.Seats[uint32]{Each: perUser, All: inAll}, asks: make(chan struct{}, mostAsk)}
}

// serve answers until ctx ends or the record cannot be written.
func (s *server) serve(ctx context.Context, socket *local.Socket) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var broken error
	go s.service.minutely(ctx) // ends with ctx
	go func() {
		select {
		case <-ctx.Done():
		case <-s.service.vault.failed:
			broken = errBroken
			cancel()
		}
		socket.Close()
	}()
	for {
		conn, err := socket.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			s.stop()
			return broken
		case err != nil:
			s.service.log.Error().Err(err).Msg("a connection cannot be accepted")
			time.Sleep(100 * time.Millisecond) // out of descriptors, for a while
		default:
			s.accept(ctx, conn)
		}
	}
}

// stop waits for requests that are served.
func (s *server) stop() {
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(stopWithin):
	}
}

// sitting is a connection with what is done for it. It is either answered or sent away, although those who do it run at the same
// time.
type sitting struct {
	net.Conn
	leave   context.CancelFunc
	decided atomic.Bool
}

// heard records that the connection will be answered; false if it was sent away.
func (s *sitting) heard() bool { return s.decided.CompareAndSwap(false, true) }

// Close sends the connection away, unless it is answered, and closes it.
func (s *sitting) Close() error {
	if s.decided.CompareAndSwap(false, true) {
		s.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) // it fits into the kernel's buffer
		send(s.Conn, wire.Answer{Error: wire.Fail(wire.TooMany, "try again in a moment", "you have too many requests open, or all users together have")})
	}
	return s.hangUp()
}

// hangUp closes the connection, and ends waiting for it.
func (s *sitting) hangUp() error {
	s.leave()
	return s.Conn.Close()
}

// accept gives a connection its seat, or refuses it. One that says nothing, or whose account has no name, gives way to others:
// a user may have many accounts without one (/etc/subuid).
func (s *server) accept(ctx context.Context, conn *net.UnixConn) {
	who, err := local.PeerOf(conn)
	if err != nil {
		s.service.log.Error().Err(err).Msg("who connected is not known")
		conn.Close()
		return
	}
	ctx, leave := context.WithCancel(ctx)
	seated := &sitting{Conn: conn, leave: leave}
	seat := s.seats.Enter(who.UID, seated)
	if seat == nil {
		seated.Close()
		return
	}
	s.running.Go(func() {
		defer seat.Leave()
		defer seated.hangUp()
		s.answer(ctx, seated, seat)
	})
}

// answer serves one request. A panic ends that request only: others have decisions to make durable.
func (s *server) answer(ctx context.Context, conn *sitting, seat *seats.Seat[uint32]) {
	log := s.service.log.With().Uint32("uid", seat.Key()).Logger()
	defer func() {
		if cause := recover(); cause != nil {
			log.Error().Str("event", "panic").Str("cause", fmt.Sprint(cause)).Msg("a request was dropped")
		}
	}()
	conn.SetDeadline(time.Now().Add(lineWithin))
	body := &patient{conn: conn, end: time.Now().Add(bodyWithin)}
	from := bufio.NewReader(body)
	body.until = time.Now().Add(lineWithin)
	q, err := wire.ReadRequest(from)
	var who caller
	if err == nil {
		log = log.With().Str("do", string(q.Do)).Logger()
		who, err = s.working(ctx, seat)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), ctx.Err() != nil:
		return // it said nothing, or not all, or vaultd stops
	case !conn.heard():
		<-ctx.Done() // it is told that it was sent away
		return
	}
	if err == nil {
		body.until = time.Time{}
		var a answer
		if a, err = s.service.do(ctx, who, q, from); err == nil {
			if a.body != nil {
				defer a.body.Close()
			}
			body.end = time.Now().Add(replyWithin)
			if err := reply(body, a); err != nil {
				log.Warn().Err(err).Msg("the answer was not taken")
			}
			return
		}
	}
	body.until, body.end = time.Time{}, time.Now().Add(partWithin)
	var told *wire.Error
	switch {
	case errors.As(err, &told):
		if told.Code == wire.Denied {
			log.Warn().Str("event", "denied").Str("text", told.Text).Msg("denied")
		}
	case errors.Is(err, io.EOF):
		return // it said nothing
	case errors.Is(err, os.ErrDeadlineExceeded):
		told = wire.Fail(wire.BadRequest, "try again", "the request did not arrive in time")
	default:
		log.Error().Err(err).Msg("a request failed")
		told = wire.Fail(wire.Internal, "tell your administrators; the log of sluice-vaultd says more", "sluice-vaultd could not do it")
	}
	send(body, wire.Answer{Error: told})
}

// working returns who asks. A seat is its own from then on that its account has a name.
func (s *server) working(ctx context.Context, seat *seats.Seat[uint32]) (caller, error) {
	who, err := s.caller(ctx, seat.Key())
	if err == nil {
		seat.Work(true)
	}
	return who, err
}

// caller looks up who asks, a few at a time.
func (s *server) caller(ctx context.Context, uid uint32) (caller, error) {
	select {
	case s.asks <- struct{}{}:
		defer func() { <-s.asks }()
		return s.service.caller(uid)
	case <-ctx.Done():
		return caller{}, io.EOF
	}
}

// patient is a connection on which each part has a deadline, and all of them one too.
type patient struct {
	conn  net.Conn
	until time.Time // instead of the deadline of a part, if it is set
	end   time.Time
}

func (p *patient) deadline() time.Time {
	at := p.until
	if at.IsZero() {
		at = time.Now().Add(partWithin)
	}
	if at.After(p.end) {
		return p.end
	}
	return at
}

// Read reads a part.
func (p *patient) Read(b []byte) (int, error) {
	p.conn.SetReadDeadline(p.deadline())
	return p.conn.Read(b)
}

// Write writes a part.
func (p *patient) Write(b []byte) (int, error) {
	p.conn.SetWriteDeadline(p.deadline())
	return p.conn.Write(b)
}

// reply sends an answer with its raw bytes.
func reply(to io.Writer, a answer) error {
	if err := send(to, a.Answer); err != nil || a.Size == 0 {
		return err
	}
	_, err := io.CopyN(to, a.body, a.Size)
	return err
}

func send(to io.Writer, a wire.Answer) error {
	a.Version = wire.Version
	line, err := lineOf(a)
	if err == nil && len(line) > wire.MaxAnswer {
		line, err = lineOf(wire.Answer{Version: wire.Version, Error: wire.Fail(wire.Internal, "", "the answer has %d bytes, more than a client takes", len(line))})
	}
	if err != nil {
		return err
	}
	_, err = to.Write(line)
	return err
}

// lineOf is an answer as a line. Characters of names such as '<' stay one byte each.
func lineOf(a wire.Answer) ([]byte, error) {
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false)
	err := to.Encode(a)
	return line.Bytes(), err
}
