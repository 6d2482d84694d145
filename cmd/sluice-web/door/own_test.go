package door

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// gate is a door with what it logs.
type gate struct {
	*Own
	clock *clock
	said  []string
	h     http.Handler
}

func newGate(host string) *gate {
	g := &gate{clock: &clock{time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}}
	g.Own = NewOwn(host, g.clock.now, func(s string) { g.said = append(g.said, s) })
	g.h = g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("inside")) }))
	return g
}

func (g *gate) ask(method, url string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	g.h.ServeHTTP(w, r)
	return w
}

func with(c *http.Cookie) func(*http.Request) { return func(r *http.Request) { r.AddCookie(c) } }

// A token lets one browser in, once and within an hour; its cookie is strict and lasts a week.
func TestToken(t *testing.T) {
	g := newGate("")
	token := g.Token()
	if w := g.ask("GET", "http://localhost:8642/", nil); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "inside") {
		t.Fatalf("without a cookie: %d", w.Code)
	}
	w := g.ask("GET", "http://localhost:8642/login?token="+token, nil)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusOK || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Domain != "" {
		t.Fatalf("%d %+v", w.Code, cookies)
	}
	if w := g.ask("GET", "http://127.0.0.1:9/jobs", with(cookies[0])); w.Body.String() != "inside" {
		t.Errorf("with the cookie: %d", w.Code)
	}
	if w := g.ask("GET", "http://localhost/login?token="+token, nil); w.Code != http.StatusForbidden || len(w.Result().Cookies()) > 0 {
		t.Errorf("a second time: %d", w.Code)
	}
	g.clock.at = g.clock.at.Add(8 * 24 * time.Hour)
	if w := g.ask("GET", "http://localhost/", with(cookies[0])); w.Code != http.StatusUnauthorized {
		t.Errorf("after a week: %d", w.Code)
	}
	late := g.Token()
	g.clock.at = g.clock.at.Add(2 * time.Hour)
	if w := g.ask("GET", "http://localhost/login?token="+late, nil); w.Code != http.StatusForbidden {
		t.Errorf("after two hours: %d", w.Code)
	}
}

// Wrong tokens are logged and answered up to a rate; a good one counts all the same.
func TestGuesses(t *testing.T) {
	g := newGate("")
	token := g.Token()
	codes := map[int]int{}
	for _, guess := range append(strings.Split(strings.Repeat("x ", 98), " "), token[:63], token+"0") {
		codes[g.ask("GET", "http://localhost/login?token="+guess, nil).Code]++
	}
	if codes[http.StatusForbidden] != guesses || codes[http.StatusTooManyRequests] != 101-guesses || len(g.said) != guesses {
		t.Errorf("%v, %d lines", codes, len(g.said))
	}
	for _, line := range g.said {
		if strings.Contains(line, token[:8]) {
			t.Errorf("the log has a token: %s", line)
		}
	}
	if w := g.ask("GET", "http://localhost/login?token="+token, nil); w.Code != http.StatusOK {
		t.Errorf("the good one: %d", w.Code)
	}
	g.clock.at = g.clock.at.Add(time.Minute)
	if w := g.ask("GET", "http://localhost/login?token=y", nil); w.Code != http.StatusForbidden || !strings.Contains(g.said[len(g.said)-1], "91 before") {
		t.Errorf("later: %d %q", w.Code, g.said[len(g.said)-1])
	}
}

// Bounded: tokens and sessions that are never used are forgotten, the oldest first.
func TestForgets(t *testing.T) {
	g := newGate("")
	first := g.Token()
	for range 2 * tokensKept {
		g.Token()
	}
	if w := g.ask("GET", "http://localhost/login?token="+first, nil); w.Code != http.StatusForbidden {
		t.Errorf("the first of many tokens: %d", w.Code)
	}
	for range 3 * sessionsKept {
		g.ask("GET", "http://localhost/login?token="+g.Token(), nil)
	}
	if len(g.sessions) > sessionsKept || len(g.tokens) > tokensKept {
		t.Errorf("%d sessions, %d tokens", len(g.sessions), len(g.tokens))
	}
}

// Names of other sites, and requests of other sites' pages, are refused even with the cookie; every
// answer has the strict headers.
func TestOtherSites(t *testing.T) {
	g := newGate("")
	cookie := g.ask("GET", "http://localhost/login?token="+g.Token(), nil).Result().Cookies()[0]
	for _, c := range []struct {
		method, url, name, value string
		want                     int
	}{
		{"GET", "http://evil.example/", "", "", http.StatusMisdirectedRequest},
		{"GET", "http://localhost.evil.example:8642/", "", "", http.StatusMisdirectedRequest},
		{"GET", "http://10.0.0.1/", "", "", http.StatusMisdirectedRequest},
		{"POST", "http://localhost/order", "Origin", "http://evil.example", http.StatusForbidden},
		{"POST", "http://localhost/order", "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"POST", "http://localhost/order", "Sec-Fetch-Site", "same-site", http.StatusForbidden},
		{"POST", "http://localhost:8642/order", "Origin", "http://localhost:8643", http.StatusForbidden},
		{"POST", "http://localhost:8642/order", "Origin", "http://localhost:8642", http.StatusOK},
		{"POST", "http://localhost/order", "Sec-Fetch-Site", "same-origin", http.StatusOK},
		{"GET", "http://[::1]:8642/", "", "", http.StatusOK},
	} {
		w := g.ask(c.method, c.url, func(r *http.Request) {
			r.AddCookie(cookie)
			if c.name != "" {
				r.Header.Set(c.name, c.value)
			}
		})
		if w.Code != c.want || (w.Code == http.StatusOK) != (w.Body.String() == "inside") {
			t.Errorf("%+v: %d", c, w.Code)
		}
		if h := w.Header(); h.Get("Content-Security-Policy") != Policy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%+v: %v", c, h)
		}
	}
	if strings.Contains(Policy, "unsafe") || strings.Contains(Policy, "http") || strings.Contains(Policy, "*") {
		t.Error(Policy)
	}
}

// With a name of its own the door answers to no other, also not to the loopback's.
func TestOwnName(t *testing.T) {
	g := newGate("sluice-1234.localhost")
	token := g.Token()
	for _, host := range []string{"localhost:4000", "127.0.0.1:4000", "sluice-1235.localhost:4000"} {
		if w := g.ask("GET", "http://"+host+"/login?token="+token, nil); w.Code != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", host, w.Code)
		}
	}
	if w := g.ask("GET", "http://sluice-1234.localhost:4000/login?token="+token, nil); w.Code != http.StatusOK {
		t.Error(w.Code)
	}
}
