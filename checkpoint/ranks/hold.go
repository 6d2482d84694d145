package ranks

import (
	"fmt"
	"hash/fnv"

	"golang.org/x/sys/unix"
)

// held are TCP ports that no other process can bind until they are released. They are
// bound but not listened on: a client that connects too early is refused, as by a server
// that is not up.
type held struct {
	sockets []int
	ports   []int
}

// hold takes n different ports from those that FreePort chooses from. Nodes that share a
// machine, as in a lab, get different ones.
func hold(n int, seed string) (*held, error) {
	if n > maxTasks {
		return nil, fmt.Errorf("%d tasks on this node: at most %d", n, maxTasks)
	}
	h := &held{}
	first := ephemeral()
	span := max(1, first-lowestPort)
	sum := fnv.New64a()
	sum.Write([]byte(seed))
	at := sum.Sum64() % uint64(span)
	for i := 0; i < span && len(h.ports) < n; i++ {
		port := lowestPort + int((at+uint64(i))%uint64(span))
		if socket, ok := bind(port); ok {
			h.sockets, h.ports = append(h.sockets, socket), append(h.ports, port)
		}
	}
	if len(h.ports) < n {
		h.release()
		return nil, fmt.Errorf("only %d of %d TCP ports from %d to %d are free", len(h.ports), n, lowestPort, first-1)
	}
	return h, nil
}

// release releases the ports.
func (h *held) release() {
	if h == nil {
		return
	}
	for _, socket := range h.sockets {
		unix.Close(socket)
	}
	h.sockets = nil
}

// bind binds a socket to the port on every address, of IPv6 as well if the kernel has it.
func bind(port int) (socket int, free bool) {
	const kind = unix.SOCK_STREAM | unix.SOCK_CLOEXEC
	var any unix.Sockaddr = &unix.SockaddrInet6{Port: port}
	socket, err := unix.Socket(unix.AF_INET6, kind, 0)
	if err == nil {
		err = unix.SetsockoptInt(socket, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
	} else {
		any = &unix.SockaddrInet4{Port: port}
		socket, err = unix.Socket(unix.AF_INET, kind, 0)
	}
	if err != nil {
		return 0, false
	}
	if unix.Bind(socket, any) != nil {
		unix.Close(socket)
		return 0, false
	}
	return socket, true
}
