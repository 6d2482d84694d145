package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/feed"
)

// pastDay is a page of the last day.
var pastDay = client.PastQuery{From: controltest.Now.Add(-24 * time.Hour)}

// happen adds an event to a service's feed.
func happen(f *feed.Feed, kind string, access feed.Access, uid uint32) {
	f.Add(kind, access, uid, func(id string) []byte {
		raw, _ := json.Marshal(wire.Happening{ID: id, At: controltest.Now, Kind: kind})
		return raw
	})
}

var errEnough = errors.New("enough")

// collect reads n events of the stream.
func collect(t *testing.T, c *client.Client, after string, n int) (got []wire.Happening) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := c.Events(ctx, after, func(h wire.Happening) error {
		if got = append(got, h); len(got) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("after %d of %d events: %v", len(got), n, err)
	}
	return got
}

func kinds(all []wire.Happening) (out []string) {
	for _, h := range all {
		out = append(out, h.Kind)
	}
	return out
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// A reader gets what happens, in order; with its last id it goes on where it was, and is told when events
// are missing.
func TestStreamResumes(t *testing.T) {
	service := controltest.New()
	c := client.Dial(serve(t, options(), service))
	f := service.Events()
	for _, kind := range []string{"open", "step", wire.KindCycle, "close"} {
		happen(f, kind, feed.Everyone, 0)
	}
	if got := collect(t, c, "test-1", 3); !slices.Equal(kinds(got), []string{"step", wire.KindCycle, "close"}) || got[2].ID != "test-4" {
		t.Errorf("after the first: %+v", got)
	}
	for after, why := range map[string]string{"older-3": wire.GapRestart, "test-99": wire.GapUnknown} {
		if got := collect(t, c, after, 1); got[0].Kind != wire.KindGap || got[0].Gap != why {
			t.Errorf("after %s: %+v", after, got)
		}
	}
	if got := collect(t, c, "older-3", 5); !slices.Equal(kinds(got), []string{"gap", "open", "step", wire.KindCycle, "close"}) || got[0].ID != "test-0" {
		t.Errorf("after a restart: %+v", got)
	}
	// Without an id the last fingerprint comes first, and then what happens from now on.
	first := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- c.Events(ctx, "", func(h wire.Happening) error { first <- h.ID; return nil })
	}()
	if id := <-first; id != "test-3" {
		t.Errorf("begins with %s", id)
	}
	happen(f, "ended", feed.Everyone, 0)
	if id := <-first; id != "test-5" {
		t.Errorf("and then %s", id)
	}
	cancel()
	if err := <-done; !errors.Is(err, wire.ErrNoDaemon) {
		t.Errorf("interrupted: %v", err)
	}
	for range feed.MostEvents {
		happen(f, "step", feed.Everyone, 0)
	}
	if got := collect(t, c, "test-2", 2); got[0].Gap != wire.GapOld || got[1].ID != "test-6" {
		t.Errorf("what is no longer kept: %+v", got)
	}
	err := c.Events(t.Context(), "nonsense", func(wire.Happening) error { return nil })
	if !errors.Is(err, wire.ErrBadRequest) {
		t.Errorf("nonsense: %v", err)
	}
}

// Who may read what: the rows are kinds of events, the columns the callers of the matrix.
func TestStreamMatrix(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, other users not tested: needs root to become them")
	}
	var out strings.Builder
	for _, private := range []bool{false, true} {
		o := options()
		o.Operators, o.Private = []string{"daemon"}, private
		service := controltest.New()
		path := filepath.Join(t.TempDir(), "s", "sock")
		open(t, path, o, service)
		reachable(t, path)
		f := service.Events()
		rows := []struct {
			kind   string
			access feed.Access
			uid    uint32
		}{{"of everyone", feed.Everyone, 0}, {"of ann", feed.OfUser, controltest.AnnUID}, {"of bob", feed.OfUser, controltest.BobUID}, {"of operators", feed.Operators, 0}}
		for _, r := range rows {
			happen(f, r.kind, r.access, r.uid)
		}
		happen(f, "last", feed.Everyone, 0)
		heard := map[string]map[string]bool{}
		for _, c := range callers {
			heard[c.name] = map[string]bool{}
			controltest.As(t, c.uid, func() {
				err := client.Dial(path).Events(t.Context(), "test-0", func(h wire.Happening) error {
					heard[c.name][h.Kind] = true
					if h.Kind == "last" {
						return errEnough
					}
					return nil
				})
				if !errors.Is(err, errEnough) {
					t.Errorf("%s: %v", c.name, err)
				}
			})
		}
		fmt.Fprintf(&out, "private = %-10v", private)
		for _, c := range callers {
			fmt.Fprintf(&out, "%-10s", c.name)
		}
		out.WriteString("\n")
		for _, r := range rows {
			fmt.Fprintf(&out, "%-20s", r.kind)
			for _, c := range callers {
				fmt.Fprintf(&out, "%-10s", map[bool]string{true: "yes", false: "no"}[heard[c.name][r.kind]])
			}
			out.WriteString("\n")
		}
		out.WriteString("\n")
	}
	golden(t, "streams.txt", out.String())
}

