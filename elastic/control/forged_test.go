package control_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
)

// forged returns a credential of this many bytes that munged decrypts whole before it finds it
// invalid: version 3, AES-128, SHA-256, not compressed, no realm, then random bytes.
func forged(size int) string {
	raw := make([]byte, max(size, 5))
	for i := range raw {
		raw[i] = byte(rand.N(256))
	}
	copy(raw, []byte{3, 4, 5, 0, 0})
	return "MUNGE:" + base64.StdEncoding.EncodeToString(raw) + ":"
}

// TestForger is not a test: it is the process from which TestForgedFlood floods the daemon,
// with its own memory and the lowest priority.
func TestForger(t *testing.T) {
	address := os.Getenv("SLUICE_TEST_FORGE")
	if address == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var made, answered atomic.Int64
	for n := range 600 {
		all.Go(func() {
			dialer := net.Dialer{Timeout: 5 * time.Second}
			text := forged([]int{100, 1000, 30_000}[n%3]) + "\n"
			for ctx.Err() == nil {
				conn, err := dialer.DialContext(ctx, "tcp", address)
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				made.Add(1)
				unhook := context.AfterFunc(ctx, func() { conn.Close() })
				_, _ = io.WriteString(conn, text)
				if out, _ := io.ReadAll(bufio.NewReader(conn)); bytes.Contains(out, []byte("plain")) {
					answered.Add(1)
				}
				unhook()
				conn.Close()
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	all.Wait()
	fmt.Printf("%d connections, %d answered\n", made.Load(), answered.Load())
}

// flood starts the forging process against an address. stop ends it and returns what it did.
func flood(t *testing.T, address string) (stop func() string) {
	t.Helper()
	return unleash(t, "TestForger", "SLUICE_TEST_FORGE="+address, "GOMAXPROCS=2")
}

// Six hundred connections of one node forge credentials as fast as they can: each honest
// request of the same node is answered, and nothing is left when they have gone.
func TestForgedFlood(t *testing.T) {
	o := options()
	o.Now = time.Now
	service := controltest.New()
	f := listen(t, o, service)
	client := func() *client.Client { return client.DialRemote(f.Remote) }
	calm := honest(t, 100, client, os.Getuid())
	before := runtime.NumGoroutine()
	stop := flood(t, f.Address)
	time.Sleep(2 * time.Second) // until all of them run
	storm := honest(t, 200, client, os.Getuid())
	t.Logf("p50 %v, p99 %v; beside %s %v, %v", calm[len(calm)/2], p99(calm), stop(), storm[len(storm)/2], p99(storm))
	settled(t, before)
}

// A connection that has to give up its seat before its letter was read is told so, so that it
// can try again.
func TestSentAwayUnread(t *testing.T) {
	f := listen(t, options(), controltest.New())
	first, err := net.Dial("tcp", f.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	said := bufio.NewReader(first)
	if _, err := said.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for range 512 {
		conn, err := net.Dial("tcp", f.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if out, _ := io.ReadAll(said); !bytes.HasPrefix(out, []byte("plain\n")) || !bytes.Contains(out, []byte(`"too_many"`)) {
		t.Errorf("told %q", out)
	}
}
