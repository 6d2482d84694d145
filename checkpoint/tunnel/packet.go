package tunnel

import (
	"encoding/binary"
	"net/netip"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// ends returns the addresses of an IPv4 packet; ok is false if it is none, or cut short.
func ends(p []byte) (from, to netip.Addr, ok bool) {
	if len(p) < 20 || p[0]>>4 != 4 || int(p[0]&15)*4 < 20 || int(binary.BigEndian.Uint16(p[2:])) != len(p) {
		return from, to, false
	}
	return netip.AddrFrom4([4]byte(p[12:16])), netip.AddrFrom4([4]byte(p[16:20])), true
}

// outward decides about a packet that a fence sends: to is the node that gets it. It must come from the node's own
// address and go to another node of the run; everything else is dropped.
func outward(p []byte, self, nodes int) (to int, ok bool) {
	from, dest, ok := ends(p)
	if !ok || from != confine.Address(self) || !confine.Network.Contains(dest) {
		return 0, false
	}
	a := dest.As4()
	to = int(a[2])<<8 + int(a[3]) - 1
	return to, to >= 0 && to < nodes && to != self
}

// inward decides about a packet from another node, for the fence of this one.
func inward(p []byte, sender, self int) bool {
	from, to, ok := ends(p)
	return ok && from == confine.Address(sender) && to == confine.Address(self)
}
