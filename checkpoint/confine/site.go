package confine

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
)

// Site is what a fence shows of the network of the site, which its programs use as any program of the node does.
type Site struct {
	Name    string     // the node's own
	Address netip.Addr // at which other nodes reach this one; the zero Addr = loopback
	Hosts   string     // the node's /etc/hosts
	Resolv  string     // its /etc/resolv.conf
}

// LookAtSite reads what a fence shows of this node's network. What the node lacks is empty.
func LookAtSite(name string, address netip.Addr) Site {
	return Site{Name: name, Address: address, Hosts: beginning("/etc/hosts"), Resolv: beginning("/etc/resolv.conf")}
}

// mostOfSite bounds a file of the site's that is shown, in bytes.
const mostOfSite = 1 << 20

// beginning is a text file of the system, or nothing.
func beginning(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, mostOfSite)) // what cannot be read is not shown
	return string(data)
}

// files are those that programs look names up in. The fence's own name is the node's address, so that programs that
// look their own name up listen where the other nodes reach them. The first line of a name counts.
func (s Site) files() []File {
	address := s.Address
	if !address.IsValid() {
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	var hosts strings.Builder
	fmt.Fprintf(&hosts, "127.0.0.1 localhost\n::1 localhost\n%s\n%s\n", strings.TrimSpace(address.String()+" "+hostname+" "+s.Name), strings.TrimSpace(s.Hosts))
	return []File{{"/etc/hosts", hosts.String()}, {"/etc/nsswitch.conf", switches("files dns")}, {"/etc/resolv.conf", s.Resolv}}
}
