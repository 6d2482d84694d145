package step

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/tunnel"
)

// The server sends a challenge, and starts a process only if the answer to it was made with the key. So a stranger on the network of
// the site costs a few kilobytes, not a process. The process then has both sides prove by TLS that they have the key (opened).

// greetWithin is how long a connection may take to show that its other side has the key: to the server, and to the process.
const greetWithin = 10 * time.Second

// maxGreeting bounds the connections that have not answered yet; the oldest gives way to another one.
const maxGreeting = 128

// challengeSize is the size of a challenge and of its answer, in bytes.
const challengeSize = sha256.Size

// answerTo is the answer to a challenge, which cannot be made without the key.
func answerTo(challenge []byte, key tunnel.Key) ([]byte, error) {
	own, err := hkdf.Key(sha256.New, key[:], nil, "sluice task 1", sha256.Size)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, own)
	mac.Write(challenge)
	return mac.Sum(nil), nil
}

// door has the connections that have not answered yet.
type door struct {
	mu    sync.Mutex
	waits []net.Conn // oldest first
}

// enter takes a connection.
func (d *door) enter(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waits = append(d.waits, conn); len(d.waits) > maxGreeting {
		d.waits[0].Close()
		d.waits = slices.Delete(d.waits, 0, 1)
	}
}

// leave forgets a connection; false if it had to give way.
func (d *door) leave(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.waits, conn)
	if i >= 0 {
		d.waits = slices.Delete(d.waits, i, i+1)
	}
	return i >= 0
}

// knows reports whether the other side of a connection that has entered has the key, and lets it leave.
func (d *door) knows(conn net.Conn, file *os.File) bool {
	answered := challenged(conn, file)
	return d.leave(conn) && answered
}

// challenged sends a challenge, and reports whether the answer to it is right.
func challenged(conn net.Conn, file *os.File) bool {
	key, err := readKey(file)
	if err != nil {
		return false
	}
	late := time.AfterFunc(greetWithin, func() { conn.Close() })
	defer late.Stop()
	var challenge, said [challengeSize]byte
	rand.Read(challenge[:]) // never fails
	right, err := answerTo(challenge[:], key)
	if err != nil {
		return false
	}
	if _, err := conn.Write(challenge[:]); err != nil {
		return false
	}
	_, err = io.ReadFull(conn, said[:])
	return err == nil && hmac.Equal(said[:], right) && late.Stop()
}

// greet answers the challenge of a server, and returns the connection once both sides have shown that they have the key. The caller
// closes conn if that fails. ctx bounds it.
func greet(ctx context.Context, conn net.Conn, key tunnel.Key) (net.Conn, error) {
	end, _ := ctx.Deadline() // without one: none
	if err := conn.SetDeadline(end); err != nil {
		return nil, err
	}
	var challenge [challengeSize]byte
	if _, err := io.ReadFull(conn, challenge[:]); err != nil {
		return nil, err
	}
	answer, err := answerTo(challenge[:], key)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(answer); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return key.Secure(ctx, conn, true)
}
