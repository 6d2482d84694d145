package control_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/munge"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// far is a daemon that answers over TCP with a real munged.
type far struct {
	client.Remote
	socket string // of the API
	server *control.Server

	mu      sync.Mutex
	denials []control.Denial
}

// listen runs a daemon as this process's account, open to every account.
func listen(t *testing.T, o control.Options, service control.Service) *far {
	t.Helper()
	tool, err := munge.New(controltest.Munged(t))
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	return listenWith(t, o, service, tool)
}

func listenWith(t *testing.T, o control.Options, service control.Service, tool wire.Munge) *far {
	t.Helper()
	o.UID = uint32(os.Getuid())
	f := &far{socket: filepath.Join(t.TempDir(), "sluiced.sock")}
	o.Denied = func(d control.Denial) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.denials = append(f.denials, d)
	}
	server, err := control.Listen(t.Context(), f.socket, o, service)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.ListenRemote(t.Context(), "127.0.0.1:0", tool); err != nil {
		t.Fatal(err)
	}
	f.Remote = client.Remote{Address: server.RemoteAddr().String(), Daemon: o.UID, Munge: tool}
	f.server = server
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return f
}

// told returns the denials logged since the last call.
func (f *far) told() []control.Denial {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.denials
	f.denials = nil
	return out
}

// Over TCP every verb gives the same answer as on the socket.
func TestRemoteIsTheSameAPI(t *testing.T) {
	service := controltest.New()
	f := listen(t, options(), service)
	near, remote, ctx := client.Dial(f.socket), client.DialRemote(f.Remote), t.Context()
	for name, ask := range map[string]func(*client.Client) (any, error){
		"report":  func(c *client.Client) (any, error) { return c.Report(ctx) },
		"explain": func(c *client.Client) (any, error) { return c.Explain(ctx, controltest.Growing) },
		"history": func(c *client.Client) (any, error) { return c.History(ctx, controltest.Growing) },
		"plan":    func(c *client.Client) (any, error) { return c.Plan(ctx) },
		"speed": func(c *client.Client) (any, error) {
			uid := uint32(controltest.AnnUID)
			return c.Speeds(ctx, controltest.Model, &uid)
		},
		"status": func(c *client.Client) (any, error) { return c.Status(ctx) },
	} {
		want, err := ask(near)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ask(remote); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v\nwant %+v", name, got, err, want)
		}
	}
	if err := remote.Direct(ctx, controltest.Growing, wire.Change{Order: wire.Pin, GPUs: 4}); err != nil {
		t.Error(err)
	}
	if err := remote.Nudge(controltest.Growing, "end"); err != nil {
		t.Error(err)
	}
	if err := remote.Direct(ctx, controltest.Steady, wire.Change{Order: wire.Pin, GPUs: 3}); !errors.Is(err, wire.ErrConflict) {
		t.Errorf("an order that does not fit: %v", err)
	}
	if got := service.Asked(); len(got) != 2 || !strings.HasSuffix(got[0], "41 pin to 4 GPUs") || got[1] != "wake" {
		t.Errorf("asked %q", got)
	}
}

// The caller is the account that munge reports.
func TestRemoteIdentity(t *testing.T) {
	service := controltest.New()
	f := listen(t, options(), service)
	for _, c := range []struct {
		uid  int
		want error
	}{{controltest.AnnUID, nil}, {controltest.BobUID, wire.ErrDenied}, {65534, wire.ErrDenied}} {
		var err error
		controltest.As(t, c.uid, func() {
			err = client.DialRemote(f.Remote).Direct(t.Context(), controltest.Growing, wire.Change{Order: wire.Hold})
		})
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("uid %d: %v, want %v", c.uid, err, c.want)
		}
	}
	if got := service.Asked(); len(got) != 1 || got[0] != "direct 1001 41 hold" {
		t.Errorf("asked %q", got)
	}
	for i, d := range f.told() {
		if want := []uint32{controltest.BobUID, 65534}[i]; d.Caller.UID != want || d.Job != 41 || d.From != "127.0.0.1" {
			t.Errorf("logged %+v", d)
		}
	}
}

// tapped records the credentials that Seal made and that Open was given.
type tapped struct {
	wire.Munge
	seal func(payload []byte) []byte
	made func(string) string
}

