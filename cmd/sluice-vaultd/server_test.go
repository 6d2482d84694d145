package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/local"
	"github.com/sluice-hpc/sluice/elastic/vault/client"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// one maps this process's account to a user.
type one struct{ name string }

func (o *one) Name(uint32) string              { return o.name }
func (o *one) Groups(string) ([]string, error) { return nil, nil }
func (o *one) Group(string) error              { return nil }

// served serves the lab on a socket, to the account that comes with it.
func served(t *testing.T) (*lab, *client.Client, *one) {
	t.Helper()
	l := newLab(t)
	who := &one{"hanna"}
	l.s.accounts = who
	dir, err := os.MkdirTemp("", "vaultd") // a socket's path is short
	l.must(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, err := local.Listen(t.Context(), local.Place{Path: filepath.Join(dir, "s"), Key: "[data] socket"})
	l.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- newServer(l.s).serve(ctx, socket) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && l.s.vault.broken == nil {
			t.Error(err)
		}
	})
	return l, client.Dial(filepath.Join(dir, "s")), who
}

func TestServed(t *testing.T) {
	l, c, who := served(t)
	_, err := c.Do(t.Context(), wire.Request{Do: wire.Add, Set: &wire.Set{Name: "mammo", Path: filepath.Join(l.dir, "sets/mammo"), Readers: []string{"ada"}, Release: "5MB/job,9MB/week"}}, nil, nil)
	l.must(err)
	who.name = "ada"
	q, body := submissionOf(codeOf(t))
	a, err := c.Do(t.Context(), q, strings.NewReader(strings.Join(body, "")), nil)
	l.must(err)
	big := strings.Repeat("model", 400_000)
	l.put(a.ID, "out/m.pt", big)
	l.end(a.ID)
	var out bytes.Buffer
	a, err = c.Do(t.Context(), wire.Request{Do: wire.Results, Job: a.ID}, nil, &out)
	if err != nil || l.files(out.String())["m.pt"] != big || len(a.Files) != 1 {
		t.Errorf("%+v, %v, %d bytes", a, err, out.Len())
	}
	_, err = c.Do(t.Context(), wire.Request{Do: wire.Logs, Job: "99"}, nil, nil)
	var told *wire.Error
	if !errors.As(err, &told) || told.Code != wire.NotFound || told.Hint == "" {
		t.Errorf("%#v", err)
	}
	_, err = c.Do(t.Context(), wire.Request{Do: "burn"}, nil, nil)
	if !errors.Is(err, wire.ErrBadRequest) {
		t.Error(err)
	}
	q.ScriptSize = 100 // more than there is
	if _, err = c.Do(t.Context(), q, strings.NewReader(script[:20]), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// Connections that say nothing, nonsense or too much take nothing from others.
func TestHostileConnections(t *testing.T) {
	_, c, _ := served(t)
	dial := func() net.Conn {
		conn, err := net.Dial("unix", c.Where())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	say := func(text string) string {
		conn := dial()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		go io.WriteString(conn, text)
		said, _ := io.ReadAll(conn)
		return string(said)
	}
	for text, want := range map[string]string{
		"nonsense\n": "not a line of JSON", "{}\n": "version 0", "{\"version\":1}\n": "does not know the request",
		strings.Repeat("x", wire.MaxRequest+5000): "more than 65536 bytes", "{\"version\":1,\"do\":\"list\",\"script_size\":-1}\n": "negative",
		"{\"version\":1,\"do\":\"list\",\"script_size\":5}\nabcde": "no raw bytes",
	} {
		if got := say(text); !strings.Contains(got, want) {
			t.Errorf("%.40q: %q, want %s", text, got, want)
		}
	}
	idle := make([]net.Conn, perUser)
	for i := range idle {
		idle[i] = dial()
	}
	var err error
	for range 100 { // until all of them have their seats
		if _, err = c.Do(t.Context(), wire.Request{Do: wire.List}, nil, nil); errors.Is(err, wire.ErrTooMany) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !errors.Is(err, wire.ErrTooMany) {
		t.Errorf("with %d open connections: %v", perUser, err)
	}
	for _, conn := range idle {
		conn.Close()
	}
	for range 100 {
		if _, err = c.Do(t.Context(), wire.Request{Do: wire.List}, nil, nil); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Errorf("after they closed: %v", err)
	}
}

// When the record cannot be written vaultd ends, and says nothing but that it failed.
func TestEndsWithTheDisk(t *testing.T) {
	l, c, _ := served(t)
	l.s.vault.mu.Lock()
	l.s.vault.record = &failing{recordFile: l.s.vault.record}
	l.s.vault.mu.Unlock()
	set := &wire.Set{Name: "mammo", Path: filepath.Join(l.dir, "sets/mammo"), Release: "5MB/job,9MB/week"}
	if _, err := c.Do(t.Context(), wire.Request{Do: wire.Add, Set: set}, nil, nil); !errors.Is(err, wire.ErrInternal) {
		t.Errorf("%v", err)
	}
	for range 500 {
		if _, err := c.Do(t.Context(), wire.Request{Do: wire.List}, nil, nil); errors.Is(err, wire.ErrNoDaemon) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("it is still there")
}
