package control

import (
	"bufio"
	"net"
	"net/http"

	"github.com/sluice-hpc/sluice/elastic/control/client"
)

// DialHere is Dial for tests that become somebody else: it connects in the
// caller's goroutine, where http.Transport would in one of its own.
func DialHere(path string) *client.Client {
	return client.Over(path, here(path))
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
func DialRemoteFrom(r client.Remote, dialer *net.Dialer) *client.Client {
	r.Dialer = *dialer
	return client.DialRemote(r)
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
