package main

import (
	"net"
	"os"
	"sync"
	"time"
)

// notifier speaks to systemd over one socket that stays open: made anew for each word,
// as is common, it would fail where descriptors run out, and systemd would take the
// daemon for hung and kill it.
type notifier struct {
	mu   sync.Mutex
	conn *net.UnixConn
}

// say sends one of systemd's states. Without systemd it does nothing, and a word that is
// not heard is nothing the daemon could do about.
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
		_ = n.conn.SetWriteDeadline(time.Now().Add(time.Second)) // a busy systemd holds up nothing
		if _, err := n.conn.Write([]byte(state)); err == nil {
			return
		}
		n.conn.Close() // systemd's socket was made anew
		n.conn = nil
	}
}
