package runner

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// resolvePatience bounds the test whether a node's name resolves; a resolver that is down
// must not delay a start.
const resolvePatience = time.Second

// masterAddress is the address at which the processes of all nodes find the first. A job
// on one node needs no name. In a lab the nodes' names do not resolve, and the machine's
// own name, or loopback, is used.
func masterAddress(ctx context.Context, hosts []string, host string) string {
	if len(hosts) <= 1 {
		return "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, resolvePatience)
	defer cancel()
	for _, name := range []string{hosts[0], host} {
		if addrs, err := net.DefaultResolver.LookupHost(ctx, name); err == nil && len(addrs) > 0 {
			return name
		}
	}
	return "127.0.0.1"
}

// address is the first address of a name, IPv4 before IPv6; the zero Addr if there is none.
func address(name string) netip.Addr {
	ctx, cancel := context.WithTimeout(context.Background(), resolvePatience)
	defer cancel()
	for _, network := range []string{"ip4", "ip6"} {
		if found, err := net.DefaultResolver.LookupNetIP(ctx, network, name); err == nil && len(found) > 0 {
			return found[0].Unmap()
		}
	}
	return netip.Addr{}
}
