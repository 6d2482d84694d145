package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/help"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/door"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestHelpFits: no line of the help is wider than a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	var out strings.Builder
	c := newCommand()
	c.SetOut(&out)
	c.SetArgs([]string{"web", "--help"})
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(out.String(), "\n") {
		if utf8.RuneCountInString(line) > help.Columns {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

// Options that do not go together are refused with what to type.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{site: true, browser: true}, "exclude"},
		{options{site: true, proxy: []string{"www-data"}}, "--socket"},
		{options{site: true, socket: "/run/x"}, "--proxy"},
		{options{users: "/etc/users"}, "--site"},
		{options{site: true, socket: "/run/x", proxy: []string{"www-data"}, base: "sluice/"}, "/sluice"},
		{options{site: true, socket: "/run/x", proxy: []string{"www-data"}, base: "/sluice"}, ""},
		{options{}, ""},
	} {
		if err := c.o.check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// The socket is the user's alone from its first moment, whatever the umask; a stale one is replaced,
// one that answers and what is no socket are not.
func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := listenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if _, err := listenUnix(path, 0o600); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a second one: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if l, err = listenUnix(path, 0o600); err != nil {
		t.Fatalf("a stale one: %v", err)
	}
	l.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(path, 0o600); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a file: %v", err)
	}
	if _, err := listenUnix("/tmp/"+strings.Repeat("x", 120), 0o600); err == nil {
		t.Error("a path that is too long")
	}
}

// The folder of the socket must be the user's alone: not another's, not a link, not open to others.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	mine, open, link := filepath.Join(dir, "mine"), filepath.Join(dir, "open"), filepath.Join(dir, "link")
	for path, mode := range map[string]os.FileMode{mine: 0o700, open: 0o755} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(mine, link); err != nil {
		t.Fatal(err)
	}
	if private(mine) != nil || private(open) == nil || private(link) == nil || private(filepath.Join(dir, "none")) == nil {
		t.Error(private(mine), private(open), private(link))
	}
	t.Setenv("XDG_RUNTIME_DIR", mine)
	if path, err := ownSocket(); err != nil || path != filepath.Join(mine, "sluice-web.sock") {
		t.Error(path, err)
	}
	t.Setenv("XDG_RUNTIME_DIR", open)
	t.Setenv("TMPDIR", dir)
	path, err := ownSocket()
	if err != nil || private(filepath.Dir(path)) != nil || !strings.HasPrefix(path, dir+"/") {
		t.Error(path, err)
	}
}

// sluiced is a daemon with canned answers on a socket, and a configuration that names it.
func sluiced(t *testing.T, change func(*control.Options)) (service *controltest.Service, conf string) {
	t.Helper()
	dir := t.TempDir()
	service = controltest.New()
	o := control.Options{UID: uint32(os.Getuid()) + 7, Now: func() time.Time { return controltest.Now }, Version: "test", Started: controltest.Now}
	if change != nil {
		change(&o)
	}
	path := filepath.Join(dir, "sock")
	server, err := control.Listen(context.Background(), path, o, service)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	conf = filepath.Join(dir, "sluice.toml")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "[paths]\nsocket = %q\n", path), 0o644); err != nil {
		t.Fatal(err)
	}
	return service, conf
}

// written collects what a program writes.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) { w.mu.Lock(); defer w.mu.Unlock(); return w.b.Write(p) }
func (w *written) String() string              { w.mu.Lock(); defer w.mu.Unlock(); return w.b.String() }

// over is a client of a socket.
func over(path string) *http.Client {
	return &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}}}
}