func (w *tapped) Seal(ctx context.Context, payload []byte, reader uint32) (string, error) {
	if w.seal != nil {
		payload = w.seal(payload)
	}
	credential, err := w.Munge.Seal(ctx, payload, reader)
	if err == nil && w.made != nil {
		credential = w.made(credential)
	}
	return credential, err
}

// trusting is a munged that does not remember what it decoded: a second one of the realm, or
// one that was restarted.
type trusting struct {
	wire.Munge
	mu   sync.Mutex
	seen map[string]munge.Credential
}

func (m *trusting) Open(ctx context.Context, credential string, reader uint32) (munge.Credential, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.seen[credential]; ok {
		return c, nil
	}
	c, err := m.Munge.Open(ctx, credential, reader)
	if err == nil {
		m.seen[credential] = c
	}
	return c, err
}

// say sends a line to the daemon and returns the whole answer.
func (f *far) say(t *testing.T, credential string) string {
	t.Helper()
	conn, err := net.Dial("tcp", f.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b := bufio.NewReader(conn)
	if _, err := b.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, credential+"\n")
	if err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) { // the daemon closes the connection on an endless line
		t.Fatal(err)
	}
	raw, _ := io.ReadAll(b)
	return string(raw)
}

// A recorded request that is sent again is refused, whether munge remembers it or not.
func TestReplay(t *testing.T) {
	for name, forgetful := range map[string]bool{"munged remembers": false, "munged forgot": true} {
		t.Run(name, func(t *testing.T) {
			tool, err := munge.New(controltest.Munged(t))
			if err != nil {
				t.Skip("SKIPPED: ", err)
			}
			var m wire.Munge = tool
			if forgetful {
				m = &trusting{Munge: tool, seen: map[string]munge.Credential{}}
			}
			service := controltest.New()
			f := listenWith(t, options(), service, m)
			var overheard string
			eavesdropped := f.Remote
			eavesdropped.Munge = &tapped{Munge: m, made: func(c string) string { overheard = c; return c }}
			if err := client.DialRemote(eavesdropped).Direct(t.Context(), controltest.Growing, wire.Change{Order: wire.Hold}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if answer := f.say(t, overheard); !strings.HasPrefix(answer, "plain\n") || !strings.Contains(answer, `"denied"`) || !strings.Contains(strings.ToLower(answer), "replayed") {
					t.Errorf("answer %q", answer)
				}
			}
			if got := service.Asked(); len(got) != 1 {
				t.Errorf("asked %q", got)
			}
			if got := f.told(); len(got) != 3 {
				t.Errorf("%d denials logged: %v", len(got), got)
			}
		})
	}
}