// listener opens a stream by hand and reads its header; status 0: it was not accepted.
func listener(path string) (net.Conn, int) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, 0
	}
	if _, err := io.WriteString(conn, "GET /v1/events HTTP/1.1\r\nHost: sluiced\r\n\r\n"); err != nil {
		return conn, 0
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return conn, 0
	}
	return conn, response.StatusCode
}

// Streams are bounded, and beside the bound on requests: one more is refused with a clear error, requests
// are still answered, and once the readers have gone nothing is left of them, no goroutine either.
func TestStreamsAreBounded(t *testing.T) {
	service := controltest.New()
	path := filepath.Join(t.TempDir(), "s", "sock")
	server := open(t, path, options(), service)
	c := client.Dial(path)
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	var conns []net.Conn
	refused := 0
	for range 40 {
		conn, status := listener(path)
		if status == http.StatusTooManyRequests {
			refused++
		}
		if conn != nil {
			conns = append(conns, conn)
		}
	}
	if n := server.Streams(); n != control.StreamsOfUser || refused != 40-n {
		t.Errorf("%d streams are open, %d were refused", n, refused)
	}
	err := c.Events(t.Context(), "", func(wire.Happening) error { return nil })
	if !errors.Is(err, wire.ErrTooMany) || !strings.Contains(err.Error(), "8 streams") {
		t.Errorf("one more: %v", err)
	}
	if _, err := c.Report(t.Context()); err != nil {
		t.Errorf("a request beside them: %v", err)
	}
	for _, conn := range conns {
		conn.Close()
	}
	until(t, "all streams are closed", func() bool { return server.Streams() == 0 })
	until(t, "their goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+2 })
}

// A reader that does not read is dropped, and what happens meanwhile is not kept for it.
func TestSlowReaderIsDropped(t *testing.T) {
	defer control.SetStreamWrite(50 * time.Millisecond)()
	service := controltest.New()
	path := filepath.Join(t.TempDir(), "s", "sock")
	server := open(t, path, options(), service)
	conn, status := listener(path)
	if status != http.StatusOK {
		t.Fatal(status)
	}
	defer conn.Close()
	text := strings.Repeat("x", 16<<10)
	until(t, "it is dropped", func() bool {
		service.Events().Add("step", feed.Everyone, 0, func(string) []byte { return []byte(text) })
		return server.Streams() == 0
	})
}

// The end of the server ends its streams at once: it does not wait for readers.
func TestStreamEndsWithTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s", "sock")
	server, err := control.Listen(t.Context(), path, options(), controltest.New())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	heard := make(chan error, 1)
	go func() {
		heard <- client.Dial(path).Events(t.Context(), "", func(wire.Happening) error { return nil })
	}()
	until(t, "the stream is open", func() bool { return server.Streams() == 1 })
	cancel()
	if err := <-heard; !errors.Is(err, wire.ErrNoDaemon) {
		t.Errorf("the reader: %v", err)
	}
	if err := <-done; err != nil || server.Streams() != 0 {
		t.Errorf("%v, %d streams", err, server.Streams())
	}
}

// A quiet stream has a comment now and then, which a client passes over.
func TestHeartbeat(t *testing.T) {
	defer control.SetHeartbeat(time.Millisecond)()
	service := controltest.New()
	conn, status := listener(serve(t, options(), service))
	if status != http.StatusOK {
		t.Fatal(status)
	}
	defer conn.Close()
	beats, in := 0, bufio.NewReader(conn)
	for beats < 3 {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, ": ") {
			beats++
		}
	}
}
