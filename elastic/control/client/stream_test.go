package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// answering is a daemon that answers one connection with a text and hangs up.
func answering(t *testing.T, text string) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for line := "x"; line != "\r\n" && err == nil; { // the whole request, or its sender gets a reset
				line, err = in.ReadString('\n')
			}
			fmt.Fprint(conn, text)
			conn.Close()
		}
	}()
	return Dial(path)
}

const head = "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

// A stream is read event by event; its end, a refusal, and what is no stream are errors that say so.
func TestEvents(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
		err  error
	}{
		"two, with comments":  {head + ": sluiced\n\nid: a-1\nevent: step\ndata: {\"id\":\"a-1\",\"kind\":\"step\"}\n\n: \n\nid: a-2\ndata: {\"id\":\"a-2\"}\n\n", []string{"a-1", "a-2"}, wire.ErrNoDaemon},
		"cut off in an event": {head + "id: a-1\ndata: {\"id\":", nil, wire.ErrNoDaemon},
		"no JSON":             {head + "data: hello\n\n", nil, wire.ErrInternal},
		"a line without end":  {head + "data: " + strings.Repeat("x", 2*maxHappening), nil, wire.ErrNoDaemon},
		"refused":             {"HTTP/1.0 429 Too Many Requests\r\n\r\n{\"error\":{\"code\":\"too_many\",\"message\":\"you have 8 streams\"}}", nil, wire.ErrTooMany},
		"an older daemon":     {"HTTP/1.0 404 Not Found\r\n\r\n{\"error\":{\"code\":\"not_found\",\"message\":\"sluiced has no GET /v1/events\"}}", nil, wire.ErrNotFound},
		"no daemon":           {"SSH-2.0\r\n", nil, wire.ErrInternal},
		"hangs up":            {"", nil, wire.ErrNoDaemon},
	} {
		var got []string
		err := answering(t, c.text).Events(context.Background(), "", func(h wire.Happening) error { got = append(got, h.ID); return nil })
		if !errors.Is(err, c.err) || strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	stop := errors.New("enough")
	if err := answering(t, head+"data: {}\n\n").Events(context.Background(), "", func(wire.Happening) error { return stop }); err != stop {
		t.Errorf("stopped by its reader: %v", err)
	}
	remote := DialRemote(Remote{Address: "login1:6830"})
	if err := remote.Events(context.Background(), "", nil); !errors.Is(err, wire.ErrBadRequest) {
		t.Errorf("over TCP: %v", err)
	}
	if _, err := remote.As("ann").Status(context.Background()); !errors.Is(err, wire.ErrDenied) {
		t.Errorf("for another user over TCP: %v", err)
	}
}

// A name that is no account's name makes no other header of the request.
func TestActsForIsOneHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan []string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var lines []string
		for in := bufio.NewReader(conn); ; {
			line, err := in.ReadString('\n')
			if err != nil || line == "\r\n" {
				break
			}
			lines = append(lines, strings.TrimRight(line, "\r\n"))
		}
		got <- lines
	}()
	_, _ = Dial(path).As("ann\r\nX-Evil: 1\r\n").Status(context.Background())
	if lines := <-got; len(lines) != 3 || lines[2] != wire.ActsFor+": ann??X-Evil: 1??" {
		t.Errorf("sent %q", lines)
	}
}

// FuzzReadHappening: whatever arrives, it ends, and what is returned is from the input.
func FuzzReadHappening(f *testing.F) {
	for _, text := range []string{"data: {}\n", ": \n\nid: 1\ndata:x\n", "data", "\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := bufio.NewReaderSize(strings.NewReader(text), 64)
		for {
			data, err := readHappening(in)
			if err != nil {
				return
			}
			if !strings.Contains(text, "data:"+string(data)) {
				t.Fatalf("%q is not in %q", data, text)
			}
		}
	})
}
