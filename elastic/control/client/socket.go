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

// socket is the path of a daemon's socket. Each exchange is HTTP/1.0 on its own connection; an
// answer ends when the daemon closes it. net/http would do the same, but with TLS and HTTP/2 it
// is a quarter of a program that every job starts twice.
type socket string

// exchange does one exchange.
func (path socket) exchange(ctx context.Context, method, target string, body []byte) (int, []byte, error) {
	dialer := net.Dialer{}
	conn, err := dialer.DialContext(ctx, "unix", string(path))
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	unhook := context.AfterFunc(ctx, func() { conn.Close() })
	defer unhook()
	kind := ""
	if body != nil {
		kind = fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	_, wrote := fmt.Fprintf(conn, "%s %s HTTP/1.0\r\nHost: sluiced\r\n%s\r\n%s", method, target, kind, body)
	status, answer, err := readAnswer(bufio.NewReader(conn))
	switch {
	case err == nil: // it may answer before it has read everything
		return status, answer, nil
	case ctx.Err() != nil:
		return 0, nil, ctx.Err()
	case wrote != nil:
		return 0, nil, wrote
	}
	return 0, nil, err
}

// maxHead bounds the status line and the header of an answer, in bytes.
const maxHead = 16 << 10

// readAnswer reads an answer up to its end.
func readAnswer(from *bufio.Reader) (status int, body []byte, err error) {
	length, room := -1, maxHead
	for n := 0; ; n++ {
		line, err := readLine(from, &room)
		if err != nil {
			return 0, nil, err
		}
		if line == "" && n > 0 {
			break
		}
		if n == 0 {
			if status, err = statusOf(line); err != nil {
				return 0, nil, err
			}
		} else if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 {
				return 0, nil, notHTTP()
			}
		}
	}
	var all bytes.Buffer
	all.Grow(min(max(length, 0), maxAnswer) + bytes.MinRead)
	_, err = all.ReadFrom(io.LimitReader(from, maxAnswer+1))
	if err == nil && all.Len() < min(length, maxAnswer) {
		err = io.ErrUnexpectedEOF
	}
	return status, all.Bytes(), err
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
