package client

import (
	"bufio"
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-hpc/sluice/elastic/control/munge"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Remote says how to reach a sluiced on another node.
type Remote struct {
	Address string // "HOST:PORT", as in [remote] address
	Daemon  uint32 // uid of sluiced's account, the same on all nodes
	Munge   wire.Munge
	// Dialer makes the connections. Its zero value works; one with a LocalAddr connects from
	// that address.
	Dialer net.Dialer
}

// DialRemote is Dial over TCP. Each call asks munge for a credential that only the daemon's
// account can read, and accepts an answer from that account only.
func DialRemote(r Remote) *Client {
	return &Client{path: r.Address, remote: true, carry: (&sealed{remote: r}).carry}
}

// sealed sends requests in credentials.
type sealed struct {
	remote Remote
}

// How often a request is tried. When all its connections are in use, sluiced closes one that it
// waits for, and refuses unread what it has no time for. Such requests are retried for about 2
// s. A request that may have been read is retried only if it is a read.
const (
	attempts, attemptsRead = 60, 3
	// the longest pause before a try grows by this much with each try
	againLater = 2 * time.Millisecond
)

// again reports whether a request is tried again after its n-th try.
func again(err error, n int, method string, sent bool) bool {
	var said *wire.Error
	switch {
	case n >= attempts:
		return false
	case errors.Is(err, errUnread):
		return true
	case errors.As(err, &said), !cutOff(err):
		return false
	}
	return !sent || method == get && n < attemptsRead
}

// errUnread: sluiced says that it has not read the request. It says so in plain text, so an
// attacker in the network can cause an order to be sent twice; orders are idempotent.
var errUnread = errors.New("not read")

// carry does one exchange, with retries, each on its own connection.
func (s *sealed) carry(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	l := wire.Letter{Method: method, Path: path, Body: body, Key: make([]byte, wire.KeyBytes)}
	if len(body) > wire.MaxBody {
		return 0, nil, wire.Fail(wire.BadRequest, "", "the request is longer than %d bytes", wire.MaxBody)
	}
	_, _ = cryptorand.Read(l.Key)
	for n := 1; ; n++ {
		status, answer, sent, err := s.exchange(ctx, l)
		if err == nil {
			return status, answer, nil
		}
		if ctx.Err() != nil || !again(err, n, method, sent) {
			return 0, nil, err
		}
		pause(ctx, rand.N(time.Duration(n)*againLater))
	}
}

// cutOff reports whether an established connection was closed by the other side.
func cutOff(err error) bool {
	var operation *net.OpError
	return errors.Is(err, io.EOF) || errors.As(err, &operation) && operation.Op != "dial"
}

// exchange sends the letter on a new connection and reads the answer. sent: the daemon may have
// read the letter.
func (s *sealed) exchange(ctx context.Context, l wire.Letter) (status int, body []byte, sent bool, err error) {
	conn, err := s.remote.Dialer.DialContext(ctx, "tcp", s.remote.Address)
	if err != nil {
		return 0, nil, false, err
	}
	defer conn.Close()
	unhook := context.AfterFunc(ctx, func() { conn.Close() })
	defer unhook()
	in := bufio.NewReaderSize(conn, wire.MaxGreeting) // the bytes after the greeting may arrive with it
	if l.Nonce, err = s.greeted(in); err != nil {
		return 0, nil, false, orTimeout(ctx, err)
	}
	payload, err := json.Marshal(l)
	if err != nil {
		return 0, nil, false, err
	}
	credential, err := s.remote.Munge.Seal(ctx, payload, s.remote.Daemon)
	if err != nil {
		return 0, nil, false, unsealable(err)
	}
	if _, err := conn.Write([]byte(credential + "\n")); err != nil {
		return 0, nil, false, orTimeout(ctx, err)
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxAnswer+wire.MaxPlain))
	if err != nil && !bytes.HasPrefix(raw, []byte(wire.MarkPlain)) { // a connection that is refused is closed after the refusal was written
		return 0, nil, true, orTimeout(ctx, err)
	}
	status, body, err = s.understand(l, raw)
	return status, body, true, err
}

// orTimeout returns the error of ctx if that is why the connection was closed.
func orTimeout(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// greeted reads the daemon's first line and returns its nonce.
func (s *sealed) greeted(in *bufio.Reader) (string, error) {
	raw, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", errors.New("a line too long")
	}
	if err != nil {
		return "", err
	}
	first := string(raw)
	if first == wire.MarkPlain { // refused before the greeting
		return "", errors.Join(wire.Fail(wire.TooMany, "try again in a moment", "%s: %v", s.remote.Address, wire.ErrTooManyWait), errUnread)
	}
	nonce, ok := strings.CutPrefix(strings.TrimSuffix(first, "\n"), wire.Greeting)
	if raw, err := hex.DecodeString(nonce); !ok || err != nil || len(raw) != wire.NonceBytes {
		return "", wire.Fail(wire.Internal, "is it sluiced, of this release, that listens there?", "%s greets with %.40q", s.remote.Address, first)
	}
	return nonce, nil
}

func unsealable(err error) error {
	if errors.Is(err, munge.ErrMissing) {
		return wire.Fail(wire.NoDaemon, "ask your administrators; over TCP sluice needs munge", "this node's munge does not identify you: %v", err)
	}
	return err
}

// understand decodes an answer. A sealed one comes from the daemon. One in plain text may come
// from any host in the network: it only ever makes the call fail.
func (s *sealed) understand(l wire.Letter, raw []byte) (int, []byte, error) {
	if body, ok := bytes.CutPrefix(raw, []byte(wire.MarkSealed)); ok {
		status, body, err := wire.Unseal(l.Key, l.Nonce, body)
		if err != nil {
			return 0, nil, wire.Fail(wire.Internal, "is that process sluiced?", "%s: %v", s.remote.Address, err)
		}
		return status, body, nil
	}
	body, ok := bytes.CutPrefix(raw, []byte(wire.MarkPlain))
	var said wire.Failed
	if !ok && len(raw) == 0 {
		return 0, nil, io.EOF
	}
	if !ok || len(body) > wire.MaxPlain || json.Unmarshal(body, &said) != nil || said.Error == nil {
		return 0, nil, wire.Fail(wire.Internal, "is that process sluiced?", "%s sent an invalid answer", s.remote.Address)
	}
	code := said.Error.Code
	if code != wire.Denied && code != wire.TooMany {
		code = wire.Unavailable
	}
	err := error(wire.Fail(code, printable(said.Error.Hint), "%s: %s", s.remote.Address, printable(said.Error.Message)))
	if code == wire.TooMany {
		err = errors.Join(err, errUnread)
	}
	return 0, nil, err
}

// printable removes control characters from text of an unknown sender.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300])
	}
	return s
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
