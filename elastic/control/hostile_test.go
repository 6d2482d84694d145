package control_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/munge"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// What hostile clients do with a connection until ctx ends. They may send anything; it must
// never result in an order about ann's job.
var hostilities = []struct {
	name string
	do   func(context.Context, net.Conn)
}{
	{"says nothing", func(ctx context.Context, c net.Conn) { <-ctx.Done() }},
	{"slow loris", func(ctx context.Context, c net.Conn) {
		drip(ctx, c, "POST /v1/jobs/41/direct HTTP/1.1\r\nHost: sluiced\r\nX: "+strings.Repeat("x", 1000))
	}},
	{"slow body", func(ctx context.Context, c net.Conn) {
		io.WriteString(c, "POST /v1/jobs/41/direct HTTP/1.1\r\nHost: sluiced\r\nContent-Length: 1000\r\n\r\n")
		drip(ctx, c, strings.Repeat(" ", 1000))
	}},
	{"giant line", func(_ context.Context, c net.Conn) { pour(c, "GET /", "a", 1<<20) }},
	{"giant header", func(_ context.Context, c net.Conn) { pour(c, "GET / HTTP/1.1\r\nX: ", "a", 1<<20) }},
	{"many headers", func(_ context.Context, c net.Conn) { pour(c, "GET / HTTP/1.1\r\n", "X: y\r\n", 1<<20) }},
	{"giant body", func(_ context.Context, c net.Conn) {
		pour(c, "POST /v1/event HTTP/1.1\r\nHost: s\r\nContent-Length: 1000000000\r\n\r\n", " ", 1<<20)
	}},
	{"endless chunks", func(_ context.Context, c net.Conn) {
		pour(c, "POST /v1/event HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 1<<20)
	}},
	{"garbage", func(_ context.Context, c net.Conn) {
		for range 100 {
			raw := make([]byte, 1000)
			for i := range raw {
				raw[i] = byte(rand.N(256))
			}
			if _, err := c.Write(raw); err != nil {
				return
			}
		}
	}},
	{"never reads", func(ctx context.Context, c net.Conn) {
		io.WriteString(c, "GET /v1/report HTTP/1.1\r\nHost: sluiced\r\n\r\n")
		<-ctx.Done()
	}},
	{"many in one", func(_ context.Context, c net.Conn) {
		go io.Copy(io.Discard, c)
		pour(c, "", "GET /v1/report HTTP/1.1\r\nHost: sluiced\r\n\r\n", 1<<16)
	}},
	{"orders", func(_ context.Context, c net.Conn) {
		exchange(c, "POST", "/v1/jobs/41/direct", `{"order":"hold"}`)
	}},
	{"unknown jobs", func(_ context.Context, c net.Conn) { exchange(c, "GET", "/v1/jobs/999/explain", "") }},
}

func drip(ctx context.Context, c net.Conn, text string) {
	for i := range len(text) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := c.Write([]byte{text[i]}); err != nil {
			return
		}
	}
}

func pour(c net.Conn, head, piece string, total int) {
	if _, err := io.WriteString(c, head); err != nil {
		return
	}
	block := strings.Repeat(piece, 4096/len(piece))
	for sent := 0; sent < total; sent += len(block) {
		if _, err := io.WriteString(c, block); err != nil {
			return
		}
	}
}

