package control

import (
	"net"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/seats"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Bounds on open connections: of one user on the socket, of one node over TCP, and in all. The
// client opens one per request. Over perUser a user's requests are answered with TooMany; at
// perUserHard a new connection is closed, or closes an idle one of the same user.
const (
	perUser, perUserHard = 16, 32
	perWeb, perWebHard   = 224, 256 // of the site's web program, for all its users
	perNode              = 512
	inAll                = 2048
)

// gate is a listener that knows which account connects and bounds how many connections each
// user, and all together, hold.
type gate struct {
	*net.UnixListener
	seats    seats.Seats[uint32]
	arrivals buckets[uint32] // connections beyond this rate are refused at almost no cost
	now      func() time.Time
	short    shortage
	web      func(uid uint32) bool
}

// visit is the caller of a request and what the server needs to know about its connection.
type visit struct {
	caller Caller
	full   *wire.Error // if not nil, the only answer to give
	work   func(bool)  // see seats.Seat.Work
	// leaveSeat gives the connection's seat up while it stays open, and hangUp closes it; nil over TCP.
	leaveSeat func()
	hangUp    func() error
}

// guest is an accepted connection.
type guest struct {
	net.Conn
	visit
	leave func()
}

// Close closes the connection and frees its seat.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

func newGate(l *net.UnixListener, now func() time.Time, web func(uint32) bool, log func(error)) *gate {
	more := func(uid uint32) int {
		if web(uid) {
			return perWebHard
		}
		return perUserHard
	}
	return &gate{UnixListener: l, now: now, web: web, short: shortage{log: log}, seats: seats.Seats[uint32]{Each: perUserHard, More: more, All: inAll},
		arrivals: buckets[uint32]{burst: 2000, every: 5 * time.Millisecond}}
}

// Accept returns the next connection that there is a seat for. If the process has no file
// descriptor left it waits for one; net/http would too, but with a log line each second.
//
// Connections over a bound are closed here, BEFORE net/http starts a goroutine and allocates
// buffers for them. A user between perUser and perUserHard gets an error that says so instead.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.AcceptUnix()
		if g.short.passing(err) {
			time.Sleep(acceptAgain)
			continue
		}
		if err != nil {
			return nil, err
		}
		caller, err := peer(conn)
		if err != nil || !g.arrivals.take(caller.UID, g.now()) {
			conn.Close()
			continue
		}
		s := g.seats.Enter(caller.UID, conn)
		if s == nil {
			conn.Close()
			continue
		}
		return &guest{Conn: conn, visit: visit{caller, g.tooMany(caller.UID), s.Work, s.Leave, conn.Close}, leave: s.Leave}, nil
	}
}

// tooMany returns why a connection of the account is not served; nil if it is.
func (g *gate) tooMany(uid uint32) *wire.Error {
	open := g.seats.Count(uid)
	if g.web(uid) {
		open -= perWeb - perUser
	}
	return tooMany(open)
}

// tooMany returns why an accepted connection is not served; nil if it is.
func tooMany(open int) *wire.Error {
	if open <= perUser {
		return nil
	}
	return wire.Fail(wire.TooMany, "try again in a moment", "you have %d requests to sluiced under way", perUser)
}
