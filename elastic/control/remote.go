package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/munge"
	"github.com/sluice-hpc/sluice/elastic/control/seats"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// readers is how many credentials are read at once.
const readers = 4

// remote serves the same API over TCP, to the login nodes that have no socket. The
// caller is the account that munge reports.
//
// BEFORE munge has answered, connections are counted by node. So a flood from one node makes
// other users of that node retry, but no other node and no user of the socket.
type remote struct {
	listener net.Listener
	munge    wire.Munge
	server   *Server
	seats    seats.Seats[string] // by node
	readers  *turns

	mu   sync.Mutex
	open map[uint32]int // requests under way, by user
}

// ListenRemote makes the server answer on a TCP address too: "HOST:PORT". It MUST be called
// BEFORE Serve, and the process MUST run as Options.UID, which clients address their
// credentials to.
func (s *Server) ListenRemote(ctx context.Context, address string, m wire.Munge) error {
	config := net.ListenConfig{KeepAlive: -1} // each wait for a peer has its own deadline
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%w; see [remote] address", err)
	}
	s.remote = &remote{listener: l, munge: m, server: s, seats: seats.Seats[string]{Each: perNode, All: inAll},
		readers: newTurns(readers), open: map[uint32]int{}}
	return nil
}

// RemoteAddr returns the TCP address of the server; nil if it has none.
func (s *Server) RemoteAddr() net.Addr {
	if s.remote == nil {
		return nil
	}
	return s.remote.listener.Addr()
}

// serve answers until ctx ends, then waits a moment for requests under way.
func (r *remote) serve(ctx context.Context, handler http.Handler) error {
	unhook := context.AfterFunc(ctx, func() { r.listener.Close() })
	defer unhook()
	defer r.listener.Close()
	var all sync.WaitGroup
	err := r.accept(ctx, handler, &all)
	if ctx.Err() != nil {
		err = nil
	}
	cut := time.AfterFunc(stopWithin, r.seats.Empty)
	defer cut.Stop()
	all.Wait()
	return err
}

// accept serves every connection in a goroutine of its own, counted by all, until the listener
// fails or is closed.
func (r *remote) accept(ctx context.Context, handler http.Handler, all *sync.WaitGroup) error {
	short := shortage{log: r.server.log}
	for {
		conn, err := r.listener.Accept()
		switch {
		case ctx.Err() == nil && short.passing(err): // out of file descriptors, or reset
			pause(ctx, acceptAgain)
			continue
		case err != nil:
			return err
		}
		c := newConnection(ctx, conn)
		if c.seat = r.seats.Enter(node(conn), c); c.seat == nil {
			c.Close()
			continue
		}
		all.Go(func() {
			defer c.seat.Leave()
			defer c.hangUp()
			r.meet(c, handler)
		})
	}
}

// node returns what a connection is counted by: its address without the port. For IPv6 it is
// the /64 network, since one machine may have all 2^64 addresses of it.
func node(conn net.Conn) string { return nodeOf(conn.RemoteAddr().String()) }