// A letter that is not exactly what a client sent is not a request of any user.
func TestRemoteLetters(t *testing.T) {
	service := controltest.New()
	f := listen(t, options(), service)
	for name, change := range map[string]func(string) string{
		"another nonce": func(s string) string {
			return strings.Replace(s, `{"nonce":"`, `{"nonce":"0`, 1)
		},
		"no key":       func(s string) string { return strings.Replace(s, `"key":"`, `"kez":"`, 1) },
		"other method": func(s string) string { return strings.Replace(s, "GET", "CONNECT", 1) },
		"other path":   func(s string) string { return strings.Replace(s, "/v1/report", "http://x/", 1) },
		"no JSON":      func(s string) string { return s[1:] },
		"empty":        func(string) string { return "" },
	} {
		mangled := f.Remote
		mangled.Munge = &tapped{Munge: f.Munge, seal: func(p []byte) []byte { return []byte(change(string(p))) }}
		if _, err := client.DialRemote(mangled).Report(t.Context()); !errors.Is(err, wire.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
		if got := f.told(); len(got) != 1 || got[0].Caller.UID != f.Daemon {
			t.Errorf("%s: logged %v", name, got)
		}
	}
	for _, credential := range []string{"", "MUNGE:AAAA:", "GET /v1/report HTTP/1.1", strings.Repeat("x", 40_000), "\x00\xff"} {
		if answer := f.say(t, credential); !strings.HasPrefix(answer, "plain\n") || !strings.Contains(answer, `"denied"`) {
			t.Errorf("%.20q: %q", credential, answer)
		}
	}
	if got := f.told(); len(got) != 5 {
		t.Errorf("logged %v", got)
	}
	if answer := f.say(t, strings.Repeat("x", 1<<20)); answer != "" {
		t.Errorf("a line without end is answered %q", answer)
	}
}

// Endless garbage is reported at a bounded rate, and counted.
func TestUnknownCallersDoNotFillTheLog(t *testing.T) {
	f := listen(t, options(), controltest.New()) // the clock stands still
	for range 100 {
		f.say(t, "garbage")
	}
	if got := f.told(); len(got) != 20 || got[19].String() != "an unknown user on 127.0.0.1: credential refused: it is malformed" {
		t.Errorf("%d told, the last: %v", len(got), got[len(got)-1])
	}
}

// The log is bounded too while munged does not answer, however many ask.
func TestMungeAwayDoesNotFillTheLog(t *testing.T) {
	tool, err := munge.New(filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Int64
	o := options() // the clock stands still
	o.Log = func(error) { told.Add(1) }
	f := listenWith(t, o, controltest.New(), tool)
	for range 100 {
		if answer := f.say(t, "MUNGE:AAAA:"); !strings.Contains(answer, "cannot ask munge") {
			t.Fatalf("answer %q", answer)
		}
	}
	if told.Load() != 20 {
		t.Errorf("%d told", told.Load())
	}
}

// A foreign process that listens at the address while the daemon is down learns nothing and is
// not believed.
func TestImpostor(t *testing.T) {
	tool, err := munge.New(controltest.Munged(t))
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	hello := "sluiced 1 " + strings.Repeat("ab", 16) + "\n"
	for name, c := range map[string]struct {
		hello, answer string
		want          error
		words         string
	}{
		"an open lie":        {hello, `{"version":1,"jobs":[]}`, wire.ErrInternal, "sent an invalid answer"},
		"a sealed lie":       {hello, "sealed\n" + strings.Repeat("x", 100), wire.ErrInternal, "not the daemon's"},
		"cut short":          {hello, "sealed\nxx", wire.ErrInternal, "cut short"},
		"nothing":            {hello, "", wire.ErrTooMany, "many connect"},
		"a refusal":          {hello, "plain\n" + `{"error":{"code":"conflict","message":"\u001b[31mno"}}`, wire.ErrUnavailable, ": ?[31mno"},
		"a version to come":  {"sluiced 2 " + strings.Repeat("ab", 16) + "\n", "", wire.ErrInternal, "of this release"},
		"another service":    {"SSH-2.0-OpenSSH_9.2\r\n", "", wire.ErrInternal, "is it sluiced"},
		"a line without end": {strings.Repeat("x", 1000), "", wire.ErrNoDaemon, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					io.WriteString(conn, c.hello)
					bufio.NewReader(conn).ReadString('\n')
					io.WriteString(conn, c.answer)
					conn.Close()
				}
			}()
			t.Cleanup(func() { l.Close(); <-done })
			client := client.DialRemote(client.Remote{Address: l.Addr().String(), Daemon: uint32(os.Getuid()), Munge: tool})
			err = client.Direct(t.Context(), elastic.JobID(41), wire.Change{Order: wire.Hold})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("got %v, want %v %q", err, c.want, c.words)
			}
		})
	}
}

func TestRemoteWithoutDaemonOrMunge(t *testing.T) {
	f := listen(t, options(), controltest.New())
	silent := f.Remote
	silent.Address = "127.0.0.1:1"
	if _, err := client.DialRemote(silent).Report(t.Context()); !errors.Is(err, wire.ErrNoDaemon) || !strings.Contains(err.Error(), "no process listens on 127.0.0.1:1") {
		t.Errorf("no daemon: %v", err)
	}
	tool, err := munge.New(filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	without := f.Remote
	without.Munge = tool
	if _, err := client.DialRemote(without).Report(t.Context()); !errors.Is(err, wire.ErrNoDaemon) || !strings.Contains(err.Error(), "munge does not identify you") {
		t.Errorf("no munge here: %v", err)
	}
	there := listenWith(t, options(), controltest.New(), &tapped{Munge: tool})
	there.Munge = f.Munge
	if _, err := client.DialRemote(there.Remote).Report(t.Context()); !errors.Is(err, wire.ErrUnavailable) || !strings.Contains(err.Error(), "cannot ask munge") {
		t.Errorf("no munge there: %v", err)
	}
}
