package ranks

import (
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"strconv"
	"strings"
)

// Ports below this belong to services, those of Slurm among them.
const lowestPort = 10_000

// FreePort returns a TCP port on which no process listens, below those that the kernel
// assigns itself. It is chosen from the seed so that two jobs, or two runs of one job, do
// not try the same. It was free a moment ago; it is not reserved.
func FreePort(seed string) (int, error) {
	first := ephemeral()
	span := max(1, first-lowestPort)
	h := fnv.New64a()
	h.Write([]byte(seed))
	at := h.Sum64()
	for i := range uint64(200) {
		port := lowestPort + int((at+i*7919)%uint64(span))
		if Free(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free TCP port from %d to %d", lowestPort, first-1)
}

// Free reports whether no process listens on a TCP port, on any address.
func Free(port int) bool {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// ephemeral is the first port that the kernel assigns itself.
func ephemeral() int {
	const usual = 32768
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	low, err := strconv.Atoi(strings.Fields(string(data) + " x")[0])
	if err != nil || low <= lowestPort+1000 {
		return usual
	}
	return low
}
