package tunnel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// packet is an IPv4 packet of n bytes.
func packet(from, to netip.Addr, n int) []byte {
	p := make([]byte, n)
	p[0] = 0x45
	binary.BigEndian.PutUint16(p[2:], uint16(n))
	f, t := from.As4(), to.As4()
	copy(p[12:], f[:])
	copy(p[16:], t[:])
	return p
}

// TestOnlyPeers: a packet passes from the node's own address to another node of the run, and no other packet.
func TestOnlyPeers(t *testing.T) {
	a := confine.Address
	elsewhere := netip.MustParseAddr
	for _, c := range []struct {
		what string
		p    []byte
		out  int  // node that gets it from node 1 of 3; -1 = it is dropped
		in   bool // node 1 takes it from node 2
	}{
		{"to node 0", packet(a(1), a(0), 40), 0, false},
		{"to node 2", packet(a(1), a(2), 40), 2, false},
		{"to itself", packet(a(1), a(1), 40), -1, false},
		{"to a node that is none", packet(a(1), a(3), 40), -1, false},
		{"to the network", packet(a(1), elsewhere("10.117.0.0"), 40), -1, false},
		{"to all", packet(a(1), elsewhere("10.117.255.255"), 40), -1, false},
		{"to everybody", packet(a(1), elsewhere("255.255.255.255"), 40), -1, false},
		{"to a group", packet(a(1), elsewhere("224.0.0.1"), 40), -1, false},
		{"to loopback", packet(a(1), elsewhere("127.0.0.1"), 40), -1, false},
		{"to the site", packet(a(1), elsewhere("192.0.2.1"), 40), -1, false},
		{"to an address that ends like a node's", packet(a(1), elsewhere("10.118.0.1"), 40), -1, false},
		{"as node 0", packet(a(0), a(2), 40), -1, false},
		{"as loopback", packet(elsewhere("127.0.0.1"), a(2), 40), -1, false},
		{"from node 2", packet(a(2), a(1), 40), -1, true},
		{"from node 2 for another", packet(a(2), a(0), 40), -1, false},
		{"from node 2 as node 0", packet(a(0), a(1), 40), -1, false},
		{"from node 2 as node 1", packet(a(1), a(1), 40), -1, false},
		{"from node 2 for the site", packet(a(2), elsewhere("192.0.2.1"), 40), -1, false},
		{"nothing", nil, -1, false},
		{"cut short", packet(a(1), a(0), 40)[:30], -1, false},
		{"longer than it says", append(packet(a(1), a(0), 40), 0), -1, false},
		{"half a head", packet(a(1), a(0), 40)[:19], -1, false},
		{"IPv6", append([]byte{0x60}, packet(a(1), a(0), 40)[1:]...), -1, false},
		{"a head of 16 bytes", append([]byte{0x44}, packet(a(1), a(0), 40)[1:]...), -1, false},
	} {
		to, ok := outward(c.p, 1, 3)
		if !ok {
			to = -1
		}
		if in := inward(c.p, 2, 1); to != c.out || in != c.in {
			t.Errorf("%s: goes to %d, want %d; comes in %v, want %v", c.what, to, c.out, in, c.in)
		}
	}
	for _, n := range []int{0, 253, 254, 255, 256, confine.MaxNodes - 1} {
		if to, ok := outward(packet(a(1), a(n), 20), 1, confine.MaxNodes); !ok || to != n {
			t.Errorf("node %d has the address %s, which is taken for that of node %d (%v)", n, a(n), to, ok)
		}
	}
}

