package main

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// TestWatchdogIsFedWithoutDescriptors: F17, systemd hears the daemon where it cannot open
// one file more, and again when systemd's socket was made anew.
func TestWatchdogIsFedWithoutDescriptors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	t.Setenv("NOTIFY_SOCKET", path)
	systemd := hears(t, path)
	var n notifier
	n.say(sd.SdNotifyReady)
	systemd.hear(sd.SdNotifyReady)

	var before, none syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none = before
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, opened := os.Open(path)
	n.say(sd.SdNotifyWatchdog)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if opened == nil {
		t.Fatal("descriptors had not run out: nothing was tested")
	}
	systemd.hear(sd.SdNotifyWatchdog)

	systemd.Close()
	_ = os.Remove(path)
	n.say(sd.SdNotifyWatchdog) // to nobody
	systemd = hears(t, path)
	n.say(sd.SdNotifyStopping)
	systemd.hear(sd.SdNotifyStopping)

	t.Setenv("NOTIFY_SOCKET", "")
	(&notifier{}).say(sd.SdNotifyReady)
}

type ear struct {
	*net.UnixConn
	t *testing.T
}

func hears(t *testing.T, path string) ear {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return ear{conn, t}
}

func (e ear) hear(want string) {
	e.t.Helper()
	_ = e.SetReadDeadline(time.Now().Add(10 * time.Second))
	b := make([]byte, 100)
	n, err := e.Read(b)
	if err != nil || string(b[:n]) != want {
		e.t.Errorf("systemd heard %q, %v; want %q", b[:n], err, want)
	}
}
