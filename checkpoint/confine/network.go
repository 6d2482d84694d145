package confine

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// What the fences of a job on several nodes share: a network of their own, which no packet leaves. Its packets
// go through a device in each fence, and sluice's relay outside carries them.
const (
	// Device is the name of the network device inside.
	Device = "sluice0"
	// StepPort is the TCP port on which a fence, other than that of the first node, starts tasks.
	StepPort = 4711
	// MaxNodes bounds the nodes of a confined job.
	MaxNodes = 1024
)

// Network is all addresses inside.
var Network = netip.MustParsePrefix("10.117.0.0/16")

// Address is the address of a node inside, by its number in Slurm's list, from 0 to MaxNodes-1.
func Address(node int) netip.Addr {
	a := Network.Addr().As4()
	a[2], a[3] = byte((node+1)>>8), byte(node+1)
	return netip.AddrFrom4(a)
}

// ServerOf is where a node's server of tasks listens inside.
func ServerOf(node int) string { return netip.AddrPortFrom(Address(node), StepPort).String() }

// hosts is /etc/hosts inside. On several nodes the fence's own name is the node's address, so that
// programs that look their own name up listen where the other nodes reach them.
func hosts(node int, names []string) string {
	if len(names) < 2 {
		return "127.0.0.1 localhost " + hostname + "\n::1 localhost\n"
	}
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	for i, name := range names {
		if i == node {
			name = hostname + " " + name
		}
		fmt.Fprintf(&b, "%s %s\n", Address(i), name)
	}
	return b.String()
}

// toDevice are variables that make libraries use the device: those of gloo and NCCL choose one by its name.
var toDevice = [][2]string{{"GLOO_SOCKET_IFNAME", Device}, {"NCCL_SOCKET_IFNAME", Device}, {"TP_SOCKET_IFNAME", Device}, {"NCCL_IB_DISABLE", "1"}}

// tunnels is the file by which a process makes a network device. enter are where the program is looked for that
// enters a fence's network from outside.
var (
	tunnels = "/dev/net/tun"
	enter   = []string{"/usr/bin/nsenter", "/bin/nsenter"}
)

// Enter returns the path of nsenter; the error is *Impossible.
func Enter() (string, error) {
	for _, p := range enter {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", &Impossible{Why: NoEnter, Hint: "install util-linux on every node"}
}

// Connectable returns nil if a fence on this machine can be given a network of several nodes, else an *Impossible.
func Connectable() error {
	if _, err := Enter(); err != nil {
		return err
	}
	f, err := os.OpenFile(tunnels, os.O_RDWR, 0)
	if err != nil {
		return WithoutTunnel(err)
	}
	return f.Close()
}

// WithoutTunnel is the error of a machine on which no network device can be made, because of err.
func WithoutTunnel(err error) *Impossible {
	return &Impossible{Why: NoTunnel, Text: err.Error(), Hint: "as root: modprobe tun && chmod 0666 /dev/net/tun, which udev does by default"}
}
