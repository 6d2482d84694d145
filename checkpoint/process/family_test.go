package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = 30 * time.Second

// family is one for the whole test process: there can be only one.
var family *Family

func TestMain(m *testing.M) {
	if dir := os.Getenv(asUser); dir != "" {
		beUser(dir)
	}
	if os.Getenv(asHead) != "" {
		beHead()
	}
	var err error
	if family, err = Found(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	family.Close()
	os.Exit(code)
}

func shell(t *testing.T, script string) *Child {
	t.Helper()
	c, err := family.Start(Command{Argv: []string{"bash", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Stderr: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ended(t *testing.T, c *Child) Exit {
	t.Helper()
	select {
	case <-c.Done():
		return c.Exit()
	case <-time.After(patience):
		t.Fatal("does not end")
		return Exit{}
	}
}

func until(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !isSo(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

func TestExits(t *testing.T) {
	for script, want := range map[string]Exit{
		"exit 0": {}, "exit 3": {Code: 3}, "kill -9 $$": {Code: 137, Signal: "KILL"}, "kill -TERM $$": {Code: 143, Signal: "TERM"},
	} {
		if got := ended(t, shell(t, script)); got != want {
			t.Errorf("%s: %+v, want %+v", script, got, want)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	var all []*Child
	for i := range 50 {
		all = append(all, shell(t, "exit "+strconv.Itoa(i)))
	}
	for i, c := range all {
		if got := ended(t, c).Code; got != i {
			t.Errorf("child %d ended with %d", i, got)
		}
	}
}

func TestNotStarted(t *testing.T) {
	for _, argv := range [][]string{nil, {"no-such-program"}, {"/no/such/program"}, {"/etc/passwd"}} {
		if _, err := family.Start(Command{Argv: argv}); err == nil {
			t.Errorf("%q started", argv)
		}
	}
}

// TestKillAll: nothing slips away, whatever it does to slip.
func TestKillAll(t *testing.T) {
	p := filepath.Join(t.TempDir(), "up")
	c := shell(t, `setsid bash -c 'trap "" TERM HUP INT; echo >>`+p+`; while :; do sleep 0.01; done' &
(setsid bash -c 'echo >>`+p+`; sleep 1000' &)
(bash -c 'while :; do (sleep 0.01; echo >>`+p+`) & wait; done' &)
exec bash -c 'while :; do sleep 0.01; done'`)
	until(t, "all are up", func() bool { b, _ := os.ReadFile(p); return len(b) > 4 })
	if left := family.KillAll(5 * time.Second); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if e := ended(t, c); e.Signal != "KILL" {
		t.Errorf("%+v", e)
	}
	if again := look().below(os.Getpid()); len(again) != 0 {
		t.Errorf("left: %v", again)
	}
}

// TestDrainSpares: srun gets its time, everything else is gone at once.
func TestDrainSpares(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{
		"srun":  `trap "echo told >>` + dir + `/story" TERM; echo up >>` + dir + `/story; n=0; until [ $n = 30 ]; do sleep 0.01; n=$((n+1)); done; echo done >>` + dir + `/story`,
		"other": `trap "" TERM; echo up >>` + dir + `/story; while :; do sleep 0.01; done; echo never >>` + dir + `/story`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := family.Start(Command{Argv: []string{filepath.Join(dir, name)}, Env: []string{"PATH=" + os.Getenv("PATH")}}); err != nil {
			t.Fatal(err)
		}
	}
	story := func() string { b, _ := os.ReadFile(filepath.Join(dir, "story")); return string(b) }
	until(t, "both are up", func() bool { return strings.Count(story(), "up") == 2 })
	if left := family.Drain(20*time.Millisecond, patience, "srun"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if got := story(); !strings.HasSuffix(got, "told\ndone\n") {
		t.Errorf("story %q", got)
	}
}

func TestTellOnlyThoseWhoListen(t *testing.T) {
	p := filepath.Join(t.TempDir(), "story")
	// A loop that starts nothing: a child listens, too, until it becomes another program.
	c := shell(t, `bash -c 'trap "echo told >>`+p+`; exit 4" USR1; echo up >>`+p+`; while :; do :; done'; exit $?`)
	until(t, "it listens", func() bool { b, _ := os.ReadFile(p); return strings.Contains(string(b), "up") })
	if n := family.Tell(syscall.SIGUSR1); n != 1 {
		t.Errorf("told %d", n)
	}
	if e := ended(t, c); e.Code != 4 {
		t.Errorf("%+v: the shell without a trap died", e)
	}
	if n := family.Tell(syscall.SIGUSR1); n != 0 {
		t.Errorf("told %d, nobody is there", n)
	}
}

func TestSignalReachesTheGroup(t *testing.T) {
	p := filepath.Join(t.TempDir(), "pid")
	c := shell(t, `sleep 1000 & echo $! >`+p+`; wait`)
	until(t, "it is up", func() bool { b, _ := os.ReadFile(p); return strings.HasSuffix(string(b), "\n") })
	if err := c.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended(t, c)
	until(t, "the whole group is gone", func() bool { return len(look().below(os.Getpid())) == 0 })
	if err := c.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a group that is gone: %v", err)
	}
}

func TestParseStat(t *testing.T) {
	const rest = " 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99 "
	for stat, want := range map[string]string{
		"7 (a) S 1 2" + rest + "1234 0 0":                           "S 1 2 99 17 a true",
		"7 (a) b) (c d) Z 42 2" + rest + "5":                        "Z 42 2 99 17 a) b) (c d true",
		"7 (a\n) R 9 9" + strings.Replace(rest, "99", "x", 1) + "1": "R 9 9 0 17 a\n false",
		"7 (a) S x 2" + rest + "1":                                  "S 0 2 99 17 a false",
		"":                                                          "\x00 0 0 0 0  false",
		"7 )(a":                                                     "\x00 0 0 0 0  false",
		"7 (a)":                                                     "\x00 0 0 0 0  false",
		"7 (a) S 1 2 3":                                             "\x00 0 0 0 0  false",
		"7 (unterminated S 1 2 ":                                    "\x00 0 0 0 0  false",
	} {
		e, ok := parseStat([]byte(stat))
		if got := fmt.Sprintf("%c %d %d %d %d %s %v", e.state, e.parent, e.group, e.start, e.threads, e.name, ok); got != want {
			t.Errorf("%q: %q, want %q", stat, got, want)
		}
	}
	for flags, want := range map[string]bool{"2129984": true, "4194560": false} { // of kthreadd; of a shell
		e, ok := parseStat([]byte("2 (a) S 0 0" + strings.Replace(rest, " 6 ", " "+flags+" ", 1) + "30"))
		if !ok || e.kernel != want {
			t.Errorf("flags %s: %+v, %v", flags, e, ok)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) b) S 1 2"))
	f.Fuzz(func(t *testing.T, data []byte) { parseStat(data) })
}

func TestMask(t *testing.T) {
	status := "Name:\tSigCgt:\nSigBlk:\t0000000000010000\nSigCgt:\t00000000000002a0\n"
	if mask(status, "SigBlk:") != 0x10000 || mask(status, "SigCgt:") != 0x2a0 || mask(status, "SigQ:") != 0 {
		t.Error(mask(status, "SigBlk:"), mask(status, "SigCgt:"))
	}
}
