package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// The methods of requests.
const (
	get  = "GET"
	post = "POST"
)

// socket is a daemon's socket. Each exchange is HTTP/1.0 on its own connection; an
// answer ends when the daemon closes it. net/http would do the same, but with TLS and HTTP/2 it
// is a quarter of a program that every job starts twice.
type socket struct {
	path string
	user string // that the requests are for, see wire.ActsFor; "" = the caller
}

// link is a connection with one request on it, which is closed when its context ends.
type link struct {
	net.Conn
	unhook func() bool
	wrote  error // of the request
}

// Close closes it.
func (l *link) Close() error {
	l.unhook()
	return l.Conn.Close()
}

// send connects and writes a request. The daemon may answer before it has read everything, so an error
// of writing is left in the link.
func (s socket) send(ctx context.Context, method, target string, body []byte) (*link, error) {
	dialer := net.Dialer{}
	conn, err := dialer.DialContext(ctx, "unix", s.path)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: conn, unhook: context.AfterFunc(ctx, func() { conn.Close() })}
	head := ""
	if body != nil {
		head = fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	if s.user != "" {
		head += wire.ActsFor + ": " + strings.Map(headerSafe, s.user) + "\r\n"
	}
	_, l.wrote = fmt.Fprintf(conn, "%s %s HTTP/1.0\r\nHost: sluiced\r\n%s\r\n%s", method, target, head, body)
	return l, nil
}

// headerSafe replaces what would end a header. No account has such a name, so the daemon refuses it.
func headerSafe(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '?'
	}
	return r
}

// exchange does one exchange.
func (s socket) exchange(ctx context.Context, method, target string, body []byte) (int, []byte, error) {
	conn, err := s.send(ctx, method, target, body)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	status, answer, err := readAnswer(bufio.NewReader(conn))
	switch {
	case err == nil:
		return status, answer, nil
	case ctx.Err() != nil:
		return 0, nil, ctx.Err()
	case conn.wrote != nil:
		return 0, nil, conn.wrote
	}
	return 0, nil, err
}

// maxHead bounds the status line and the header of an answer, in bytes.
const maxHead = 16 << 10

// readAnswer reads an answer up to its end.
func readAnswer(from *bufio.Reader) (status int, body []byte, err error) {
	status, length, err := readHead(from)
	if err != nil {
		return 0, nil, err
	}
	var all bytes.Buffer
	all.Grow(min(max(length, 0), maxAnswer) + bytes.MinRead)
	_, err = all.ReadFrom(io.LimitReader(from, maxAnswer+1))
	if err == nil && all.Len() < min(length, maxAnswer) {
		err = io.ErrUnexpectedEOF
	}
	return status, all.Bytes(), err
}

// readHead reads the status and the header of an answer; length is -1 if it names none.
func readHead(from *bufio.Reader) (status, length int, err error) {
	length = -1
	room := maxHead
	for n := 0; ; n++ {
		line, err := readLine(from, &room)
		if err != nil {
			return 0, 0, err
		}
		if line == "" && n > 0 {
			return status, length, nil
		}
		if n == 0 {
			if status, err = statusOf(line); err != nil {
				return 0, 0, err
			}
		} else if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 {
				return 0, 0, notHTTP()
			}
		}
	}
}

// readLine reads a line without its end, of at most *room bytes, and subtracts its length from
// room.
func readLine(from *bufio.Reader, room *int) (string, error) {
	raw, err := from.ReadSlice('\n')
	if *room -= len(raw); err == bufio.ErrBufferFull || *room < 0 {
		return "", notHTTP()
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(raw), "\r\n"), nil
}

// statusOf reads "HTTP/1.0 200 OK".
func statusOf(line string) (int, error) {
	words := strings.Fields(line)
	if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/1.") {
		return 0, notHTTP()
	}
	status, err := strconv.Atoi(words[1])
	if err != nil || status < 100 || status > 599 {
		return 0, notHTTP()
	}
	return status, nil
}

func notHTTP() error {
	return wire.Fail(wire.Internal, "is that process sluiced?", "what answers does not speak HTTP")
}
