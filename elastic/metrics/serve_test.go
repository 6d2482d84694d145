package metrics

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serve starts a server that the test's end stops.
func serve(t *testing.T, address string) *Server {
	t.Helper()
	s, err := Listen(t.Context(), address, newMetrics(t, Options{}).Handler(), func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// get scrapes over a connection.
func get(t *testing.T, network, address string) (*http.Response, error) {
	t.Helper()
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	return client.Get("http://sluiced/metrics")
}

func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.sock")
	for _, address := range []string{"127.0.0.1:0", path} {
		s := serve(t, address)
		resp, err := get(t, s.Addr().Network(), s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), "sluice_cycle_seconds_count 0") {
			t.Errorf("%s: %s %v", address, resp.Status, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket: %v %v", info, err)
	}
}

// TestSlowScrapersDelayNothing: connections beyond the bound wait, those of scrapers that say nothing are
// dropped, and meanwhile a cycle is counted.
func TestSlowScrapersDelayNothing(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	var silent []net.Conn
	for range mostConnections + 4 {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent = append(silent, c)
	}
	_ = silent[0].SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := bufio.NewReader(silent[0]).ReadString('\n'); err == nil {
		t.Error("a scraper that says nothing was answered")
	} else if timeout, is := err.(net.Error); is && timeout.Timeout() {
		t.Error("a scraper that says nothing was not dropped")
	}
	resp, err := get(t, "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// TestCannotListen: the error names the key and what to do.
func TestCannotListen(t *testing.T) {
	taken := serve(t, "127.0.0.1:0").Addr().String()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	used := filepath.Join(t.TempDir(), "used.sock")
	serve(t, used)
	for address, want := range map[string]string{
		taken: "address already in use", file: "not a socket", used: "another process answers there", "/no/such/folder/s": "no such file", "localhost:notaport": "port",
	} {
		_, err := Listen(t.Context(), address, http.NotFoundHandler(), func(error) {})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "[metrics] listen") {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Error("a file was removed to make room for a socket")
	}
}

// TestStaleSocket: the socket of a daemon that is gone is replaced.
func TestStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	serve(t, path)
}
