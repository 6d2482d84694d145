package control_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/local"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func TestSocketModes(t *testing.T) {
	path := serve(t, options(), controltest.New())
	for file, want := range map[string]os.FileMode{path: 0o666, filepath.Dir(path): 0o755} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", file, info.Mode().Perm(), err, want)
		}
	}
}

func TestListenNeedsAClock(t *testing.T) {
	_, err := control.Listen(t.Context(), filepath.Join(t.TempDir(), "s"), control.Options{}, controltest.New())
	if err == nil || !strings.Contains(err.Error(), "Options.Now") {
		t.Errorf("got %v", err)
	}
}

// A live daemon is never replaced, whether it holds the lock or, as another implementation,
// does not.
func TestLiveSocketIsRefused(t *testing.T) {
	path := serve(t, options(), controltest.New())
	refuse := func(words string) {
		t.Helper()
		_, err := control.Listen(t.Context(), path, options(), controltest.New())
		if !errors.Is(err, local.ErrInUse) || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v", err)
		}
	}
	refuse("stop it")
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	refuse(fmt.Sprintf("with pid %d", os.Getpid()))
	if _, err := client.Dial(path).Status(t.Context()); err != nil {
		t.Errorf("the first daemon was harmed: %v", err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluiced.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	open(t, path, options(), controltest.New())
	if _, err := client.Dial(path).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestForeignFileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluiced.sock")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Listen(t.Context(), path, options(), controltest.New()); err == nil || !strings.Contains(err.Error(), "something else is there") {
		t.Errorf("got %v", err)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "precious" {
		t.Errorf("%q %v", raw, err)
	}
}

// Stopping removes the socket and ends requests that wait for Slurm.
func TestStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluiced.sock")
	service := &stuck{Service: controltest.New(), entered: make(chan struct{})}
	server, err := control.Listen(t.Context(), path, options(), service)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served, asked := make(chan error, 1), make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	go func() {
		asked <- client.Dial(path).Direct(t.Context(), controltest.Growing, wire.Change{Order: wire.Hold})
	}()
	<-service.entered
	cancel()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := <-asked; !errors.Is(err, wire.ErrUnavailable) || !strings.Contains(err.Error(), "stops") {
		t.Errorf("the request under way: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	again, err := control.Listen(t.Context(), path, options(), service)
	if err != nil {
		t.Fatalf("starting again: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// stuck is a daemon that waits for a Slurm that does not answer.
type stuck struct {
	*controltest.Service
	entered chan struct{}
}

func (s *stuck) Direct(ctx context.Context, c control.Caller, _ elastic.JobID, _ wire.Change) error {
	close(s.entered)
	<-ctx.Done()
	return ctx.Err()
}

func TestConfigure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluiced.sock")
	server := open(t, path, options(), controltest.New())
	o := options()
	o.Version = "2.0.0"
	if err := server.Configure(o); err != nil {
		t.Fatal(err)
	}
	if s, err := client.Dial(path).Status(t.Context()); err != nil || s.Program != "2.0.0" {
		t.Errorf("%+v %v", s, err)
	}
}

func TestClientWithoutDaemon(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "stale")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	for path, words := range map[string]string{filepath.Join(dir, "none"): "there is no socket", stale: "no process listens"} {
		_, err := client.Dial(path).Report(t.Context())
		if !errors.Is(err, wire.ErrNoDaemon) {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, w := range []string{words, path, "systemctl status sluiced", "sluiced --user"} {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q lacks %q", err, w)
			}
		}
	}
}

// fake runs a server that is not sluiced.
func fake(t *testing.T, answer http.HandlerFunc) *client.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: answer}
	done := make(chan struct{})
	go func() { defer close(done); h.Serve(l) }()
	t.Cleanup(func() { h.Close(); <-done })
	return client.Dial(path)
}

func TestClientAgainstOtherServers(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   error
		words  string
	}{
		{"not found page", http.NotFound, wire.ErrInternal, "is that process sluiced?"},
		{"garbage", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, wire.ErrInternal, "sent an invalid answer"},
		{"wrong type", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"jobs":3}`) }, wire.ErrInternal, "sent an invalid answer"},
		{"newer", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"version":99,"jobs":{}}`) }, wire.ErrBadRequest, "speaks version 99, this program 1"},
		{"new code", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(418)
			io.WriteString(w, `{"error":{"code":"teapot","message":"short and stout"}}`)
		}, wire.ErrInternal, "short and stout"},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, wire.ErrNoDaemon, "no answer on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := fake(t, c.answer).Report(t.Context())
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %v %q", err, c.want, c.words)
			}
		})
	}
}

func TestClientGivesUp(t *testing.T) {
	release := make(chan struct{})
	client := fake(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Report(ctx); !errors.Is(err, wire.ErrNoDaemon) || !strings.Contains(err.Error(), "does not answer in time") {
		t.Errorf("got %v", err)
	}
}
