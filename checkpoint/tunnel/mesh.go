package tunnel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// Mesh is the connections of one node to the relays of all others.
type Mesh struct {
	self  int
	links []*link // by node; nil for this one

	mu      sync.Mutex
	over    bool
	dropped [2]int64 // packets out of this fence, and of other nodes for it, that were not theirs to send
}

// Lost is the end of a connection to another node.
type Lost struct {
	Node int
	Err  error
}

// Error names the node by its number.
func (e *Lost) Error() string { return fmt.Sprintf("the relay of node %d is gone: %v", e.Node, e.Err) }

// Unwrap returns the cause.
func (e *Lost) Unwrap() error { return e.Err }

// Unready is a node that cannot take part, by its own word.
type Unready struct {
	Node int
	Why  string
}

// Error returns what the node said.
func (e *Unready) Error() string { return e.Why }

// Bounds of connections whose other side has not shown that it has the key.
const (
	greetWithin  = 10 * time.Second
	maxStrangers = 64
)

// Lead is the part of node 0: it lets the others in and tells each where the others are. It closes the listener.
// ctx bounds it.
func Lead(ctx context.Context, l net.Listener, key Key, nodes int) (*Mesh, error) {
	m := &Mesh{links: make([]*link, nodes)}
	ports := make([]int, nodes)
	err := m.letIn(ctx, l, key, 1, func(n note) { ports[n.Node] = n.Port })
	if err != nil {
		m.Close()
		return nil, err
	}
	peers := make([]string, nodes)
	for i, other := range m.links[1:] {
		host, _, _ := net.SplitHostPort(other.RemoteAddr().String())
		peers[i+1] = net.JoinHostPort(host, strconv.Itoa(ports[i+1]))
	}
	for i, other := range m.links[1:] {
		if err := other.say(note{Peers: peers}); err != nil {
			m.Close()
			return nil, &Lost{i + 1, err}
		}
	}
	return m, nil
}

// Join is the part of the node with this number, from 1: it connects to node 0, whose relay listens at first, and
// to those in between, and lets those above in. ctx bounds it.
func Join(ctx context.Context, first string, key Key, self, nodes int) (*Mesh, error) {
	m := &Mesh{self: self, links: make([]*link, nodes)}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	err = m.connect(ctx, first, key, 0, l.Addr().(*net.TCPAddr).Port)
	var told note
	if err == nil {
		m.within(ctx, 0, func() { told, err = m.links[0].hear() })
	}
	if err == nil && len(told.Peers) != nodes {
		err = errFrame
	}
	for other := 1; err == nil && other < self; other++ {
		err = m.connect(ctx, told.Peers[other], key, other, 0)
	}
	if err == nil {
		err = m.letIn(ctx, l, key, self+1, func(note) {})
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// within calls use, which talks to a node, and closes its connection when ctx ends before.
func (m *Mesh) within(ctx context.Context, node int, use func()) {
	stop := context.AfterFunc(ctx, func() { m.links[node].below.Close() })
	defer stop()
	use()
}

// connect connects to the relay of another node. It tries again: strangers may have taken all seats there.
func (m *Mesh) connect(ctx context.Context, address string, key Key, node, port int) error {
	for {
		err := m.tryConnect(ctx, address, key, node, port)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(retry):
			if !errors.Is(err, errStranger) {
				continue
			}
		case <-ctx.Done():
		}
		return &Lost{node, err}
	}
}

// retry is the pause between two attempts to connect.
const retry = 200 * time.Millisecond

func (m *Mesh) tryConnect(ctx context.Context, address string, key Key, node, port int) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	l, err := secure(ctx, conn, key, true, room(len(m.links)))
	if err != nil {
		return err
	}
	m.links[node] = l
	m.within(ctx, node, func() { err = l.say(note{Node: m.self, Port: port}) })
	return err
}

// guest is a relay that has the key, and what it said.
type guest struct {
	*link
	note
}

