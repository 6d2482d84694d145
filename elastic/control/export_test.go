package control

import (
	"bufio"
	"net"
	"net/http"
)

// DialHere is Dial for tests that become somebody else: it connects in the
// caller's goroutine, where http.Transport would in one of its own.
func DialHere(path string) *Client {
	return &Client{path: path, http: http.Client{Transport: here(path)}}
}

type here string

func (path here) RoundTrip(req *http.Request) (*http.Response, error) {
	conn, err := net.Dial("unix", string(path))
	if err != nil {
		return nil, err
	}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return nil, err
	}
	res.Body = body{res.Body, conn}
	return res, nil
}

type body struct {
	readCloser
	conn net.Conn
}

type readCloser interface {
	Read([]byte) (int, error)
	Close() error
}

func (b body) Close() error { b.readCloser.Close(); return b.conn.Close() }

// DialRemoteFrom is DialRemote from another node's address.
func DialRemoteFrom(r Remote, dialer *net.Dialer) *Client {
	return &Client{path: r.Address, remote: true, http: http.Client{Transport: &sealed{remote: r, dialer: *dialer}}}
}

// MostOfNode is how many credentials of a node wait at most.
const MostOfNode = mostOfNode

// Queued is how many credentials wait to be read.
func (s *Server) Queued() int {
	s.remote.readers.mu.Lock()
	defer s.remote.readers.mu.Unlock()
	n := 0
	for _, line := range s.remote.readers.lines {
		n += len(line)
	}
	return n
}
