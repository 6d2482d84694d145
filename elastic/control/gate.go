package control

import (
	"net"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// gate is a listener that knows who connects and bounds how many connections
// each user, and all together, hold.
type gate struct {
	*net.UnixListener
	crowd    crowd[uint32]
	arrivals buckets[uint32] // beyond them it costs sluiced next to nothing to say no
	now      func() time.Time
	short    shortage
}

// visit is one request's caller and what the server has to know of his
// connection.
type visit struct {
	caller Caller
	full   *wire.Error // not nil: serve nothing but this
	work   func(bool)  // see seat.work
}

// guest is an admitted connection.
type guest struct {
	net.Conn
	visit
	leave func()
}

// Close closes the connection and makes room for another.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

func newGate(l *net.UnixListener, now func() time.Time, log func(error)) *gate {
	return &gate{UnixListener: l, now: now, short: shortage{log: log}, crowd: crowd[uint32]{each: perUserHard, all: inAll},
		arrivals: buckets[uint32]{burst: 2000, every: 5 * time.Millisecond}}
}

// Accept returns the next connection that there is room for. Where the process has no
// file descriptor left it waits for one: net/http would, too, with a line in the log
// each second.
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
		s := g.crowd.enter(caller.UID, conn)
		if s == nil {
			conn.Close()
			continue
		}
		return &guest{Conn: conn, visit: visit{caller, tooMany(g.crowd.count(caller.UID)), s.work}, leave: s.leave}, nil
	}
}

// tooMany is why a connection that was let in is not served, or nil.
func tooMany(open int) *wire.Error {
	if open <= perUser {
		return nil
	}
	return wire.Fail(wire.TooMany, "try again in a moment", "you have %d requests to sluiced under way", perUser)
}
