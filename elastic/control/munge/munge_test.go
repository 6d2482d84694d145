package munge_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/munge"
)

func me() uint32 { return uint32(os.Getuid()) }

// Against a real munged: what goes in comes out, once, to whom it is for.
func TestRealMunge(t *testing.T) {
	socket := controltest.Munged(t)
	tool, err := munge.New(socket)
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{"", "hello", "a\n\nb: c\n\n", string(bytes.Repeat([]byte{0, 255, '\n'}, 5000))} {
		credential, err := tool.Seal(t.Context(), []byte(payload), me())
		if err != nil {
			t.Fatal(err)
		}
		got, err := tool.Open(t.Context(), credential, me())
		if err != nil || got.UID != me() || string(got.Payload) != payload {
			t.Fatalf("%d bytes: uid %d, %d bytes, %v", len(payload), got.UID, len(got.Payload), err)
		}
		if _, err := tool.Open(t.Context(), credential, me()); !errors.Is(err, munge.ErrRefused) || !strings.Contains(err.Error(), "Replayed") {
			t.Errorf("a second time: %v", err)
		}
	}
	if _, err := tool.Seal(t.Context(), make([]byte, munge.MaxPayload+1), me()); err == nil {
		t.Error("more than MaxPayload was sealed")
	}
}

