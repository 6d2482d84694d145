package tunnel

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of a link, in bytes. A frame is its length in 4 bytes and as many bytes.
const (
	headSize = 4
	maxNote  = 64 << 10 // of a note between relays
	// Each link has three buffers. They are smaller where there are many nodes: all together have allBuffers.
	mostBuffered, leastBuffered, allBuffers = 256 << 10, 16 << 10, 96 << 20
)

// room is the size of a buffer of a link in a run with so many nodes, in bytes.
func room(nodes int) int { return max(leastBuffered, min(mostBuffered, allBuffers/3/nodes)) }

// How soon the loss of a node is noticed that closes no connection.
const (
	idle    = 10 * time.Second
	unacked = 60 * time.Second
)

// errFrame: the other relay sent something else than a frame.
var errFrame = errors.New("not a frame")

// link is the connection to the relay of another node. One goroutine may send while another one receives.
type link struct {
	*tls.Conn
	below *pipe
	in    *bufio.Reader
	head  [headSize]byte
}

// pipe is the connection below TLS, whose records are smaller than packets.
type pipe struct {
	net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
	lazy bool // what is to be sent may wait for flush
}

// Read reads what was received.
func (p *pipe) Read(b []byte) (int, error) { return p.in.Read(b) }

// Write sends at once in the handshake, and later with flush, or when there is much.
func (p *pipe) Write(b []byte) (int, error) {
	if !p.lazy {
		return p.Conn.Write(b)
	}
	return p.out.Write(b)
}

// secure proves the key on a new connection and asks for the same. ctx bounds it; a connection that fails is closed.
func secure(ctx context.Context, conn net.Conn, key Key, client bool, buffered int) (*link, error) {
	config, err := key.config()
	if err != nil {
		conn.Close()
		return nil, err
	}
	below := &pipe{Conn: conn, in: bufio.NewReaderSize(conn, buffered), out: bufio.NewWriterSize(conn, buffered)}
	shaken := tls.Server(below, config)
	if client {
		shaken = tls.Client(below, config)
	}
	if err := shaken.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	below.lazy = true
	lively(conn)
	return &link{Conn: shaken, below: below, in: bufio.NewReaderSize(shaken, buffered)}, nil
}

// lively makes the kernel notice that the other node is gone, whether or not something is to be sent.
func lively(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: idle, Interval: idle / 2, Count: 6})
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unacked.Milliseconds()))
		})
	}
}

// send sends a frame, whose content follows room for its length. flush sends what may still wait.
func (l *link) send(frame []byte) error {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-headSize))
	_, err := l.Write(frame)
	return err
}

func (l *link) flush() error { return l.below.out.Flush() }

// receive reads the content of a frame into a buffer, which bounds its size.
func (l *link) receive(into []byte) ([]byte, error) {
	if _, err := io.ReadFull(l.in, l.head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(l.head[:])
	if n == 0 || int64(n) > int64(len(into)) {
		return nil, fmt.Errorf("%w: %d bytes", errFrame, n)
	}
	_, err := io.ReadFull(l.in, into[:n])
	return into[:n], err
}

// note is what relays say to each other before packets are carried.
type note struct {
	Node  int      `json:"node"`            // of the sender
	Port  int      `json:"port,omitempty"`  // on which it lets nodes with higher numbers in; of a ready node: on which it starts tasks
	Peers []string `json:"peers,omitempty"` // of node 0: where each node lets others in
	Ready bool     `json:"ready,omitempty"`
	Why   string   `json:"why,omitempty"` // it is not ready
}

func (l *link) say(n note) error {
	data, err := json.Marshal(n)
	if err == nil && len(data) > maxNote {
		err = errFrame
	}
	if err != nil {
		return err
	}
	return errors.Join(l.send(append(make([]byte, headSize), data...)), l.flush())
}

func (l *link) hear() (n note, err error) {
	data, err := l.receive(make([]byte, maxNote))
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	return n, err
}
