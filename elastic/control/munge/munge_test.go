package munge_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/munge"
)

func me() uint32 { return uint32(os.Getuid()) }

// real is a tool over a real munged.
func real(t *testing.T) (*munge.Tool, string) {
	t.Helper()
	socket := controltest.Munged(t)
	tool, err := munge.New(socket)
	if err != nil {
		t.Fatal(err)
	}
	return tool, socket
}

// With a real munged: a payload comes out unchanged, once, and only for its reader.
func TestRealMunge(t *testing.T) {
	tool, _ := real(t)
	for _, payload := range []string{"", "hello", "a\n\nb: c\n\n", string(bytes.Repeat([]byte{0, 255, '\n'}, 5000)), strings.Repeat("x", munge.MaxPayload)} {
		credential, err := tool.Seal(t.Context(), []byte(payload), me())
		if err != nil {
			t.Fatal(err)
		}
		got, err := tool.Open(t.Context(), credential, me())
		if err != nil || got.UID != me() || got.GID != uint32(os.Getgid()) || string(got.Payload) != payload || got.Host == "" {
			t.Fatalf("%d bytes: uid %d, gid %d, host %q, %d bytes, %v", len(payload), got.UID, got.GID, got.Host, len(got.Payload), err)
		}
		if _, err := tool.Open(t.Context(), credential, me()); !errors.Is(err, munge.ErrRefused) || !strings.Contains(err.Error(), "Replayed") {
			t.Errorf("a second time: %v", err)
		}
	}
	if _, err := tool.Seal(t.Context(), make([]byte, munge.MaxPayload+1), me()); !errors.Is(err, munge.ErrRefused) {
		t.Errorf("more than MaxPayload was sealed: %v", err)
	}
	if _, err := tool.Seal(t.Context(), nil, 0xFFFFFFFF); !errors.Is(err, munge.ErrRefused) {
		t.Errorf("sealed for all users: %v", err)
	}
}

// Munged learns from the kernel which account asks: another user's credential is that user's.
func TestIdentity(t *testing.T) {
	if me() != 0 {
		t.Skip("SKIPPED, other users not tested: needs root to become them")
	}
	tool, _ := real(t)
	reader := me()
	var credential string
	controltest.As(t, controltest.AnnUID, func() {
		var err error
		if credential, err = tool.Seal(t.Context(), []byte("x"), reader); err != nil {
			t.Fatal(err)
		}
		if _, err := tool.Open(t.Context(), credential, reader); !errors.Is(err, munge.ErrRefused) || !strings.Contains(err.Error(), "nauthorized") {
			t.Errorf("ann reads what is for uid %d: %v", reader, err)
		}
	})
	if got, err := tool.Open(t.Context(), credential, me()); err != nil || got.UID != controltest.AnnUID {
		t.Errorf("uid %d, %v", got.UID, err)
	}
}

// libmunge's own programs and this package read each other's credentials.
func TestProgramsOfMunge(t *testing.T) {
	tool, socket := real(t)
	credential, err := tool.Seal(t.Context(), []byte("from here"), me())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/unmunge", "--socket="+socket, "--numeric")
	cmd.Stdin = strings.NewReader(credential)
	out, err := cmd.Output()
	meta, payload, _ := strings.Cut(string(out), "\n\n")
	said := map[string]string{}
	for line := range strings.Lines(meta) {
		key, value, _ := strings.Cut(line, ":")
		said[key] = strings.TrimSpace(value)
	}
	if err != nil || payload != "from here" || said["CIPHER"] != "4" || said["ZIP"] != "0" || said["TTL"] != "60" ||
		said["UID"] != strconv.Itoa(os.Getuid()) || said["UID_RESTRICTION"] != strconv.Itoa(os.Getuid()) || said["GID_RESTRICTION"] != "" {
		t.Errorf("unmunge: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"--cipher=aes256", "--mac=sha512"}, {"--zip=zlib"}, {"--restrict-gid=" + strconv.Itoa(os.Getgid())}, {"--ttl=600"}} {
		got, err := tool.Open(t.Context(), sealed(t, socket, append(args, "--restrict-uid="+strconv.Itoa(os.Getuid()), "--string="+strings.Repeat("y", 3000))...), me())
		if err != nil || string(got.Payload) != strings.Repeat("y", 3000) {
			t.Errorf("munge %v: %d bytes, %v", args, len(got.Payload), err)
		}
	}
}

// sealed returns a credential made by the program munge.
func sealed(t *testing.T, socket string, args ...string) string {
	t.Helper()
	out, err := exec.Command("/usr/bin/munge", append([]string{"--socket=" + socket}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestWhatMungeRefuses(t *testing.T) {
	t.Parallel()
	tool, socket := real(t)
	make := func(args ...string) string { return sealed(t, socket, append([]string{"--string=x"}, args...)...) }
	mine := "--restrict-uid=" + strconv.Itoa(os.Getuid())
	good := make(mine, "--cipher=aes128")
	flipped := []byte(good)
	flipped[len(flipped)-20] ^= 1
	other, _ := real(t) // of another realm
	foreign, err := other.Seal(t.Context(), nil, me())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ credential, want string }{
		"for all users":     {make("--cipher=aes128"), "not made for"},
		"for another user":  {make("--restrict-uid=4242", "--cipher=aes128"), "nauthorized"},
		"in the clear":      {make(mine, "--cipher=none"), "not encrypted"},
		"another key":       {foreign, "Invalid"},
		"no credential":     {"MUNGE:AAAA:", "credential"},
		"ends in its head":  {"MUNGE:" + base64.StdEncoding.EncodeToString([]byte{3, 4, 5, 0, 0}) + ":", ""},
		"a bomb":            {make(mine, "--zip=bzlib", "--string="+strings.Repeat("z", 100_000)), "more than"},
		"not even the form": {"GET / HTTP/1.1", "form"},
		"an option":         {"--help", "form"},
		"flipped":           {string(flipped), ""},
	} {
		if _, err := tool.Open(t.Context(), c.credential, me()); !errors.Is(err, munge.ErrRefused) || errors.Is(err, munge.ErrMissing) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := tool.Open(t.Context(), good, me()); err != nil {
		t.Errorf("the good one: %v", err)
	}
	expired := make(mine, "--cipher=aes128", "--ttl=1")
	time.Sleep(2500 * time.Millisecond)
	if _, err := tool.Open(t.Context(), expired, me()); !errors.Is(err, munge.ErrRefused) || !strings.Contains(err.Error(), "Expired") {
		t.Errorf("expired: %v", err)
	}
}

// A forged credential cut off at any length is not taken for a munged that does not answer,
// which would be logged each time.
func TestForgedOfEachLength(t *testing.T) {
	t.Parallel()
	tool, _ := real(t)
	good, err := tool.Seal(t.Context(), []byte("hello"), me())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimPrefix(good, "MUNGE"), ":"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(raw); n++ {
		forged := "MUNGE:" + base64.StdEncoding.EncodeToString(raw[:n]) + ":"
		if _, err := tool.Open(t.Context(), forged, me()); !errors.Is(err, munge.ErrRefused) {
			t.Errorf("%d of %d bytes: %v", n, len(raw), err)
		}
	}
}

// Many goroutines ask munged at once, more than its queue holds.
func TestManyAtATime(t *testing.T) {
	tool, _ := real(t)
	var all sync.WaitGroup
	for range 600 {
		all.Go(func() {
			credential, err := tool.Seal(t.Context(), []byte("x"), me())
			if err == nil {
				_, err = tool.Open(t.Context(), credential, me())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