func TestWhatMungeRefuses(t *testing.T) {
	t.Parallel()
	socket := controltest.Munged(t)
	tool, err := munge.New(socket)
	if err != nil {
		t.Fatal(err)
	}
	make := func(args ...string) string {
		out, err := exec.Command("/usr/bin/munge", append([]string{"--socket=" + socket, "--string=x"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	good := make("--restrict-uid="+uid(), "--cipher=aes128")
	flipped := []byte(good)
	flipped[len(flipped)-20] ^= 1
	other, err := munge.New(controltest.Munged(t)) // another realm's
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Seal(t.Context(), nil, me())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ credential, want string }{
		"for everybody":     {make("--cipher=aes128"), "not made for"},
		"for somebody else": {make("--restrict-uid=4242", "--cipher=aes128"), "nauthorized"},
		"in the clear":      {make("--restrict-uid="+uid(), "--cipher=none"), "not encrypted"},
		"another key":       {foreign, "Invalid"},
		"no credential":     {"MUNGE:AAAA:", "credential"},
		"not even the form": {"GET / HTTP/1.1", "form"},
		"an option":         {"--help", "form"},
		"flipped":           {string(flipped), ""},
	} {
		if _, err := tool.Open(t.Context(), c.credential, me()); !errors.Is(err, munge.ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := tool.Open(t.Context(), good, me()); err != nil {
		t.Errorf("the good one: %v", err)
	}
	expired := make("--restrict-uid="+uid(), "--cipher=aes128", "--ttl=1")
	time.Sleep(2500 * time.Millisecond)
	if _, err := tool.Open(t.Context(), expired, me()); !errors.Is(err, munge.ErrRefused) || !strings.Contains(err.Error(), "Expired") {
		t.Errorf("expired: %v", err)
	}
}

func uid() string { return strings.TrimSpace(run("id", "-u")) }

func run(name string, args ...string) string {
	out, _ := exec.Command(name, args...).Output()
	return string(out)
}

// The munge and unmunge of these tests are scripts.
func scripted(t *testing.T, script string) *munge.Tool {
	t.Helper()
	dir := t.TempDir()
	// A child that another test starts in the meantime would hold a script open for
	// writing until its own program begins: "text file busy".
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for _, name := range []string{"munge", "unmunge"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tool, err := munge.In([]string{dir}, "/some socket; touch x")
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

const form = "MUNGE:AAAA:"

func TestPrograms(t *testing.T) {
	head := func(lines string) string { return "cat >/dev/null; printf '" + lines + "'" }
	ok := `STATUS: Success (0)\nCIPHER: aes128 (4)\nUID: %s\nGID: g (7)\nUID_RESTRICTION: s (500)\n`
	for name, c := range map[string]struct {
		script string
		want   error // nil: good
		words  string
	}{
		"good":             {head(strings.Replace(ok, "%s", "ann (1001)", 1) + `LENGTH: 2\n\nhi`), nil, ""},
		"name in brackets": {head(strings.Replace(ok, "%s", "ann (0) (1001)", 1) + `LENGTH: 2\n\nhi`), nil, ""},
		"name and colon":   {head(strings.Replace(ok, "%s", "UID: 0 (1001)", 1) + `LENGTH: 2\n\nhi`), nil, ""},
		"uid twice":        {head(strings.Replace(ok, "%s", "ann (1001)", 1) + `UID: root (0)\nLENGTH: 2\n\nhi`), munge.ErrRefused, "unexpected line"},
		"short":            {head(strings.Replace(ok, "%s", "1001", 1) + `LENGTH: 3\n\nhi`), munge.ErrRefused, "payload of 3"},
		"no end":           {head(strings.Replace(ok, "%s", "1001", 1) + `LENGTH: 0\n`), munge.ErrRefused, "payload"},
		"no uid":           {head(`STATUS: Success (0)\nLENGTH: 0\n\n`), munge.ErrRefused, "holds no number"},
		"negative":         {head(strings.Replace(ok, "%s", "x (-1)", 1) + `LENGTH: 0\n\n`), munge.ErrRefused, "holds no number"},
		"huge":             {head(strings.Replace(ok, "%s", "x (4294967296)", 1) + `LENGTH: 0\n\n`), munge.ErrRefused, "holds no number"},
		"not well, exit 0": {head(strings.Replace(strings.Replace(ok, "Success (0)", "Expired credential (15)", 1), "%s", "1001", 1) + `LENGTH: 0\n\n`), munge.ErrRefused, "Expired"},
		"empty":            {"cat >/dev/null", munge.ErrRefused, ""},
		"munged down":      {"echo 'unmunge: Error: Failed to access' >&2; exit 6", munge.ErrMissing, "Failed to access"},
		"escapes":          {`printf 'a\033[31mb' >&2; exit 17`, munge.ErrRefused, "a?[31mb"},
		"too much":         {"head -c 1000000 /dev/zero", munge.ErrRefused, "more than"},
		"a child stays":    {"sleep 600 & " + head(strings.Replace(ok, "%s", "1001", 1)+`LENGTH: 2\n\nhi`), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := scripted(t, c.script).Open(t.Context(), form, 500)
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Fatalf("got %v, want %v %q", err, c.want, c.words)
			}
			if c.want == nil && (got.UID != 1001 || got.GID != 7 || string(got.Payload) != "hi") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// What hangs is ended with all its children, and a caller who leaves waits for
// nothing.
func TestHanging(t *testing.T) {
	t.Parallel()
	tool := scripted(t, `sleep 600 & sleep 600`)
	if _, err := tool.Seal(t.Context(), []byte("x"), 1); !errors.Is(err, munge.ErrMissing) || !strings.Contains(err.Error(), "not answered") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Seal(ctx, []byte("x"), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The secret goes through standard input, and the arguments are the same few
// words whatever is asked.
func TestArguments(t *testing.T) {
	tool := scripted(t, `cat >/dev/null; printf 'MUNGE:%s:' "$(printf '%s\n' "$@" | base64 -w0)"`)
	got, err := tool.Seal(t.Context(), []byte("secret; --uid=0 $(touch x)"), 500)
	if err != nil {
		t.Fatal(err)
	}
	want := "--restrict-uid=500\n--ttl=60\n--cipher=aes128\n--zip=none\n--socket=/some socket; touch x\n"
	if said := run("/bin/sh", "-c", "printf %s "+strings.TrimSuffix(strings.TrimPrefix(got, "MUNGE:"), ":")+" | base64 -d 2>/dev/null"); said != want {
		t.Errorf("arguments %q, want %q", said, want)
	}
}

func TestMissing(t *testing.T) {
	if _, err := munge.In([]string{t.TempDir()}, ""); !errors.Is(err, munge.ErrMissing) || !strings.Contains(err.Error(), "install the package munge") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat("/usr/bin/munge"); err != nil {
		t.Skip("SKIPPED: needs munge")
	}
	tool, err := munge.New(filepath.Join(t.TempDir(), "nobody"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Seal(t.Context(), nil, 0); !errors.Is(err, munge.ErrMissing) || !strings.Contains(err.Error(), "Did you start munged?") {
		t.Errorf("no munged: %v", err)
	}
}