// letIn lets the nodes from a number on in, each once, and closes the listener.
func (m *Mesh) letIn(ctx context.Context, l net.Listener, key Key, from int, greeted func(note)) error {
	missing := len(m.links) - from
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	guests := make(chan guest)
	go reception(ctx, l, key, room(len(m.links)), guests) // ends with the listener
	for missing > 0 {
		select {
		case g := <-guests:
			if g.Node < from || g.Node >= len(m.links) || m.links[g.Node] != nil {
				g.Conn.Close()
				continue
			}
			m.links[g.Node] = g.link
			greeted(g.note)
			missing--
		case <-ctx.Done():
			for i := from; i < len(m.links); i++ {
				if m.links[i] == nil {
					return &Lost{i, ctx.Err()}
				}
			}
		}
	}
	return nil
}

// reception takes connections, at most maxStrangers at a time whose other side has not shown that it has the key.
func reception(ctx context.Context, l net.Listener, key Key, buffered int, guests chan<- guest) {
	seats := make(chan struct{}, maxStrangers)
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case seats <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		go func() { // ends within greetWithin
			defer func() { <-seats }()
			short, cancel := context.WithTimeout(ctx, greetWithin)
			defer cancel()
			stop := context.AfterFunc(short, func() { conn.Close() })
			g := guest{}
			var err error
			if g.link, err = secure(short, conn, key, false, buffered); err == nil {
				g.note, err = g.hear()
			}
			if !stop() || err != nil {
				conn.Close()
				return
			}
			select {
			case guests <- g:
			case <-ctx.Done():
				conn.Close()
			}
		}()
	}
}

// Await returns when all other nodes are ready: node 0 calls it. servers are the addresses at which their servers of
// tasks listen, by node, as far as they said ports. The error is a *Lost or an *Unready.
func (m *Mesh) Await(ctx context.Context) (servers []string, err error) {
	servers = make([]string, len(m.links))
	for i, l := range m.links {
		if l == nil {
			continue
		}
		var n note
		m.within(ctx, i, func() { n, err = l.hear() })
		switch {
		case err != nil:
			return nil, &Lost{i, errors.Join(err, ctx.Err())}
		case !n.Ready:
			return nil, &Unready{i, n.Why}
		}
		if n.Port > 0 {
			host, _, _ := net.SplitHostPort(l.RemoteAddr().String())
			servers[i] = net.JoinHostPort(host, strconv.Itoa(n.Port))
		}
	}
	return servers, nil
}

// Ready tells node 0 that this node's fence stands, and on which port its server of tasks listens, if not on that of
// the job's own network (0).
func (m *Mesh) Ready(port int) error {
	return m.links[0].say(note{Node: m.self, Ready: true, Port: port})
}

// Unready tells node 0 why this node's fence cannot stand.
func (m *Mesh) Unready(why string) error {
	return m.links[0].say(note{Node: m.self, Why: why})
}

// Address is this node's, as the first node sees it; only the others ask.
func (m *Mesh) Address() netip.Addr {
	at, _ := netip.ParseAddrPort(m.links[0].LocalAddr().String()) // the zero Addr if it is none
	return at.Addr().Unmap()
}

// Hold waits until a connection ends, where no packets are carried: nil after Close, else a *Lost.
func (m *Mesh) Hold() error {
	ended := make(chan error, len(m.links))
	for i, l := range m.links {
		if l != nil {
			go func() { // ends with the connection
				_, err := l.receive(make([]byte, 1))
				ended <- &Lost{i, errors.Join(err, errFrame)}
			}()
		}
	}
	return m.ended(<-ended)
}

// ended is why the connections ended: nil if Close ended them.
func (m *Mesh) ended(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return nil
	}
	return err
}

// Close ends all connections; Carry and Hold return then.
func (m *Mesh) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	for _, l := range m.links {
		if l != nil {
			l.below.Close() // without a farewell, for which a stuck sender would have to be waited for
		}
	}
}

// Dropped returns how many packets were dropped so far: of this node's fence, and of other nodes for it.
func (m *Mesh) Dropped() (out, in int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dropped[0], m.dropped[1]
}
