package main

import (
	"net"
	"os"
	"sync"
	"time"
)

// notifier sends messages to systemd over one socket that stays open. Opened for each
// message, as is common, it would fail without free file descriptors, and systemd would
// take the daemon for hung and kill it.
type notifier struct {
	mu   sync.Mutex
	conn *net.UnixConn
}

// say sends one of systemd's states. Without systemd it does nothing; the daemon can do
// nothing about a message that is not received.
func (n *notifier) say(state string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for range 2 {
		if n.conn == nil {
			path := os.Getenv("NOTIFY_SOCKET")
			if path == "" {
				return
			}
			conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
			if err != nil {
				return
			}
			n.conn = conn
		}
		_ = n.conn.SetWriteDeadline(time.Now().Add(time.Second)) // a busy systemd must not block the daemon
		if _, err := n.conn.Write([]byte(state)); err == nil {
			return
		}
		n.conn.Close() // systemd made its socket again
		n.conn = nil
	}
}
