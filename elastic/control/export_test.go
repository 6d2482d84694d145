package control

import (
	"net"

	"github.com/sluice-hpc/sluice/elastic/control/client"
)

// DialRemoteFrom is DialRemote from another node's address.
func DialRemoteFrom(r client.Remote, dialer *net.Dialer) *client.Client {
	r.Dialer = *dialer
	return client.DialRemote(r)
}

// MostOfNode is how many credentials of one node may wait.
const MostOfNode = mostOfNode

// Queued returns how many credentials wait to be read.
func (s *Server) Queued() int {
	s.remote.readers.mu.Lock()
	defer s.remote.readers.mu.Unlock()
	n := 0
	for _, line := range s.remote.readers.lines {
		n += len(line)
	}
	return n
}