// run connects so many nodes and returns their meshes.
func run(t testing.TB, key Key, nodes int) []*Mesh {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	l := listener(t)
	all, failed := make([]*Mesh, nodes), make(chan error, nodes)
	for i := range all {
		go func() {
			var err error
			if i == 0 {
				all[0], err = Lead(ctx, l, key, nodes)
			} else {
				all[i], err = Join(ctx, l.Addr().String(), key, i, nodes)
			}
			if err == nil {
				t.Cleanup(all[i].Close)
			}
			failed <- err
		}()
	}
	for range all {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func listener(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// devices gives each node a socket pair in the place of a device, and returns the ends of the fences.
func devices(t testing.TB, all []*Mesh) (fences []*os.File, ended []chan error) {
	t.Helper()
	for _, m := range all {
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		device, fence, over := os.NewFile(uintptr(ends[0]), "device"), os.NewFile(uintptr(ends[1]), "fence"), make(chan error, 1)
		t.Cleanup(func() { device.Close(); fence.Close() })
		go func() { over <- m.Carry(device) }()
		fences, ended = append(fences, fence), append(ended, over)
	}
	return fences, ended
}

// TestMesh: packets go from each node to each, unchanged and in order, others are dropped and counted, and the end
// of one node's relay ends those of the others.
func TestMesh(t *testing.T) {
	all := run(t, NewKey(), 3)
	ready := make(chan error, 1)
	go func() {
		_, err := all[0].Await(t.Context())
		ready <- err
	}()
	for _, m := range all[1:] {
		if err := m.Ready(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	fences, ended := devices(t, all)
	for from := range all {
		for to := range all {
			if from == to {
				continue
			}
			for i, size := range []int{20, 100, 20000, 65520} {
				p := packet(confine.Address(from), confine.Address(to), size)
				if size > 20 {
					p[size-1] = byte(i)
				}
				spoofed := packet(confine.Address(to), confine.Address(to), size)
				for _, write := range [][]byte{spoofed, p} {
					if _, err := fences[from].Write(write); err != nil {
						t.Fatal(err)
					}
				}
				got := make([]byte, 70000)
				fences[to].SetReadDeadline(time.Now().Add(20 * time.Second))
				if n, err := fences[to].Read(got); err != nil || string(got[:n]) != string(p) {
					t.Fatalf("from %d to %d: %d of %d bytes came, %v", from, to, n, size, err)
				}
			}
		}
	}
	for i, m := range all {
		if out, in := m.Dropped(); out != 8 || in != 0 {
			t.Errorf("node %d dropped %d and %d, want 8 and 0", i, out, in)
		}
	}
	all[2].Close()
	if err := <-ended[2]; err != nil {
		t.Errorf("closed: %v", err)
	}
	var lost *Lost
	for _, i := range []int{0, 1} {
		if err := <-ended[i]; !errors.As(err, &lost) || lost.Node != 2 {
			t.Errorf("node %d: %v, want that node 2 is lost", i, err)
		}
	}
}

// TestHostileNode: a node that has the key, but not a kernel that holds to its address, gets nothing through for others.
func TestHostileNode(t *testing.T) {
	all := run(t, NewKey(), 2)
	fences, _ := devices(t, all[:1])
	for _, p := range [][]byte{packet(netip.MustParseAddr("192.0.2.1"), confine.Address(0), 40), packet(confine.Address(1), netip.MustParseAddr("192.0.2.1"), 40), packet(confine.Address(1), confine.Address(0), 40)} {
		if err := errors.Join(all[1].links[0].send(append(make([]byte, headSize), p...)), all[1].links[0].flush()); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 100)
	if n, err := fences[0].Read(got); err != nil || string(got[:n]) != string(packet(confine.Address(1), confine.Address(0), 40)) {
		t.Errorf("%v %v", got[:n], err)
	}
	if _, in := all[0].Dropped(); in != 2 {
		t.Errorf("%d dropped, want 2", in)
	}
}

// TestRoom: what the links of a node hold is bounded.
func TestRoom(t *testing.T) {
	for _, nodes := range []int{2, 100, 128, 129, 1000, confine.MaxNodes} {
		if all := 3 * nodes * room(nodes); all > allBuffers || room(nodes) < leastBuffered || room(nodes) > mostBuffered {
			t.Errorf("%d nodes: %d bytes each, %d bytes", nodes, room(nodes), all)
		}
	}
}

// TestHold: without packets node 0 learns where the other nodes listen, and each node when another one is gone.
func TestHold(t *testing.T) {
	all := run(t, NewKey(), 3)
	for i, m := range all[1:] {
		if err := m.Ready(4000 + i); err != nil {
			t.Fatal(err)
		}
		if at := m.Address(); at != netip.MustParseAddr("127.0.0.1") {
			t.Errorf("node %d has the address %s", i+1, at)
		}
	}
	servers, err := all[0].Await(t.Context())
	if want := []string{"", "127.0.0.1:4000", "127.0.0.1:4001"}; err != nil || !slices.Equal(servers, want) {
		t.Errorf("%q, %v, want %q", servers, err, want)
	}
	ended := make([]chan error, len(all))
	for i, m := range all {
		ended[i] = make(chan error, 1)
		go func() { ended[i] <- m.Hold() }()
	}
	all[2].Close()
	if err := <-ended[2]; err != nil {
		t.Errorf("closed: %v", err)
	}
	for i := range 2 {
		var lost *Lost
		if err := <-ended[i]; !errors.As(err, &lost) || lost.Node != 2 {
			t.Errorf("node %d: %v, want that node 2 is lost", i, err)
		}
	}
}

// TestUnready: node 0 learns why a node cannot take part.
func TestUnready(t *testing.T) {
	all := run(t, NewKey(), 2)
	if err := all[1].Unready("no bubblewrap"); err != nil {
		t.Fatal(err)
	}
	var why *Unready
	if _, err := all[0].Await(t.Context()); !errors.As(err, &why) || why.Node != 1 || why.Why != "no bubblewrap" {
		t.Errorf("%v", err)
	}
}

// TestStrangers: who does not have the key of the run does not get in and learns nothing, a recorded connection
// included, and does not keep the nodes from meeting.
func TestStrangers(t *testing.T) {
	key := NewKey()
	l := listener(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	lead := make(chan error, 1)
	var m *Mesh
	go func() {
		var err error
		m, err = Lead(ctx, l, key, 2)
		lead <- err
	}()
	for i := range 2 * maxStrangers { // more than have room, which say nothing
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(i, err)
		}
		defer conn.Close()
		if i >= maxStrangers/2 {
			conn.Close()
		}
	}
	if _, err := Join(ctx, l.Addr().String(), NewKey(), 1, 2); err == nil {
		t.Error("another key opens")
	}
	// The whole of an earlier connection, as the network saw it, is sent again.
	said := record(t, ctx, l.Addr().String(), key)
	for _, first := range said {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn.Write(first)
		conn.Close()
	}
	select {
	case err := <-lead:
		t.Fatalf("node 0 goes on with a stranger: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	other, err := Join(ctx, l.Addr().String(), key, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := <-lead; err != nil {
		t.Fatal(err)
	}
	m.Close()
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("it still listens when all nodes are there")
	}
}

// record is a handshake with the key that is broken off before the node says who it is, as bytes that were sent.
func record(t *testing.T, ctx context.Context, address string, key Key) (sent [][]byte) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	tape := &taped{Conn: conn}
	if _, err := secure(ctx, tape, key, true, room(2)); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if len(tape.sent) == 0 {
		t.Fatal("nothing was recorded")
	}
	var all []byte
	for _, b := range tape.sent {
		all = append(all, b...)
	}
	return [][]byte{all}
}

type taped struct {
	net.Conn
	sent [][]byte
}

func (c *taped) Write(b []byte) (int, error) {
	c.sent = append(c.sent, append([]byte(nil), b...))
	return c.Conn.Write(b)
}

// TestOtherSideHasTheKey: a node does not give itself away to something that only listens where node 0 should.
func TestOtherSideHasTheKey(t *testing.T) {
	l := listener(t)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = secure(t.Context(), conn, NewKey(), false, room(2))
	}()
	if _, err := Join(t.Context(), l.Addr().String(), NewKey(), 1, 2); !errors.Is(err, errStranger) {
		t.Errorf("%v", err)
	}
}

// TestNobodyComes: the wait for a node is bounded, and names it.
func TestNobodyComes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var lost *Lost
	if _, err := Lead(ctx, listener(t), NewKey(), 2); !errors.As(err, &lost) || lost.Node != 1 {
		t.Errorf("%v", err)
	}
}

// BenchmarkCarry is a stream of large packets from one node to another one.
func BenchmarkCarry(b *testing.B) {
	for _, size := range []int{1500, 16000, 65520} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			all := run(b, NewKey(), 2)
			fences, _ := devices(b, all)
			p := packet(confine.Address(0), confine.Address(1), size)
			b.SetBytes(int64(size))
			go func() {
				for range b.N {
					if _, err := fences[0].Write(p); err != nil {
						return
					}
				}
			}()
			got := make([]byte, 70000)
			for range b.N {
				if _, err := fences[1].Read(got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
