package control_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func TestEventsWakeAndAreLimited(t *testing.T) {
	service := controltest.New()
	o := options()
	now := controltest.Now
	clock := make(chan time.Time, 1)
	clock <- now
	o.Now = func() time.Time { at := <-clock; clock <- at; return at }
	client, ctx := client.Dial(serve(t, o, service)), t.Context()
	for range 1000 {
		if err := client.Event(ctx, 41, "end"); err != nil {
			t.Fatal(err) // an event beyond the limit is no error and wakes no cycle
		}
	}
	if woken := len(service.Asked()); woken < 5 || woken > 100 {
		t.Errorf("1000 events at one moment woke the daemon %d times", woken)
	}
	if err := client.Direct(ctx, 41, wire.Change{Order: wire.Unpin}); errors.Is(err, wire.ErrTooMany) {
		t.Errorf("events used up the budget for orders: %v", err)
	}
	if _, err := client.Report(ctx); err != nil {
		t.Errorf("reading is not limited: %v", err)
	}
	<-clock
	clock <- now.Add(time.Minute)
	if err := client.Event(ctx, 0, "submit"); err != nil {
		t.Errorf("a minute later: %v", err)
	}
	if err := client.Event(ctx, 1, strings.Repeat("x", 33)); !errors.Is(err, wire.ErrBadRequest) {
		t.Errorf("a long kind: %v", err)
	}
}

// TestTheLastEventIsSeen: the last jobs of a loop of submits are seen in a cycle soon after,
// although their events are beyond the limit and the next cycle is far off.
func TestTheLastEventIsSeen(t *testing.T) {
	service := controltest.New()
	client, ctx := client.Dial(serve(t, options(), service)), t.Context() // the clock stands
	const burst = 20
	for range burst + 5 {
		if err := client.Event(ctx, 0, "submit"); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.After(30 * time.Second); len(service.Asked()) <= burst; {
		select {
		case <-deadline:
			t.Fatalf("%d cycles for %d submits: nothing looks at the last ones", len(service.Asked()), burst+5)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestMalformedRequests(t *testing.T) {
	path := serve(t, options(), controltest.New())
	for _, c := range []struct {
		method, url, body string
		want              int
	}{
		{"GET", "/", "", 404},
		{"POST", "/v1/report", "{}", 404},
		{"DELETE", "/v1/jobs/41/direct", "", 404},
		{"GET", "/v1/jobs/forty/explain", "", 400},
		{"GET", "/v1/jobs/99999999999999999999/explain", "", 400},
		{"POST", "/v1/jobs/41/direct", "", 400},
		{"POST", "/v1/jobs/41/direct", "{", 400},
		{"POST", "/v1/jobs/41/direct", `{"order":"hold","uid":0}`, 400},
		{"POST", "/v1/jobs/41/direct", `{"order":"hold"} {}`, 400},
		{"POST", "/v1/jobs/41/direct", `{"order":"pin","gpus":1e99}`, 400},
		{"POST", "/v1/jobs/41/direct", `{"order":"` + strings.Repeat("x", 20_000) + `"}`, 400},
		{"POST", "/v1/event", `[]`, 400},
	} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		status, body, err := exchange(conn, c.method, c.url, c.body)
		conn.Close()
		if err != nil || status != c.want || !strings.Contains(body, `{"error":{"code":"`) {
			t.Errorf("%s %s %.40s: %d %.200s %v, want %d", c.method, c.url, c.body, status, body, err, c.want)
		}
	}
}

// A user that holds connections open does not keep others out, and is told why the next one is
// refused.
func TestConnectionsAreBounded(t *testing.T) {
	path := serve(t, options(), controltest.New())
	var held []net.Conn
	for range 16 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	client := client.Dial(path)
	_, err := client.Status(t.Context())
	if !errors.Is(err, wire.ErrTooMany) || !strings.Contains(err.Error(), "16 requests") {
		t.Errorf("the 17th: %v", err)
	}
	reachable(t, path)
	for _, conn := range held[1:] {
		conn.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for err != nil && time.Now().Before(deadline) { // until the server has noticed
		_, err = client.Status(t.Context())
	}
	if err != nil {
		t.Errorf("after closing: %v", err)
	}
	for range 15 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if status, body := as(t, controltest.AnnUID, path, "GET", "/v1/status", ""); status != 200 {
		t.Errorf("another user: %d %s", status, body)
	}
	held[0].Close()
}