// TestAttacker is not a test: it is the process in which attack runs the hostile clients of
// TestHostileClients, apart from the daemon's memory and priority.
func TestAttacker(t *testing.T) {
	path := os.Getenv("SLUICE_TEST_ATTACK")
	if path == "" {
		return
	}
	users, err := strconv.Atoi(os.Getenv("SLUICE_TEST_ATTACKERS"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var tries atomic.Int64
	for n := range 1000 {
		all.Go(func() {
			for round := n; ctx.Err() == nil; round++ {
				hostile(ctx, t, path, 100_000+n%users, round)
				tries.Add(1)
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the daemon's side has seen enough
	cancel()
	all.Wait()
	fmt.Printf("%d connections\n", tries.Load())
}

// hostile is one hostile connection of one user.
func hostile(ctx context.Context, t *testing.T, path string, uid, kind int) {
	var conn net.Conn
	var err error
	controltest.As(t, uid, func() { conn, err = net.Dial("unix", path) })
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return
	}
	defer conn.Close()
	unhook := context.AfterFunc(ctx, func() { conn.Close() })
	defer unhook()
	hostilities[kind%len(hostilities)].do(ctx, conn)
}

// attack starts a thousand hostile clients of this many users against the socket. stop ends
// them and returns how many connections they made.
func attack(t *testing.T, path string, users int) (stop func() string) {
	t.Helper()
	return unleash(t, "TestAttacker", "SLUICE_TEST_ATTACK="+path, fmt.Sprintf("SLUICE_TEST_ATTACKERS=%d", users))
}

// big is a service whose report takes megabytes.
func big(jobs int) *controltest.Service {
	service := controltest.New()
	one := service.Last.Jobs[1]
	for n := range jobs {
		one.Record.ID, one.Job.ID = elastic.JobID(1000+n), elastic.JobID(1000+n)
		service.Last.Jobs = append(service.Last.Jobs, one)
	}
	return service
}

// honest sends ordinary requests in rounds, each of which must be answered. It returns how long
// each took.
func honest(t *testing.T, rounds int, client func() *client.Client, uid int) []time.Duration {
	t.Helper()
	var took []time.Duration
	for n := range rounds {
		var err error
		began := time.Now()
		controltest.As(t, uid, func() {
			c := client()
			_, err = c.Explain(t.Context(), controltest.Growing)
			if n%20 == 10 {
				err = errors.Join(err, c.Direct(t.Context(), controltest.Growing, wire.Change{Order: wire.Unpin}))
			}
		})
		took = append(took, time.Since(began))
		if err != nil {
			t.Errorf("request %d of the honest user: %v", n, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	slices.Sort(took)
	return took
}

func p99(took []time.Duration) time.Duration { return took[len(took)*99/100] }

// A thousand hostile clients, of one user or of a thousand, and one honest user, which is
// always answered. Nothing hostile becomes an order, and nothing is left when they have gone.
func TestHostileClients(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, other users not tested: needs root to become them")
	}
	for name, users := range map[string]int{"of one user": 1, "of a thousand users": 1000} {
		t.Run(name, func(t *testing.T) {
			service := big(5000)
			o := options()
			o.Now = time.Now
			path := serve(t, o, service)
			reachable(t, path)
			client := func() *client.Client { return client.Dial(path) }
			calm := honest(t, 50, client, controltest.AnnUID)
			before := runtime.NumGoroutine()
			stop := attack(t, path, users)
			time.Sleep(time.Second) // until all of them run
			storm := honest(t, 100, client, controltest.AnnUID)
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			t.Logf("p50 %v, p99 %v; beside %s %v, %v; heap %d MB", calm[len(calm)/2], p99(calm), stop(), storm[len(storm)/2], p99(storm), memory.HeapAlloc>>20)
			if memory.HeapAlloc > 150<<20 {
				t.Errorf("%d MB of heap: a client that does not read gets its own copy", memory.HeapAlloc>>20)
			}
			for _, asked := range service.Asked() {
				if asked != "wake" && asked != "direct 1001 41 unpin" {
					t.Fatalf("a hostile client got through: %s", asked)
				}
			}
			settled(t, before)
		})
	}
}

// settled waits until the server has noticed that they have gone.
func settled(t *testing.T, before int) {
	t.Helper()
	for range 100 {
		if runtime.NumGoroutine() <= before+10 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// Over TCP, clients that only hold connections harm no others, not even those of their own
// node, which cannot be told apart before munge has answered.
func TestHostileNode(t *testing.T) {
	o := options()
	o.Now = time.Now
	service := controltest.New()
	f := listen(t, o, service)
	from := func(host string) *net.Dialer {
		return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}, Timeout: 5 * time.Second}
	}
	for range 1500 {
		conn, err := from("127.0.0.2").Dial("tcp", f.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for _, host := range []string{"127.0.0.2", "127.0.0.3"} {
		if _, err := control.DialRemoteFrom(f.Remote, from(host)).Explain(t.Context(), controltest.Growing); err != nil {
			t.Errorf("from %s: %v", host, err)
		}
	}
	if got := service.Asked(); len(got) != 0 {
		t.Errorf("asked %q", got)
	}
}

// slowMunge answers when told to, and records which node it was asked about.
type slowMunge struct {
	ready chan struct{}
	mu    sync.Mutex
	asked []string
}

func (m *slowMunge) Seal(_ context.Context, payload []byte, _ uint32) (string, error) {
	return "MUNGE:" + base64.StdEncoding.EncodeToString(payload) + ":", nil
}

func (m *slowMunge) Open(ctx context.Context, credential string, _ uint32) (munge.Credential, error) {
	payload, err := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimPrefix(credential, "MUNGE"), ":"))
	m.mu.Lock()
	m.asked = append(m.asked, string(payload))
	m.mu.Unlock()
	select {
	case <-m.ready:
	case <-ctx.Done():
		return munge.Credential{}, ctx.Err()
	}
	return munge.Credential{UID: controltest.AnnUID, Payload: payload}, err
}

// A connection that has sent a credential keeps its seat until munge has read it, however many
// idle ones of its node come later.
func TestWaitingConnectionKeepsItsSeat(t *testing.T) {
	m := &slowMunge{ready: make(chan struct{})}
	f := listenWith(t, options(), controltest.New(), m)
	answered := make(chan error, 1)
	go func() {
		_, err := client.DialRemote(f.Remote).History(t.Context(), controltest.Growing)
		answered <- err
	}()
	count := func() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.asked) }
	for count() == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 600 { // more than a node has seats
		conn, err := net.Dial("tcp", f.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.ReadFull(conn, make([]byte, 10)); err != nil { // so that it has one
			t.Fatal(err)
		}
	}
	m.ready <- struct{}{}
	if err := <-answered; err != nil || count() != 1 {
		t.Errorf("%v, munge was asked %d times", err, count())
	}
}

// Credentials of two nodes are read in turn, however many one of them sends: the first of the
// second node waits only for those that munge is already reading. Only a bounded number of the
// flood waits; the others are told to try again, unread.
func TestNodesTakeTurns(t *testing.T) {
	m := &slowMunge{ready: make(chan struct{})}
	f := listenWith(t, options(), controltest.New(), m)
	from := func(host string) *net.Dialer { return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}} }
	flood, _ := m.Seal(t.Context(), []byte("flood"), 0)
	for range 200 {
		conn, err := from("127.0.0.2").Dial("tcp", f.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, flood+"\n")
	}
	queued := func(want int) {
		t.Helper()
		for range 1000 {
			if f.server.Queued() == want {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Fatalf("%d wait, want %d", f.server.Queued(), want)
	}
	queued(control.MostOfNode) // four are being read, all others were refused
	answered := make(chan error, 1)
	go func() {
		_, err := control.DialRemoteFrom(f.Remote, from("127.0.0.3")).History(t.Context(), controltest.Growing)
		answered <- err
	}()
	queued(control.MostOfNode + 1)
	count := func() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.asked) }
	for read := 4; ; read++ { // one by one, so that the order is that of the turns
		for range 1000 {
			if count() == read {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		select {
		case m.ready <- struct{}{}:
			continue
		case err := <-answered:
			if err != nil {
				t.Error(err)
			}
		}
		break
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.asked, func(p string) bool { return p != "flood" })
	if at < 4 || at > 6 { // four before it, and one whose turn it was
		t.Errorf("it was read as the %d.", at+1)
	}
}