// "sluice web" over a real socket of a daemon: it prints the tunnel and the address, which let in; the
// pages show the daemon's jobs; the stream tells a change; it ends with its context.
func TestOwn(t *testing.T) {
	if path, err := reach.Sluice(); err == nil {
		t.Log("sluice is ", path)
	}
	_, conf := sluiced(t, nil)
	socket := filepath.Join(t.TempDir(), "web")
	out, errs := &written{}, &written{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	o := options{socket: socket}
	c := command(t, conf, out, errs)
	beside(t)
	site, err := reach.Site(c)
	if err != nil {
		t.Fatal(err)
	}
	go func() { ended <- o.serveOwn(ctx, site, c) }()
	login := regexp.MustCompile(`http://localhost:8642(/login\?token=[0-9a-f]{64})`)
	wait(t, "it prints the address", func() bool { return login.MatchString(out.String()) })
	if !strings.Contains(out.String(), "ssh -N -L 8642:"+socket+" ") {
		t.Error(out.String())
	}
	h := over(socket)
	r, err := h.Get("http://localhost" + login.FindStringSubmatch(out.String())[1])
	if err != nil || r.StatusCode != 200 || len(r.Cookies()) != 1 {
		t.Fatal(r, err)
	}
	ask := func(path string) (int, string) {
		q, err := http.NewRequest("GET", "http://localhost"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.AddCookie(r.Cookies()[0])
		a, err := h.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		body, _ := io.ReadAll(a.Body)
		return a.StatusCode, string(body)
	}
	for path, want := range map[string]string{"/": "gpu1", "/jobs": "llama-7b-finetune", "/jobs/41": "resnet", "/shares": "bio"} {
		if code, body := ask(path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.300s", path, code, body)
		}
	}
	if code, _ := ask("/jobs/9999"); code != 404 {
		t.Errorf("a job that is not there: %d", code)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket is left")
	}
}

// command is "sluice web" with a configuration.
func command(t *testing.T, conf string, out, errs io.Writer) *cobra.Command {
	t.Helper()
	root := newCommand()
	c, _, err := root.Find([]string{"web"})
	if err != nil {
		t.Fatal(err)
	}
	root.SetOut(out)
	root.SetErr(errs)
	if err := c.ParseFlags([]string{"--config", conf}); err != nil {
		t.Fatal(err)
	}
	return c
}

// beside makes sure that there is a sluice beside this test program: one that prints its arguments.
func beside(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(self), "sluice")
	if _, err := os.Stat(path); err == nil {
		return
	}
	script := "#!/bin/sh\nfor w; do printf '%s\\n' \"$w\"; done\ncase $1 in cancel) echo refused >&2; exit 1 ;; hang) sleep 600 ;; esac\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(path) })
}

// Words of an order are arguments, each as it is; what fails is an error; what does not end is ended.
func TestTool(t *testing.T) {
	beside(t)
	_, conf := sluiced(t, nil)
	c := command(t, conf, io.Discard, io.Discard)
	site, err := reach.Site(c)
	if err != nil {
		t.Fatal(err)
	}
	tool, err := newTool(c, site)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := tool.Sluice(t.Context(), "/", strings.NewReader("x"), 1000, "submit", "a b; $(touch /tmp/x)", "*", "'\"")
	if want := "submit\n--config=" + conf + "\na b; $(touch /tmp/x)\n*\n'\"\n"; err != nil || string(out) != want {
		t.Errorf("%q %v", out, err)
	}
	if said, err := tool.Give(t.Context(), page.Viewer{}, page.Order{Verb: "cancel", Job: 4}); err == nil || !strings.Contains(said, "refused") {
		t.Errorf("%q %v", said, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := make(chan error, 1)
	go func() {
		_, _, err := tool.Sluice(ctx, "/", nil, 1000, "hang")
		cancelled <- err
	}()
	cancel()
	if err := <-cancelled; err == nil {
		t.Error("a program that was ended has ended well")
	}
}

// Long output is cut to its end.
func TestTail(t *testing.T) {
	w := &tail{most: 10}
	for i := range 1000 {
		fmt.Fprintf(w, "%03d", i)
		if n := len(w.Bytes()); n > 23 {
			t.Fatal(n)
		}
	}
	if !strings.HasSuffix(string(w.Bytes()), "998999") {
		t.Error(string(w.Bytes()))
	}
	// What is copied is bounded as well: io.Copy looks for other methods than Write.
	w = &tail{most: 10}
	if n, err := io.Copy(w, io.LimitReader(zeros{}, 10<<20)); err != nil || n != 10<<20 || len(w.Bytes()) > 20 || len(w.Bytes()) < 10 {
		t.Errorf("%d of %d bytes, %v", len(w.Bytes()), n, err)
	}
	if _, ok := any(w).(io.ReaderFrom); ok {
		t.Error("it has a method that knows no bound")
	}
}

// zeros is a text without an end. It has no method but Read, or io.Copy would not use those of tail.
type zeros struct{}

// Read fills p.
func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A child that writes without an end is bounded; a history that is too long is refused, not kept in memory,
// and no file of it is left.
func TestChildWithoutEnd(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	script := filepath.Join(dir, "endless")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nhead -c 3000000 /dev/zero\necho; echo done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	x := &tool{path: script, sacct: script, longest: 100_000}
	out, _, err := x.Sluice(t.Context(), "/", nil, 1000, "logs")
	if err != nil || len(out) > 2000 || !strings.HasSuffix(string(out), "done\n") {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if _, err := x.History(t.Context(), "a", "b"); !errors.Is(err, errTooLong) {
		t.Errorf("a history that is too long: %v", err)
	}
	x.longest = 4_000_000
	file, err := x.History(t.Context(), "a", "b")
	if info, _ := os.Stat(file); err != nil || info.Size() != 3_000_006 {
		t.Errorf("%v %v", err, info)
	}
	if all, _ := filepath.Glob(filepath.Join(dir, "sluice-history-*")); len(all) != 1 {
		t.Errorf("files are left: %q", all)
	}
}

// eventful is a daemon whose stream and status a test controls.
type eventful struct {
	events chan wire.Happening
	mu     sync.Mutex
	gone   bool
}

func (e *eventful) Events(ctx context.Context, _ string, each func(wire.Happening) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case h, open := <-e.events:
			if !open {
				return errors.New("the stream broke")
			}
			if err := each(h); err != nil {
				return err
			}
		}
	}
}

func (e *eventful) Status(context.Context) (wire.Status, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return wire.Status{}, wire.Fail(wire.NoDaemon, "", "gone")
	}
	return wire.Status{}, nil
}

// A cycle whose report is the same as before is no change; every other event is.
func TestFollow(t *testing.T) {
	e := &eventful{events: make(chan wire.Happening)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changes := make(chan bool, 100)
	ended := make(chan bool)
	go func() { defer close(ended); follow(ctx, e, func() { changes <- true }) }()
	for _, h := range []wire.Happening{{Kind: wire.KindCycle, Print: "a"}, {Kind: wire.KindCycle, Print: "a"}, {Kind: wire.KindCycle, Print: "b"}, {Kind: wire.KindDecision}} {
		e.events <- h
	}
	e.events <- wire.Happening{Kind: wire.KindGap} // the ones before have been handled
	wait(t, "changes", func() bool { return len(changes) >= 4 })
	if n := len(changes); n != 4 {
		t.Errorf("%d changes", n)
	}
	cancel()
	<-ended
}

// A listener has no more connections than seats, and a seat is free again once one is closed.
func TestLimit(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	few := limit(l, 2).(limited)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	var open []net.Conn
	for range 2 {
		dial()
		c, err := few.Accept()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	if len(few.seats) != 2 {
		t.Errorf("%d seats are taken", len(few.seats))
	}
	open[0].Close()
	open[0].Close() // a second time frees no second seat
	if len(few.seats) != 1 {
		t.Errorf("%d seats are taken", len(few.seats))
	}
}

// asRemote asks the pages behind a web server for a user.
func asRemote(t *testing.T, h *http.Client, method, path, user string) (int, string) {
	t.Helper()
	var body io.Reader
	if method == "POST" {
		body = strings.NewReader("job=41&verb=hold")
	}
	q, err := http.NewRequest(method, "http://hpc.example/sluice"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.Header.Set("Remote-User", user)
	a, err := h.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(text)
}

// Behind a web server users have their own rights, by the name that its account sends: where jobs are
// private Bob sees none of Ann's. The pages are read-only unless the site lets them act; then an order
// is one of the user.
func TestSite(t *testing.T) {
	for _, act := range []bool{false, true} {
		me := uint32(os.Getuid())
		names := map[uint32]string{me: "sluice-web", controltest.AnnUID: "ann", controltest.BobUID: "bob"}
		uids := func(name string) (uint32, bool) {
			for uid, n := range names {
				if n == name {
					return uid, true
				}
			}
			return 0, false
		}
		service, conf := sluiced(t, func(o *control.Options) {
			o.Private, o.Web, o.WebActs = true, "sluice-web", act
			o.Account, o.UIDOf = func(uid uint32) string { return names[uid] }, uids
		})
		site, err := reach.Site(command(t, conf, io.Discard, io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		site.Web.Act = act
		said := &written{}
		pages := sitePages(site, "/sluice", door.Proxy{UIDs: []uint32{me}, Log: func(s string) { fmt.Fprintln(said, s) }}, func(name string) (uint32, error) {
			uid, known := uids(name)
			if !known {
				return 0, errors.New("no account")
			}
			return uid, nil
		}, func(s string) { fmt.Fprintln(said, s) })
		path := filepath.Join(t.TempDir(), "web")
		l, err := listenUnix(path, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- serve(ctx, l, pages, peer, said) }()
		h := over(path)
		if code, body := asRemote(t, h, "GET", "/jobs/41", "ann"); code != 200 || !strings.Contains(body, "resnet") || strings.Contains(body, `action="/sluice/order"`) != act {
			t.Errorf("act %t: ann's own job: %d", act, code)
		}
		if code, body := asRemote(t, h, "GET", "/jobs/41", "bob"); code != 404 || strings.Contains(body, "resnet") {
			t.Errorf("ann's job for bob: %d", code)
		}
		if code, body := asRemote(t, h, "GET", "/jobs", "bob"); code != 200 || strings.Contains(body, "resnet") || !strings.Contains(body, "llama") {
			t.Errorf("bob's jobs: %d", code)
		}
		if code, body := asRemote(t, h, "GET", "/sweeps/41", "ann"); code != 200 || !strings.Contains(body, "lr = 0.02") || !strings.Contains(body, "Learning curves") {
			t.Errorf("ann's own sweep: %d", code)
		}
		if code, body := asRemote(t, h, "GET", "/sweeps/41", "bob"); code != 404 || strings.Contains(body, "lr = ") {
			t.Errorf("ann's sweep for bob: %d", code)
		}
		if code, _ := asRemote(t, h, "GET", "/jobs", "mallory"); code != 403 {
			t.Errorf("a name without an account: %d", code)
		}
		code, _ := asRemote(t, h, "POST", "/order", "ann")
		if want := map[bool]int{false: 403, true: 303}[act]; code != want {
			t.Errorf("act %t: an order: %d", act, code)
		}
		if asked := strings.Join(service.Asked(), "\n"); strings.Contains(asked, "direct 1001 41 hold") != act {
			t.Errorf("act %t: %s", act, asked)
		}
		if code, _ := asRemote(t, h, "POST", "/order", "bob"); act && code != 303 || strings.Contains(strings.Join(service.Asked(), "\n"), "direct 1002") {
			t.Errorf("bob's order about ann's job: %d %q", code, service.Asked())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
