package control

import (
	"net"
	"sync"
)

// How many connections may be open at once. The client opens one a request.
// Between the first and the second number a caller is served nothing but the
// reason; beyond the second his connection is closed.
const (
	perUser, perUserHard = 16, 32
	inAll, inAllHard     = 512, 640
)

// gate is a listener that knows who connects and bounds how many connections
// each user, and all together, hold.
type gate struct {
	*net.UnixListener

	mu    sync.Mutex
	open  map[uint32]int
	total int
}

// guest is an admitted connection.
type guest struct {
	net.Conn
	caller Caller
	crowd  *Error // not nil: serve nothing but this
	leave  func()
}

// Close closes the connection and makes room for another.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// Accept returns the next connection that there is room for.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.AcceptUnix()
		if err != nil {
			return nil, err
		}
		caller, err := peer(conn)
		if err != nil || !g.enter(caller.UID) {
			conn.Close()
			continue
		}
		leave := sync.OnceFunc(func() { g.left(caller.UID) })
		return &guest{Conn: conn, caller: caller, crowd: g.crowd(caller.UID), leave: leave}, nil
	}
}

// enter counts one more connection of the user unless that is far too many.
func (g *gate) enter(uid uint32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[uid] >= perUserHard || g.total >= inAllHard {
		return false
	}
	g.open[uid]++
	g.total++
	return true
}

// crowd returns why a connection that was counted is not served, or nil.
func (g *gate) crowd(uid uint32) *Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	const hint = "try again in a moment"
	switch {
	case g.open[uid] > perUser:
		return fail(TooMany, hint, "you have %d requests to sluiced under way", perUser)
	case g.total > inAll:
		return fail(TooMany, hint, "sluiced has %d requests under way", inAll)
	}
	return nil
}

func (g *gate) left(uid uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.open[uid]--; g.open[uid] <= 0 {
		delete(g.open, uid)
	}
}
