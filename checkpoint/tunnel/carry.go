package tunnel

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxPacket is the size of the largest packet, in bytes.
const maxPacket = 65535

// Carry carries packets between the device of this node's fence and the other nodes, and returns when a connection
// ends, or the device: nil after Close, else a *Lost or the device's error. The caller then closes both. It waits where
// another node does not keep up, and drops nothing but what may not pass.
func (m *Mesh) Carry(device *os.File) error {
	ended := make(chan error, len(m.links))
	for i, l := range m.links {
		if l != nil {
			go func() { ended <- m.bring(i, l, device) }() // ends with the connection
		}
	}
	go func() { ended <- m.take(device) }() // ends with the device or a connection
	return m.ended(<-ended)
}

// bring writes what another node sends into the device.
func (m *Mesh) bring(sender int, l *link, device io.Writer) error {
	buffer := make([]byte, maxPacket)
	for {
		p, err := l.receive(buffer)
		if err != nil {
			return &Lost{sender, err}
		}
		if !inward(p, sender, m.self) {
			m.drop(1)
			continue
		}
		// A packet that the kernel does not take is lost, as on any network.
		if _, err := device.Write(p); errors.Is(err, os.ErrClosed) {
			return err
		}
	}
}

// take sends what comes out of the device, and keeps several packets together if there are several.
func (m *Mesh) take(device *os.File) error {
	raw, err := device.SyscallConn()
	if err != nil {
		return err
	}
	frame := make([]byte, headSize+maxPacket)
	waiting := make([]bool, len(m.links))
	for {
		n, err := m.next(raw.Read, frame[headSize:], waiting)
		if err != nil {
			return err
		}
		to, ok := outward(frame[headSize:headSize+n], m.self, len(m.links))
		if !ok {
			m.drop(0)
			continue
		}
		if err := m.links[to].send(frame[:headSize+n]); err != nil {
			return &Lost{to, err}
		}
		waiting[to] = true
	}
}

// next reads a packet. Before it waits for one, it sends what waits.
func (m *Mesh) next(wait func(func(uintptr) bool) error, into []byte, waiting []bool) (n int, err error) {
	closed := wait(func(fd uintptr) bool {
		if n, err = unix.Read(int(fd), into); !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return true
		}
		err = m.flush(waiting)
		return err != nil
	})
	return max(0, n), errors.Join(closed, err)
}

// flush sends what waits.
func (m *Mesh) flush(waiting []bool) error {
	for to, is := range waiting {
		if !is {
			continue
		}
		waiting[to] = false
		if err := m.links[to].flush(); err != nil {
			return &Lost{to, err}
		}
	}
	return nil
}

// drop counts a packet that may not pass.
func (m *Mesh) drop(which int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropped[which]++
}
