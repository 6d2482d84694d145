package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluice-hpc/sluice/elastic/control/local"
	"github.com/sluice-hpc/sluice/elastic/control/seats"
	"github.com/sluice-hpc/sluice/elastic/vault/client"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// one maps this process's account to a user.
type one struct {
	name   string
	asked  chan bool // if set, it is told of each question
	answer chan bool // if set, answers wait for it
}

func (o *one) Name(uint32) string {
	if o.asked != nil {
		o.asked <- true
	}
	if o.answer != nil {
		<-o.answer
	}
	return o.name
}

func (o *one) Groups(string) ([]string, error) { return nil, nil }
func (o *one) Group(string) error              { return nil }

// served serves the lab on a socket, to the account that comes with it.
func served(t *testing.T) (*lab, *client.Client, *one) {
	t.Helper()
	l := newLab(t)
	c, who := l.serve(newServer(l.s))
	return l, c, who
}

// serve lets a server serve the lab.
func (l *lab) serve(s *server) (*client.Client, *one) {
	t := l.t
	t.Helper()
	who := &one{name: "hanna"}
	l.s.accounts = who
	dir, err := os.MkdirTemp("", "vaultd") // a socket's path is short
	l.must(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, err := local.Listen(t.Context(), local.Place{Path: filepath.Join(dir, "s"), Key: "[data] socket"})
	l.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, socket) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && l.s.vault.broken == nil {
			t.Error(err)
		}
	})
	return client.Dial(filepath.Join(dir, "s")), who
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
	var idle []net.Conn
	for range perUser + 3 { // the last three take the places of the first
		idle = append(idle, dial())
	}
	if _, err := c.Do(t.Context(), wire.Request{Do: wire.List}, nil, nil); err != nil {
		t.Errorf("with %d open connections that say nothing: %v", len(idle), err)
	}
	idle[0].SetDeadline(time.Now().Add(5 * time.Second)) // before lineWithin
	if said, err := io.ReadAll(idle[0]); err != nil || !strings.Contains(string(said), string(wire.TooMany)) {
		t.Errorf("the first: %q, %v", said, err)
	}
}

// An account has perUser requests under way, and all accounts inAll. Connections of accounts without a name take no place from
// others, also while their names are looked up.
func TestSeats(t *testing.T) {
	l := newLab(t)
	s := newServer(l.s)
	var silent []*seats.Seat[uint32]
	for n := range inAll { // each of another account of one user
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		silent = append(silent, s.seats.Enter(uint32(100_000+n), a))
	}
	c, who := l.serve(s)
	list := func() error {
		_, err := c.Do(t.Context(), wire.Request{Do: wire.List}, nil, nil)
		return err
	}
	if err := list(); err != nil {
		t.Errorf("beside %d accounts that say nothing: %v", inAll, err)
	}
	for _, seat := range silent {
		seat.Leave()
	}
	for range 500 { // until that request has left, too
		if s.seats.Count(uint32(os.Geteuid())) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	who.asked = make(chan bool, perUser+1)
	who.answer = make(chan bool)
	said := make(chan error, perUser)
	for range perUser {
		go func() { said <- list() }()
		<-who.asked
	}
	last := make(chan error, 1)
	go func() { last <- list() }()
	select {
	case err := <-said:
		if !errors.Is(err, wire.ErrTooMany) {
			t.Errorf("the first of %d whose account is looked up: %v", perUser+1, err)
		}
	case err := <-last:
		t.Fatalf("the last of %d whose account is looked up: %v", perUser+1, err)
	}
	close(who.answer)
	if err := <-last; err != nil {
		t.Error(err)
	}
	for range perUser - 1 {
		if err := <-said; err != nil {
			t.Error(err)
		}
	}
	who.asked = nil
	for n := range inAll {
		who := uint32(os.Geteuid())
		if n >= perUser {
			who = uint32(100_000 + n)
		}
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		seat := s.seats.Enter(who, a)
		for range 500 { // until those before have left
			if seat != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
			seat = s.seats.Enter(who, a)
		}
		if seat == nil {
			t.Fatalf("no seat for the %d.", n+1)
		}
		seat.Work(true)
		if n == perUser-1 || n == inAll-1 {
			if err := list(); !errors.Is(err, wire.ErrTooMany) {
				t.Errorf("with %d requests under way: %v", n+1, err)
			}
		}
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

// lines is a log that counts its lines.
type lines struct{ atomic.Int64 }

func (l *lines) Write(p []byte) (int, error) {
	l.Add(1)
	return len(p), nil
}

// Who connects and connects again fills no log; a connection that gives way is told so, one that is answered is not sent away.
func TestWhoGivesWay(t *testing.T) {
	l := newLab(t)
	var logged lines
	l.s.log = zerolog.New(&logged)
	s := newServer(l.s)
	c, _ := l.serve(s)
	var all []net.Conn
	for n := range 5 * perUser {
		conn, err := net.Dial("unix", c.Where())
		l.must(err)
		t.Cleanup(func() { conn.Close() })
		if n%2 == 0 {
			io.WriteString(conn, `{"ver`)
		}
		all = append(all, conn)
	}
	for n, conn := range all[:4*perUser] {
		conn.SetDeadline(time.Now().Add(5 * time.Second)) // before lineWithin
		var a wire.Answer
		if err := json.NewDecoder(conn).Decode(&a); err != nil || a.Error == nil || a.Error.Code != wire.TooMany {
			t.Errorf("the %d. is told %+v, %v", n+1, a, err)
		}
	}
	for _, conn := range all[4*perUser:] {
		conn.Close()
	}
	if _, err := c.Do(t.Context(), wire.Request{Do: wire.List}, nil, nil); err != nil {
		t.Error(err)
	}
	s.running.Wait()
	if n := logged.Load(); n > 0 {
		t.Errorf("%d lines in the log", n)
	}
}

// A connection is either answered or sent away, whatever comes first.
func TestSentAway(t *testing.T) {
	for _, heard := range []bool{true, false} {
		a, b := net.Pipe()
		ctx, leave := context.WithCancel(t.Context())
		s := &sitting{Conn: a, leave: leave}
		told := make(chan string, 1)
		go func() {
			said, _ := io.ReadAll(b)
			told <- string(said)
		}()
		if heard && !s.heard() {
			t.Error("nobody sent it away")
		}
		s.Close()
		if s.heard() || ctx.Err() == nil || strings.Contains(<-told, string(wire.TooMany)) == heard {
			t.Errorf("answered: %v, and the same connection was sent away, or neither", heard)
		}
	}
}
