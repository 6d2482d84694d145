package runner

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/step"
	"github.com/sluice-hpc/sluice/checkpoint/tunnel"
)

// serveOwn starts tasks in a fence whose network is the job's own, where only the job's programs can connect.
func serveOwn(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	return step.Serve(l, nil, confine.Sluice, taskVerb)
}

// serveSite starts tasks in a fence on the network of the site, for who has the key. Both arguments are numbers of
// descriptors, which the part outside has opened.
func serveSite(listener, key string) error {
	socket, err := descriptor(listener)
	if err != nil {
		return err
	}
	l, err := net.FileListener(socket)
	if err != nil {
		return err
	}
	socket.Close()
	file, err := descriptor(key)
	if err != nil {
		return err
	}
	return step.Serve(l, file, confine.Sluice, keyedVerb)
}

// descriptor is the inherited file with this number.
func descriptor(number string) (*os.File, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < confine.First {
		return nil, fmt.Errorf("%q is no number of a descriptor", number)
	}
	return os.NewFile(uintptr(n), "passed"), nil
}

// onSite builds this node's fence on the network of the site. Its server of tasks listens on a port that the kernel
// chooses, which the first node is told.
func (p *part) onSite(start confine.Start) (*enclosure, error) {
	if len(p.Tasks) != len(tunnel.Key{}) {
		return nil, fmt.Errorf("%w: no key for tasks came from the first node", errConfined)
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return nil, err
	}
	defer l.Close() // the fence has a copy
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	key, err := confine.Memory("key", p.Tasks)
	if err != nil {
		socket.Close()
		return nil, err
	}
	p.port = l.Addr().(*net.TCPAddr).Port
	start.Site = confine.LookAtSite(p.Vars["SLURMD_NODENAME"], p.mesh.Address())
	// Nothing that the program prints here is printed outside.
	return p.enclose(p.Family, start, []string{confine.Sluice, serveVerb}, nil, socket, key)
}
