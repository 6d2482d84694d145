package control

import (
	"context"
	"encoding/json"
	"net"
	"sync/atomic"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/seats"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// connection is a TCP connection with its seat. Close makes it give up the seat. If its letter
// was not read yet, the client is told so and can try again.
type connection struct {
	net.Conn
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	seat   *seats.Seat[string]
	state  atomic.Int32 // stateWaiting until its letter is read or it is refused
}

// States of a connection. It leaves stateWaiting at most once, by CompareAndSwap: so it is not both
// served and refused, although the goroutine that serves it and the one that needs its seat run
// at the same time. A client that is told "not read" can rely on it.
const (
	stateWaiting = iota
	stateHeard
	stateSentAway
)

// sendAwayWithin is the longest time for writing a refusal; it fits into the kernel's buffer.
const sendAwayWithin = 10 * time.Millisecond

func newConnection(ctx context.Context, conn net.Conn) *connection {
	c := &connection{Conn: conn}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// heard records that the letter will be read; false if the connection was refused already.
func (c *connection) heard() bool { return c.state.CompareAndSwap(stateWaiting, stateHeard) }

// Close refuses the connection if its letter was not read yet, and closes it.
func (c *connection) Close() error {
	if c.state.CompareAndSwap(stateWaiting, stateSentAway) {
		reply(c.Conn, sendAwayWithin, wire.MarkPlain, refusal)
	}
	return c.hangUp()
}

// hangUp closes it without an answer. It ends ctx too, and with it the request's work.
func (c *connection) hangUp() error {
	c.cancel()
	return c.Conn.Close()
}

// refusal is the answer to a connection that is refused unread.
var refusal = func() []byte {
	raw, err := json.Marshal(wire.Failed{Error: wire.Fail(wire.TooMany, "try again in a moment", "%v", wire.ErrTooManyWait)})
	if err != nil {
		panic(err) // it is a constant
	}
	return raw
}()
