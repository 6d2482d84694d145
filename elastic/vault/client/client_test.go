package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// answering is a client of a server that answers each connection so.
func answering(t *testing.T, serve func(net.Conn)) *Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "vc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
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
			go func() { defer conn.Close(); serve(conn) }()
		}
	}()
	return Dial(filepath.Join(dir, "s"))
}

// says reads the line of a request and writes the text.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		bufio.NewReader(conn).ReadString('\n')
		io.WriteString(conn, text)
	}
}

func TestDo(t *testing.T) {
	c := answering(t, func(conn net.Conn) {
		from := bufio.NewReader(conn)
		q, err := wire.ReadRequest(from)
		if err != nil {
			t.Error(err)
		}
		raw := make([]byte, q.ScriptSize+q.BundleSize)
		if _, err := io.ReadFull(from, raw); err != nil || string(raw) != "scriptbundle" {
			t.Errorf("%q, %v", raw, err)
		}
		io.WriteString(conn, `{"version":1,"id":"`+q.Script+`","size":5}`+"\nbytes and more")
	})
	var out bytes.Buffer
	a, err := c.Do(t.Context(), wire.Request{Do: wire.Submit, Script: "x", ScriptSize: 6, BundleSize: 6}, strings.NewReader("scriptbundle and more"), &out)
	if err != nil || a.ID != "x" || out.String() != "bytes" {
		t.Errorf("%+v, %v, %q", a, err, out.String())
	}
}

// Whatever answers, there is an error with a code, or that of the caller's own reader or writer.
func TestHostileAnswers(t *testing.T) {
	q := wire.Request{Do: wire.Logs, Job: "1"}
	for name, x := range map[string]struct {
		text string
		code error
	}{
		"nothing":          {"", wire.ErrUnavailable},
		"no line":          {"{", wire.ErrUnavailable},
		"no JSON":          {"HTTP/1.0 200 OK\r\n\r\n", wire.ErrInternal},
		"no version":       {"{}\n", wire.ErrInternal},
		"fewer bytes":      {`{"version":1,"size":10}` + "\nabc", wire.ErrUnavailable},
		"an error":         {`{"version":1,"error":{"code":"over_budget","text":"no"}}` + "\n", wire.ErrOverBudget},
		"an unknown error": {`{"version":1,"error":{"code":"tired","text":"no"}}` + "\n", wire.ErrInternal},
		"an endless line":  {strings.Repeat("x", wire.MaxAnswer+1), wire.ErrUnavailable},
	} {
		if _, err := answering(t, says(x.text)).Do(t.Context(), q, nil, nil); !errors.Is(err, x.code) {
			t.Errorf("%s: %v, want %v", name, err, x.code)
		}
	}
	refusing := answering(t, says(`{"version":1,"error":{"code":"denied","text":"no"}}`+"\n"))
	big := wire.Request{Do: wire.Submit, BundleSize: 64 << 20}
	if _, err := refusing.Do(t.Context(), big, io.LimitReader(zeros{}, 64<<20), nil); !errors.Is(err, wire.ErrDenied) {
		t.Errorf("refused before all is sent: %v", err)
	}
	if _, err := answering(t, func(conn net.Conn) { io.Copy(io.Discard, conn) }).Do(t.Context(), big, strings.NewReader("short"), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short bundle: %v", err)
	}
	full := answering(t, says(`{"version":1,"size":3}`+"\nabc"))
	if _, err := full.Do(t.Context(), q, nil, broken{}); !errors.Is(err, errBroken) {
		t.Errorf("a disk that is full: %v", err)
	}
	if _, err := Dial("/nowhere/at/all").Do(t.Context(), q, nil, nil); !errors.Is(err, wire.ErrNoDaemon) {
		t.Errorf("no daemon: %v", err)
	}
	if _, err := full.Do(t.Context(), wire.Request{Job: strings.Repeat("x", wire.MaxRequest)}, nil, nil); !errors.Is(err, wire.ErrBadRequest) {
		t.Errorf("a long request: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent := answering(t, func(conn net.Conn) { cancel(); io.Copy(io.Discard, conn) })
	if _, err := silent.Do(ctx, q, nil, nil); !errors.Is(err, wire.ErrUnavailable) {
		t.Errorf("interrupted: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

var errBroken = errors.New("the disk is full")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