func nodeOf(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	ip := at.Addr().Unmap()
	if ip.Is4() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		return ip.String()
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// meet serves one connection: one letter, one answer. In this ORDER, the cheap steps first: the
// line is read, its form is checked, munged is asked, the letter is checked against the nonce,
// and only then the request is handled.
func (r *remote) meet(c *connection, handler http.Handler) {
	ctx, conn, s, nonce := c.ctx, c.Conn, c.seat, wire.NewNonce()
	credential, err := hear(conn, nonce)
	if err != nil || !c.heard() {
		return // it closed, sent nothing in time, or was refused
	}
	s.Work(true) // from here on the caller waits for sluiced, not sluiced for the caller
	caller, l, err := r.identify(ctx, s.Key(), nonce, credential)
	if err != nil { // written at once, since a short answer fits into the kernel's buffer
		r.refuse(ctx, conn, s.Key(), err)
		return
	}
	leave, full := r.enter(caller.UID)
	defer leave()
	p := r.answer(ctx, handler, &visit{caller: caller, full: full, work: s.Work}, l)
	sealed, err := wire.Seal(l.Key, nonce, p.status, p.body.Bytes())
	if err != nil {
		r.server.options.Load().Log(fmt.Errorf("answer to %s: %w", node(conn), err))
		return
	}
	s.Work(false)
	reply(conn, writeWithin, wire.MarkSealed, sealed)
}

// hear sends the greeting and reads one line.
func hear(conn net.Conn, nonce string) (string, error) {
	hangUp := time.AfterFunc(readWithin, func() { conn.Close() })
	defer hangUp.Stop()
	if _, err := conn.Write([]byte(wire.Greeting + nonce + "\n")); err != nil {
		return "", err
	}
	return line(conn, munge.MaxCredential)
}

// line reads up to the end of a line, at most limit bytes.
func line(conn net.Conn, limit int) (string, error) {
	raw, err := bufio.NewReaderSize(io.LimitReader(conn, int64(limit)+1), 4<<10).ReadString('\n')
	switch {
	case err == nil:
		return strings.TrimSuffix(raw, "\n"), nil
	case len(raw) > limit:
		return "", errors.New("a line too long")
	}
	return "", err
}

// reply sends an answer and waits until it is read, at most this long.
func reply(conn net.Conn, within time.Duration, mark string, body []byte) {
	hangUp := time.AfterFunc(within, func() { conn.Close() })
	defer hangUp.Stop()
	pieces := net.Buffers{[]byte(mark), body}
	_, _ = pieces.WriteTo(conn) // the peer may have gone; that is not an error
}

// identify returns the author and the content of a credential.
func (r *remote) identify(ctx context.Context, from, nonce, credential string) (Caller, wire.Letter, error) {
	if !munge.WellFormed(credential) { // checked before it takes a place in the queue
		return Caller{}, wire.Letter{}, fmt.Errorf("%w: it is malformed", munge.ErrRefused)
	}
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	if err := r.readers.take(ctx, from); err != nil {
		return Caller{}, wire.Letter{}, err
	}
	defer r.readers.give()
	c, err := r.munge.Open(ctx, credential, r.server.options.Load().UID)
	if err != nil {
		return Caller{}, wire.Letter{}, err
	}
	caller := Caller{UID: c.UID, GID: c.GID, Host: c.Host}
	l, err := wire.ReadLetter(c.Payload, nonce)
	if err != nil {
		return caller, wire.Letter{}, &badLetter{caller, err}
	}
	return caller, l, nil
}

// badLetter is a valid credential whose content is not meant for this connection.
type badLetter struct {
	caller Caller
	err    error
}

// Error returns what is wrong with it.
func (b *badLetter) Error() string { return b.err.Error() }

// refuse tells a caller why it is not served, in plain text because there is no key, and logs
// it.
func (r *remote) refuse(ctx context.Context, conn net.Conn, from string, err error) {
	answer := wire.Fail(wire.Unavailable, "see whether munged runs there: 'munge -n | unmunge'", "sluiced cannot ask munge for your identity")
	denial := Denial{From: from, Why: err.Error()}
	var bad *badLetter
	switch {
	case ctx.Err() != nil:
		return
	case errors.As(err, &bad):
		denial.Caller = bad.caller
		answer = wire.Fail(wire.Denied, "", "the request was refused: %v", err)
	case errors.Is(err, munge.ErrRefused):
		answer = wire.Fail(wire.Denied, "is the time the same on both nodes, and the munge key?", "%v", err)
	case errors.Is(err, wire.ErrTooManyWait):
		answer = wire.Fail(wire.TooMany, "try again in a moment", "%v", err)
	default:
		r.cannotAsk(from, err)
	}
	if answer.Code == wire.Denied {
		r.server.denied(denial)
	}
	raw, err := json.Marshal(wire.Failed{Error: answer})
	if err != nil || len(raw) > wire.MaxPlain {
		return
	}
	reply(conn, readWithin, wire.MarkPlain, raw)
}

// cannotAsk logs that munged does not answer. It is limited, because unknown clients decide how
// often munged is asked.
func (r *remote) cannotAsk(from string, err error) {
	if o := r.server.options.Load(); r.server.unknown.take(from, o.Now()) {
		o.Log(fmt.Errorf("munge: %w", err))
	}
}

// enter counts one more request of the user.
func (r *remote) enter(uid uint32) (leave func(), full *wire.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[uid]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.open[uid]--; r.open[uid] <= 0 {
			delete(r.open, uid)
		}
	}, tooMany(r.open[uid])
}

// page is an answer being written, as an http.ResponseWriter.
type page struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the header that handlers write to.
func (p *page) Header() http.Header { return p.header }

// WriteHeader records the first status.
func (p *page) WriteHeader(status int) {
	if p.status == 0 {
		p.status = status
	}
}

// Write appends to the body.
func (p *page) Write(raw []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.body.Write(raw)
}

// answer passes the request to the routes of the socket.
func (r *remote) answer(ctx context.Context, handler http.Handler, v *visit, l wire.Letter) (p *page) {
	p = &page{header: http.Header{}}
	defer func() {
		if fault := recover(); fault != nil {
			r.server.options.Load().Log(fmt.Errorf("api: %v\n%s", fault, debug.Stack()))
			p = &page{header: http.Header{}}
			send(p, http.StatusInternalServerError, wire.Failed{Error: wire.Fail(wire.Internal, "see sluiced's log", "a fault of sluiced")})
		}
	}()
	q, err := http.NewRequestWithContext(context.WithValue(ctx, visitKey{}, v), l.Method, "http://sluiced"+l.Path, bytes.NewReader(l.Body))
	if err != nil {
		send(p, http.StatusBadRequest, wire.Failed{Error: wire.Fail(wire.BadRequest, "", "request cannot be read: %v", err)})
		return p
	}
	handler.ServeHTTP(p, q)
	p.WriteHeader(http.StatusOK)
	return p
}
