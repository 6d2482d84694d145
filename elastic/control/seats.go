package control

import (
	"io"
	"sync"
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

// seats holds the open connections by key (user or node). When it is full, a new connection
// replaces an idle one, that is, one that sluiced waits for: the oldest idle one of the key
// with the most connections. So a client that opens many idle connections displaces only its
// own.
type seats[K comparable] struct {
	each, all int         // bounds
	more      func(K) int // instead of each, if it is set

	mu    sync.Mutex
	of    map[K][]*seat[K] // oldest first; no key has an empty list
	total int              // number of seats in all lists
	came  uint64
}

// seat is the place of one connection.
type seat[K comparable] struct {
	in   *seats[K]
	key  K
	conn io.Closer
	came uint64
	busy bool // sluiced works on its request, so it is not idle
	gone bool
}

// enter gives a connection a seat. It returns nil if none is free and none can be taken from
// another connection.
func (c *seats[K]) enter(key K, conn io.Closer) *seat[K] {
	c.mu.Lock()
	out, ok := c.room(key)
	if !ok {
		c.mu.Unlock()
		return nil
	}
	if c.of == nil {
		c.of = map[K][]*seat[K]{}
	}
	c.came++
	s := &seat[K]{in: c, key: key, conn: conn, came: c.came}
	c.of[key] = append(c.of[key], s)
	c.total++
	c.mu.Unlock()
	if out != nil { // without the lock: Close may write a refusal first
		out.conn.Close()
	}
	return s
}

// room makes room for one more connection of the key. It returns the seat to close, if any.
func (c *seats[K]) room(key K) (*seat[K], bool) {
	var out *seat[K]
	switch {
	case len(c.of[key]) >= c.most(key):
		out = oldestIdle(c.of[key])
	case c.total >= c.all:
		out = c.toClose(key)
	default:
		return nil, true
	}
	if out == nil {
		return nil, false
	}
	c.remove(out)
	return out, true
}

// most is how many seats a key may have.
func (c *seats[K]) most(key K) int {
	if c.more != nil {
		return c.more(key)
	}
	return c.each
}

// toClose returns the seat to close for a new connection of the key when all seats are taken: an
// idle one of the key with the most seats, the new one counted.
func (c *seats[K]) toClose(key K) *seat[K] {
	var best *seat[K]
	most := 0
	for k, seats := range c.of {
		n := len(seats)
		if k == key {
			n++
		}
		s := oldestIdle(seats)
		if s != nil && (best == nil || n > most || n == most && s.came < best.came) {
			best, most = s, n
		}
	}
	if best != nil && best.key != key && len(c.of[key])+1 > most {
		return nil // the key would have the most seats, and all of them are busy
	}
	return best
}

// oldestIdle returns the oldest idle seat; nil if there is none.
func oldestIdle[K comparable](seats []*seat[K]) *seat[K] {
	for _, s := range seats {
		if !s.busy {
			return s
		}
	}
	return nil
}

func (c *seats[K]) remove(s *seat[K]) {
	s.gone = true
	seats := c.of[s.key]
	for i, other := range seats {
		if other == s {
			seats = append(seats[:i], seats[i+1:]...)
			break
		}
	}
	if c.of[s.key] = seats; len(seats) == 0 {
		delete(c.of, s.key)
	}
	c.total--
}

// count returns how many seats the key has.
func (c *seats[K]) count(key K) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.of[key])
}

// empty closes all connections.
func (c *seats[K]) empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, seats := range c.of {
		for _, s := range seats {
			s.conn.Close()
		}
	}
}

// work says whether sluiced works on the connection's request (true) or waits for the client.
func (s *seat[K]) work(busy bool) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.busy = busy
}

// leave gives the seat up. It may be called more than once.
func (s *seat[K]) leave() {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if !s.gone {
		s.in.remove(s)
	}
}
