package door

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Proxy is the door of a site's pages, behind a reverse proxy that has asked for the password. The
// user's name counts if the connection is the proxy's, as the kernel says, and if there is exactly
// one name in the request.
type Proxy struct {
	UIDs  []uint32 // accounts of the proxy
	Users Users    // which account a name is
	Log   func(string)
}

type (
	peerKey struct{}
	userKey struct{}
)

// Peer returns a context with the account at the other end of a Unix socket. It is for
// http.Server.ConnContext.
func Peer(ctx context.Context, c net.Conn) context.Context {
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *unix.Ucred
	if raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }) != nil || err != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, cred.Uid)
}

// User returns the account that a request is for; "" = the request did not come through a Proxy.
func User(r *http.Request) string {
	name, _ := r.Context().Value(userKey{}).(string)
	return name
}

// Wrap returns a handler that lets through requests for a known user.
func (p Proxy) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strict(w)
		uid, known := r.Context().Value(peerKey{}).(uint32)
		if !known || !slices.Contains(p.UIDs, uid) {
			p.Log(fmt.Sprintf("refused a connection of uid %d, which is not the proxy", uid))
			plain(w, http.StatusForbidden, "sluice web: only the site's web server may connect to this socket")
			return
		}
		name, err := remoteUser(r.Header)
		if err == nil {
			name, err = p.Users.Account(name)
		}
		if err != nil {
			p.Log(fmt.Sprintf("refused %s %.80q: %v", r.Method, r.URL.Path, err))
			plain(w, http.StatusForbidden, "sluice web: "+err.Error())
			return
		}
		guarded(next, func(r *http.Request) {
			p.Log(fmt.Sprintf("refused %s %.80q of another site, for %s: Origin %.80q", r.Method, r.URL.Path, name, r.Header.Get("Origin")))
		}).ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, name)))
	})
}

// remoteUser returns the one name in the request's REMOTE_USER header. "-" and "_" in a header's
// name are one to many servers, so both spellings count as the same header: a browser that sends
// the second one is not heard.
func remoteUser(h http.Header) (string, error) {
	var all []string
	for name, values := range h {
		switch strings.ReplaceAll(strings.ToLower(name), "_", "-") {
		case "remote-user", "x-remote-user":
			all = append(all, values...)
		}
	}
	switch {
	case len(all) == 0 || len(all) == 1 && all[0] == "":
		return "", fmt.Errorf("the web server did not say who you are (REMOTE_USER)")
	case len(all) > 1:
		return "", fmt.Errorf("the request has %d REMOTE_USER headers; the web server must remove those of browsers", len(all))
	}
	return all[0], nil
}
