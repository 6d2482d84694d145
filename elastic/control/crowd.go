package control

import (
	"io"
	"sync"
)

// How many connections may be open at once: of one user on the socket, of one
// node over TCP, and in all. The client opens one a request.
const (
	perUser, perUserHard = 16, 32
	perNode              = 512
	inAll                = 2048
)

// crowd is who is connected, by whom they are counted under. When it is full a
// newcomer takes the seat of somebody who keeps sluiced waiting: of those with
// the most seats, the one who came first. So whoever opens many connections and
// says nothing pushes himself out, and nobody else.
type crowd[K comparable] struct {
	each, all int // bounds

	mu    sync.Mutex
	of    map[K][]*seat[K] // in the order they came
	total int
	came  uint64
}

// seat is one connection's place.
type seat[K comparable] struct {
	in   *crowd[K]
	key  K
	conn io.Closer
	came uint64
	busy bool // sluiced works for it: it is not its fault that it is still here
	gone bool
}

// enter gives a connection a seat; when there is none for it, not even somebody
// else's, it returns nil.
func (c *crowd[K]) enter(key K, conn io.Closer) *seat[K] {
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
	if out != nil {
		out.conn.Close()
	}
	return s
}

// room makes room for one more of the key and returns who has to go, if anybody.
func (c *crowd[K]) room(key K) (*seat[K], bool) {
	var out *seat[K]
	switch {
	case len(c.of[key]) >= c.each:
		out = idler(c.of[key])
	case c.total >= c.all:
		out = c.victim(key)
	default:
		return nil, true
	}
	if out == nil {
		return nil, false
	}
	c.remove(out)
	return out, true
}

// victim is who gives way to a newcomer of the key when all seats are taken: an
// idler of those with the most, the newcomer counted in.
func (c *crowd[K]) victim(key K) *seat[K] {
	var best *seat[K]
	most := 0
	for k, seats := range c.of {
		n := len(seats)
		if k == key {
			n++
		}
		s := idler(seats)
		if s != nil && (best == nil || n > most || n == most && s.came < best.came) {
			best, most = s, n
		}
	}
	if best != nil && best.key != key && len(c.of[key])+1 > most {
		return nil // the newcomer would have more than anybody, and all his are busy
	}
	return best
}

// idler is the first to have come of those who keep sluiced waiting.
func idler[K comparable](seats []*seat[K]) *seat[K] {
	for _, s := range seats {
		if !s.busy {
			return s
		}
	}
	return nil
}

func (c *crowd[K]) remove(s *seat[K]) {
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

// count is how many seats the key has.
func (c *crowd[K]) count(key K) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.of[key])
}

// empty closes everybody's connection.
func (c *crowd[K]) empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, seats := range c.of {
		for _, s := range seats {
			s.conn.Close()
		}
	}
}

// work says whether sluiced works for the connection, or waits for it.
func (s *seat[K]) work(busy bool) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.busy = busy
}

// leave gives the seat up; more than once is harmless.
func (s *seat[K]) leave() {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if !s.gone {
		s.in.remove(s)
	}
}
