package door

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// site is a door behind a proxy, on a socket, that answers with the user's name.
func site(t *testing.T, p *Proxy) (path string, said func() string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	p.Log = func(s string) { mu.Lock(); lines = append(lines, s); mu.Unlock() }
	path = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: p.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "for "+User(r)) })), ConnContext: Peer}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	return path, func() string { mu.Lock(); defer mu.Unlock(); return strings.Join(lines, "\n") }
}

// raw sends a request as it is.
func raw(t *testing.T, path, request string) (status int, body string) {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, request)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text := make([]byte, 1000)
	n, _ := r.Body.Read(text)
	return r.StatusCode, string(text[:n])
}

// The user is the one name that the proxy sends, in either spelling of the header; a second name, or
// none, or one that is no account's, is refused and logged.
func TestRemoteUser(t *testing.T) {
	path, said := site(t, &Proxy{UIDs: []uint32{uint32(os.Getuid())}})
	for _, c := range []struct {
		headers string
		want    string // "" = refused
	}{
		{"Remote-User: ann\r\n", "for ann"},
		{"X-Remote-User: ann\r\n", "for ann"},
		{"REMOTE_USER: ann\r\n", "for ann"},
		{"", ""},
		{"Remote-User: \r\n", ""},
		{"Remote-User: ann\r\nRemote-User: bob\r\n", ""},
		{"Remote-User: ann\r\nRemote-User: ann\r\n", ""},
		{"Remote-User: ann\r\nRemote_User: bob\r\n", ""},
		{"Remote-User: ann\r\nX-Remote-User: bob\r\n", ""},
		{"Remote-User: ann\r\nx_remote-user: bob\r\n", ""},
		{"Remote-User: ann, bob\r\n", ""},
		{"Remote-User: ann bob\r\n", ""},
		{"Remote-User: ../root\r\n", ""},
		{"Remote-User: root\r\n", ""},
		{"Remote-User: -ann\r\n", ""},
		{"Remote-User: 1001\r\n", ""},
	} {
		status, body := raw(t, path, "GET / HTTP/1.1\r\nHost: hpc.example\r\nConnection: close\r\n"+c.headers+"\r\n")
		if c.want != "" && (status != 200 || body != c.want) || c.want == "" && (status != 403 || strings.Contains(body, "for ")) {
			t.Errorf("%q: %d %s", c.headers, status, body)
		}
	}
	if log := said(); strings.Count(log, "\n") < 10 || !strings.Contains(log, "2 REMOTE_USER headers") {
		t.Error(log)
	}
	if status, _ := raw(t, path, "POST /order HTTP/1.1\r\nHost: hpc.example\r\nConnection: close\r\nContent-Length: 0\r\nRemote-User: ann\r\nOrigin: https://evil.example\r\n\r\n"); status != 403 {
		t.Errorf("another site's page: %d", status)
	}
}

// What is not the proxy is refused, whatever it says; so is a connection whose other end is not known.
func TestOnlyTheProxy(t *testing.T) {
	path, said := site(t, &Proxy{UIDs: []uint32{uint32(os.Getuid()) + 1}})
	if status, body := raw(t, path, "GET / HTTP/1.1\r\nHost: hpc.example\r\nConnection: close\r\nRemote-User: ann\r\n\r\n"); status != 403 || !strings.Contains(said(), fmt.Sprintf("uid %d", os.Getuid())) {
		t.Errorf("%d %s; log %s", status, body, said())
	}
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	if Peer(context.Background(), server).Value(peerKey{}) != nil {
		t.Error("a pipe has an account")
	}
}

// A map says who is who; what it does not name is refused.
func TestUsers(t *testing.T) {
	u, err := ReadUsers("users", strings.NewReader("# name account\n\njdoe@example.org  jd\n*@phys.example *\nann\tann # herself\nadmin root\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"jdoe@example.org": "jd", "x@phys.example": "x", "ann": "ann", "bob": "", "x@other.example": "", "../x@phys.example": "", "admin": "", "root@phys.example": "", "@phys.example": "", "": ""} {
		if got, err := u.Account(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	for text, want := range map[string]string{
		"ann": "users:1:1:", "\n  ann ann ann": "users:2:3:", "ann Ann/x": "users:1:5:", "a*b c": "users:1:1:", "ann a\nann b": "users:2:1:", "*@ *": "users:1:1:",
		strings.Repeat("x", 70_000) + " y": "users:1:1:",
	} {
		if _, err := ReadUsers("users", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

// No name of a request becomes an account that is not one, nor root.
func TestAccountAlways(t *testing.T) {
	u, err := ReadUsers("users", strings.NewReader("*@a *\nb c\n"))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name") + rapid.SampledFrom([]string{"", "@a"}).Draw(t, "realm")
		for _, users := range []Users{{}, u} {
			if got, err := users.Account(name); err == nil && (!account.MatchString(got) || got == "root") {
				t.Fatalf("%q is %q", name, got)
			}
		}
	})
}

func FuzzReadUsers(f *testing.F) {
	f.Add("ann ann\n*@realm *\n# x\n")
	f.Add("a b c\n\t\x00")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ReadUsers("users", strings.NewReader(text)); err != nil && !strings.HasPrefix(err.Error(), "users:") {
			t.Errorf("%v names no line", err)
		}
	})
}
