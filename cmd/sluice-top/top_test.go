package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/cmd/help"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
)

// TestMain makes this program sluice-top where a test starts it as that.
func TestMain(m *testing.M) {
	if os.Getenv("SLUICE_TOP_TEST") != "" {
		main()
	}
	os.Exit(m.Run())
}

// installed is a folder with sluice-top, which is this test, and a real sluice.
func installed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir, "../sluice") // as the Makefile, so that it is compiled already
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "sluice-top"), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// daemon is a sluiced with the canned report. Jobs of ann are those of the caller.
type daemon struct {
	service *controltest.Service
	socket  string
	stop    func()
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	o := control.Options{UID: uint32(os.Getuid()), Now: func() time.Time { return controltest.Now }, Version: "1.0.0"}
	server, err := control.Listen(context.Background(), d.socket, o, d.service)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	stopped := false
	d.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-done
		}
	}
	t.Cleanup(func() { d.stop() })
}

// site is a daemon, and what a program needs to find it.
func site(t *testing.T) (*daemon, string, []string) {
	t.Helper()
	dir := t.TempDir()
	d := &daemon{service: controltest.New(), socket: filepath.Join(dir, "sock")}
	for i := range d.service.Last.Jobs {
		if rec := &d.service.Last.Jobs[i].Record; rec.Owner.UID == controltest.AnnUID {
			rec.Owner.UID, rec.SlurmUID = uint32(os.Getuid()), uint32(os.Getuid())
		}
	}
	d.start(t)
	conf := filepath.Join(dir, "sluice.toml")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "[paths]\nsocket = %q\njobs = %q\noutbox = %q\n", d.socket, filepath.Join(dir, "jobs"), filepath.Join(dir, "outbox")), 0o644); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "SLUICE_TOP_TEST=1", "SLUICE_CONF="+conf, "HOME="+dir, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=1", "TZ=UTC", "SLUICE_ADDRESS=")
	return d, dir, env
}

var coloured = regexp.MustCompile(`\x1b\[([0-9]*;)*([34][0-8]|9[0-7]|10[0-7])[;m]`)

// TestTop plays the screen on a terminal, with a real sluice for its orders and texts.
func TestTop(t *testing.T) {
	programs := installed(t)
	d, dir, env := site(t)
	output := filepath.Join(dir, "out")
	folder := filepath.Join(dir, "jobs", strings.Repeat("0", 30)+"41")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{output: "epoch 1\n\x1b[31mepoch 2\n", filepath.Join(folder, "runner.json"): fmt.Sprintf(`{"version":1,"job":41,"state":"training","pid":1,"output":%q}`, output)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(programs, "sluice-top"), "-i", "1")
	cmd.Args[0], cmd.Env = "sluice-top", env
	s := onTerminal(t, cmd, 80, 24)
	s.shows(t, "resnet", `bert\x1b`, "8/12 GPUs", "? help")

	// Other screens, a job's explanation, and its log as it is written.
	s.press(t, "2")
	s.shows(t, "PARTITION", "h100+l4")
	s.press(t, "3")
	s.shows(t, "+/- 2 h", "━━━━")
	s.press(t, "1\r")
	s.shows(t, "Move costs", "grows 2 -> 4")
	s.press(t, "l")
	s.shows(t, "epoch 1", "epoch 2")
	file, err := os.OpenFile(output, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString("epoch 3\n")
		file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.shows(t, "epoch 3")
	s.press(t, "\x1b")
	s.shows(t, "JOBID")

	// An order runs once it is confirmed, and its answer is shown, also a refusal.
	s.press(t, "h")
	s.shows(t, "sluice hold 41", "run it?")
	if asked := d.service.Asked(); slices.ContainsFunc(asked, func(a string) bool { return strings.Contains(a, "hold") }) {
		t.Errorf("not confirmed, and asked %q", asked)
	}
	s.press(t, "y")
	s.shows(t, "sluice hold 41: done")
	if want := fmt.Sprintf("direct %d 41 hold", os.Getuid()); !slices.Contains(d.service.Asked(), want) {
		t.Errorf("asked %q, want %s", d.service.Asked(), want)
	}
	s.press(t, "g99\ry")
	s.shows(t, "sluice resize 41 --gpus 99", "error")

	// Without its daemon it says so, and comes back by itself.
	d.stop()
	s.shows(t, "no answer since", "resize 41")
	s.press(t, "k")
	s.shows(t, "sluiced has not answered since", "resnet")
	d.start(t)
	s.shows(t, "!not answered", "!no answer", "resnet")

	// A tiny terminal, and a large one again.
	s.size(t, 20, 5)
	s.shows(t, "41  RS", "!STATE", "!bob")
	s.size(t, 120, 40)
	s.shows(t, "legacy", "SPEED")
	if found := coloured.FindString(s.output()); found != "" {
		t.Errorf("a colour in spite of NO_COLOR: %q", found)
	}

	// SIGTERM leaves the terminal as it was.
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.exits(t); err != nil {
		t.Errorf("%v\n%s", err, s.text())
	}
	after, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil || !reflect.DeepEqual(s.before, after) {
		t.Errorf("%v: the terminal's settings are %+v, were %+v", err, after, s.before)
	}
	until(t, func() bool { return strings.Contains(s.output(), "\x1b[?1049l") }, func() string { return "it does not leave its screen" })
}

// TestKeysEndIt: q and ^C, also without a daemon.
func TestKeysEndIt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"q", "\x03"} {
		d, _, env := site(t)
		d.stop()
		cmd := exec.Command(self)
		cmd.Args[0], cmd.Env = "sluice-top", env
		s := onTerminal(t, cmd, 80, 24)
		s.shows(t, "no sluiced")
		s.press(t, key)
		if err := s.exits(t); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// TestNoTerminal: what goes to a pipe is told of sluice queue; mistakes are told before that.
func TestNoTerminal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, _, env := site(t)
	for args, want := range map[string]string{
		"": "sluice top needs a terminal for its input and output; for a pipe or a file use 'sluice queue'", "-i 0": "invalid --iterate 0",
		"--colour": "unknown flag",
	} {
		cmd := exec.Command(self, strings.Fields(args)...)
		cmd.Args[0], cmd.Env = "sluice-top", env
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "sluice: error: "+want) {
			t.Errorf("%s: %v, %s", args, err, out)
		}
	}
}

// TestTopHelpFits a terminal of 80 columns.
func TestTopHelpFits(t *testing.T) {
	var out strings.Builder
	c := newCommand()
	c.SetOut(&out)
	c.SetArgs([]string{"top", "--help"})
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(out.String(), "\n") {
		if utf8.RuneCountInString(line) > help.Columns {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

// TestEnvironment: what the environment says of colours and characters.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		env             map[string]string
		colour, unicode bool
	}{
		{map[string]string{"TERM": "xterm", "LANG": "de_DE.UTF-8"}, true, true}, {map[string]string{"NO_COLOR": "1", "LC_ALL": "C.utf8"}, false, true},
		{map[string]string{"TERM": "dumb", "LC_ALL": "C", "LANG": "en_US.UTF-8"}, false, false}, {map[string]string{"LC_CTYPE": "POSIX"}, true, false}, {nil, true, false},
	} {
		env := func(name string) string { return c.env[name] }
		if colour(env) != c.colour || unicodeTerminal(env) != c.unicode {
			t.Errorf("%v: colour %v, unicode %v", c.env, colour(env), unicodeTerminal(env))
		}
	}
}
