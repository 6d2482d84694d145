package seats

import (
	"io"
	"sync"
)

// Seats holds the open connections by key (user or node). When it is full, a new connection
// replaces an idle one, that is, one that the daemon waits for: the oldest idle one of the key
// with the most connections. So a client that opens many idle connections displaces only its
// own.
type Seats[K comparable] struct {
	Each, All int         // bounds: of a key, of all
	More      func(K) int // instead of Each, if it is set

	mu    sync.Mutex
	of    map[K][]*Seat[K] // oldest first; no key has an empty list
	total int              // number of seats in all lists
	came  uint64
}

// Seat is the place of one connection.
type Seat[K comparable] struct {
	in   *Seats[K]
	key  K
	conn io.Closer
	came uint64
	busy bool // the daemon works on its request, so it is not idle
	gone bool
}

// Enter gives a connection a seat. It returns nil if none is free and none can be taken from
// another connection.
func (c *Seats[K]) Enter(key K, conn io.Closer) *Seat[K] {
	c.mu.Lock()
	out, ok := c.room(key)
	if !ok {
		c.mu.Unlock()
		return nil
	}
	if c.of == nil {
		c.of = map[K][]*Seat[K]{}
	}
	c.came++
	s := &Seat[K]{in: c, key: key, conn: conn, came: c.came}
	c.of[key] = append(c.of[key], s)
	c.total++
	c.mu.Unlock()
	if out != nil { // without the lock: Close may write a refusal first
		out.conn.Close()
	}
	return s
}

// room makes room for one more connection of the key. It returns the seat to close, if any.
func (c *Seats[K]) room(key K) (*Seat[K], bool) {
	var out *Seat[K]
	switch {
	case len(c.of[key]) >= c.most(key):
		out = oldestIdle(c.of[key])
	case c.total >= c.All:
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
func (c *Seats[K]) most(key K) int {
	if c.More != nil {
		return c.More(key)
	}
	return c.Each
}

// toClose returns the seat to close for a new connection of the key when all seats are taken: an
// idle one of the key with the most seats, the new one counted.
func (c *Seats[K]) toClose(key K) *Seat[K] {
	var best *Seat[K]
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
func oldestIdle[K comparable](seats []*Seat[K]) *Seat[K] {
	for _, s := range seats {
		if !s.busy {
			return s
		}
	}
	return nil
}

func (c *Seats[K]) remove(s *Seat[K]) {
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

// Count returns how many seats the key has.
func (c *Seats[K]) Count(key K) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.of[key])
}

// Empty closes all connections.
func (c *Seats[K]) Empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, seats := range c.of {
		for _, s := range seats {
			s.conn.Close()
		}
	}
}

// Key returns whose seat it is.
func (s *Seat[K]) Key() K { return s.key }

// Work says whether the daemon works on the connection's request (true) or waits for the client.
func (s *Seat[K]) Work(busy bool) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.busy = busy
}

// Leave gives the seat up. It may be called more than once.
func (s *Seat[K]) Leave() {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if !s.gone {
		s.in.remove(s)
	}
}
