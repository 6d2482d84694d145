package metrics

import (
	"errors"
	"net"
	"sync"
)

// seats is a listener with a bounded number of open connections.
type seats struct {
	net.Listener
	free chan struct{} // holds one value for each open connection
	done chan struct{}
	once sync.Once
}

// Accept waits for a free seat, then for a connection.
func (s *seats) Accept() (net.Conn, error) {
	select {
	case s.free <- struct{}{}:
	case <-s.done:
		return nil, net.ErrClosed
	}
	conn, err := s.Listener.Accept()
	if err != nil {
		<-s.free
		return nil, err
	}
	return &guest{Conn: conn, leave: func() { <-s.free }}, nil
}

// Close also ends an Accept that waits for a seat.
func (s *seats) Close() error {
	s.once.Do(func() { close(s.done) })
	return s.Listener.Close()
}

// guest is a connection that gives its seat back once.
type guest struct {
	net.Conn
	once  sync.Once
	leave func()
}

// Close closes the connection and frees its seat.
func (g *guest) Close() error {
	defer g.once.Do(g.leave)
	return g.Conn.Close()
}

// lines passes what a log.Logger writes to a function.
type lines func(error)

// Write takes one line.
func (f lines) Write(line []byte) (int, error) {
	f(errors.New(string(line)))
	return len(line), nil
}
