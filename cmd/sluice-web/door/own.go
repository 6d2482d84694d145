package door

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Bounds of Own.
const (
	tokensKept   = 4 // tokens that were handed out and not used; the oldest is forgotten
	tokenLasts   = time.Hour
	sessionsKept = 16 // browsers that are in; the oldest is forgotten
	sessionLasts = 7 * 24 * time.Hour
	guesses      = 10 // wrong tokens at once
	guessEvery   = 10 * time.Second
)

// Own is the door of one user's own pages. It is safe for concurrent use.
type Own struct {
	host   string // the only name that the pages have; "" = any name of this machine's loopback
	cookie string
	now    func() time.Time
	log    func(string)

	mu       sync.Mutex
	tokens   []secret
	sessions []secret
	left     float64 // guesses that are left
	counted  time.Time
	quiet    int // wrong tokens that were not logged
}

// secret is a token or a session.
type secret struct {
	text string
	made time.Time
}

// NewOwn returns a door without a token. host is the only name by which the pages are called,
// without a port; "" = localhost, or an address of the loopback: what the end of a tunnel is called.
func NewOwn(host string, now func() time.Time, log func(string)) *Own {
	return &Own{host: host, cookie: "sluice-" + random(4), now: now, log: log, left: guesses, counted: now()}
}

// random returns n random bytes in hex.
func random(n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}

// Token returns a new token, good for one login within an hour.
func (o *Own) Token() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := secret{random(32), o.now()}
	if o.tokens = append(o.tokens, t); len(o.tokens) > tokensKept {
		o.tokens = o.tokens[1:]
	}
	return t.text
}

// Wrap returns a handler that lets through who is in. "/login?token=..." lets in.
func (o *Own) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strict(w)
		if !o.named(r.Host) { // the name of another site that points here (DNS rebinding)
			o.log(fmt.Sprintf("refused a request for the host %.80q", r.Host))
			plain(w, http.StatusMisdirectedRequest, "sluice web: open it under the address that it printed")
			return
		}
		guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/login":
				o.login(w, r)
			case o.in(r):
				next.ServeHTTP(w, r)
			default:
				plain(w, http.StatusUnauthorized, "sluice web: this browser is not logged in. Open the address that 'sluice web' printed; press Enter there for a new one.")
			}
		}), func(r *http.Request) {
			o.log(fmt.Sprintf("refused %s %.80q of another site: Origin %.80q", r.Method, r.URL.Path, r.Header.Get("Origin")))
		}).ServeHTTP(w, r)
	})
}

// named reports whether the pages have that name.
func (o *Own) named(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(strings.ToLower(host), "[]")
	if o.host != "" {
		return host == o.host
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// in reports whether the request has the cookie of a session.
func (o *Own) in(r *http.Request) bool {
	c, err := r.Cookie(o.cookie)
	if err != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, found := find(o.sessions, c.Value, o.now(), sessionLasts)
	return found
}

// find returns the place of a secret that still counts. The time it takes does not depend on the
// text.
func find(all []secret, text string, now time.Time, lasts time.Duration) (at int, found bool) {
	for i, s := range all {
		if subtle.ConstantTimeCompare([]byte(s.text), []byte(text)) == 1 && now.Sub(s.made) < lasts {
			at, found = i, true
		}
	}
	return at, found
}

// login exchanges a token for the cookie. The answer is a page that goes on to "/": after a
// redirect from another program a browser would not send a strict cookie.
func (o *Own) login(w http.ResponseWriter, r *http.Request) {
	session, status := o.enter(r.URL.Query().Get("token"))
	if session == "" {
		words := "sluice web: this address was used already, or is too old. Press Enter where 'sluice web' runs for a new one."
		if status == http.StatusTooManyRequests {
			words = "sluice web: too many wrong tokens; wait some seconds"
		}
		plain(w, status, words)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: o.cookie, Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(sessionLasts / time.Second)})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>sluice</title></head>` +
		`<body><main><h1>sluice</h1><p><a href="/">Go on to the pages</a></p></main></body></html>`))
}

// enter uses a token up and returns a session; "" with the status of the answer if it is not good.
// A good token counts however many wrong ones came before: guesses of others lock nobody out.
func (o *Own) enter(token string) (session string, status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	at, found := find(o.tokens, token, now, tokenLasts)
	if found {
		o.tokens = append(o.tokens[:at:at], o.tokens[at+1:]...)
		s := secret{random(32), now}
		if o.sessions = append(o.sessions, s); len(o.sessions) > sessionsKept {
			o.sessions = o.sessions[1:]
		}
		return s.text, http.StatusOK
	}
	o.left = min(guesses, o.left+now.Sub(o.counted).Seconds()/guessEvery.Seconds())
	o.counted = now
	if o.left < 1 {
		o.quiet++
		return "", http.StatusTooManyRequests
	}
	o.left--
	also := ""
	if o.quiet > 0 {
		also = fmt.Sprintf(", and %d before that were too many to answer", o.quiet)
	}
	o.quiet = 0
	o.log("a wrong or used token was refused" + also)
	return "", http.StatusForbidden
}
