package lab

import (
	"fmt"
	"hash/fnv"

	"golang.org/x/sys/unix"
)

// Ports are below the range in which kernels choose ports for outgoing connections, so
// that a restarted daemon finds its own port free.
const (
	firstPort = 20000
	lastPort  = 32000
)

// reservation holds TCP ports until the daemons that will use them have bound
// them, so that labs started at the same moment choose different ones.
//
// Each port is bound without SO_REUSEADDR, which fails if the port is in use, and then
// marked reusable: from then on the kernel lets a daemon that sets SO_REUSEADDR (all of
// Slurm's do) bind and listen on it too, since we never listen, while another lab's
// first, exclusive bind fails.
type reservation struct {
	ports   []int
	sockets []int
}

// reserve takes n free ports. The search starts at a place that depends on dir, so that a
// lab usually gets the same ports again and different labs get different ones.
func reserve(dir string, n int) (*reservation, error) {
	h := fnv.New32a()
	h.Write([]byte(dir))
	span := lastPort - firstPort
	start := int(h.Sum32() % uint32(span))
	r := &reservation{}
	for i := 0; i < span && len(r.ports) < n; i++ {
		port := firstPort + (start+i)%span
		if fd, err := hold(port); err == nil {
			r.ports = append(r.ports, port)
			r.sockets = append(r.sockets, fd)
		}
	}
	if len(r.ports) < n {
		r.release()
		return nil, fmt.Errorf("only %d of %d ports free between %d and %d", len(r.ports), n, firstPort, lastPort)
	}
	return r, nil
}

// hold binds one port on all addresses without listening.
func hold(port int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err = unix.Bind(fd, &unix.SockaddrInet4{Port: port}); err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		unix.Close(fd)
		return 0, err
	}
	return fd, nil
}

// release gives the ports up; repeating it is harmless.
func (r *reservation) release() {
	for _, fd := range r.sockets {
		unix.Close(fd)
	}
	r.sockets = nil
}
