package control

import (
	"context"
	"encoding/json"
	"net"
	"sync/atomic"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// connection is one over TCP, with its seat. Closing it is how it is made to give up the
// seat: as long as its letter was not heard it is told so, so that it can try again.
type connection struct {
	net.Conn
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	seat   *seat[string]
	state  atomic.Int32 // waiting until it is either heard or sent away
}

// States of a connection.
const (
	stateWaiting = iota
	stateHeard
	stateSentAway
)

// sendAwayWithin is the longest time for telling a connection that it is sent away; what is
// told fits into the kernel's buffer.
const sendAwayWithin = 10 * time.Millisecond

func newConnection(ctx context.Context, conn net.Conn) *connection {
	c := &connection{Conn: conn}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// heard notes that its letter will be read; false when it was told that it will not.
func (c *connection) heard() bool { return c.state.CompareAndSwap(stateWaiting, stateHeard) }

// Close sends it away.
func (c *connection) Close() error {
	if c.state.CompareAndSwap(stateWaiting, stateSentAway) {
		reply(c.Conn, sendAwayWithin, wire.MarkPlain, goAway)
	}
	return c.hangUp()
}

// hangUp closes it without a word.
func (c *connection) hangUp() error {
	c.cancel()
	return c.Conn.Close()
}

// goAway is what one is told who is sent away unread.
var goAway = func() []byte {
	raw, err := json.Marshal(wire.Failed{Error: wire.Fail(wire.TooMany, "try again in a moment", "%v", wire.ErrCrowdedOut)})
	if err != nil {
		panic(err) // it is a constant
	}
	return raw
}()
