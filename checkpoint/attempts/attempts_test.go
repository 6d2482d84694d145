package attempts_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/attempts"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// asGuard makes this program a guard, asProgram what it starts, and taken one that has a listener already.
const (
	asGuard   = "SLUICE_TEST_GUARD"
	asProgram = "SLUICE_TEST_PROGRAM"
	taken     = "SLUICE_TEST_TAKEN"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asProgram) != "":
		program()
		os.Exit(0)
	case os.Getenv(taken) != "":
		takeListener()
		fmt.Println(attempts.Guard(os.Args[1:], []string{asProgram + "=" + taken}))
		os.Exit(127)
	case os.Getenv(asGuard) != "":
		fmt.Println(attempts.Guard(os.Args[1:], []string{asProgram + "=1"}))
		os.Exit(127)
	}
	os.Exit(m.Run())
}

// takeListener installs a filter that allows everything and has a listener, as a container around the fence might.
func takeListener() {
	runtime.LockOSThread() // Guard runs in it, too
	unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	code := []unix.SockFilter{{Code: 6, K: 0x7fff0000}}
	f := unix.SockFprog{Len: 1, Filter: &code[0]}
	unix.Syscall(unix.SYS_SECCOMP, 1, 1<<3, uintptr(unsafe.Pointer(&f)))
}

// program makes denied calls and prints what came of them; then it waits for a line and makes one more.
func program() {
	try := func(what string, number uintptr, args ...uintptr) {
		args = append(args, 0, 0, 0)
		_, _, e := unix.Syscall(number, args[0], args[1], args[2])
		fmt.Println(what, unix.ErrnoName(e))
	}
	open, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range open {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.Contains(to, "seccomp") || strings.Contains(to, "socket") {
			fmt.Println("has", to)
		}
	}
	for range 10 {
		try("ptrace", unix.SYS_PTRACE, 0)
	}
	try("vsock", unix.SYS_SOCKET, 40, 1)
	try("unshare", unix.SYS_UNSHARE, 0)
	try("io_uring_setup", unix.SYS_IO_URING_SETUP, 0)
	try("inet", unix.SYS_SOCKET, 2, 1)
	code := []unix.SockFilter{{Code: 6, K: 0x7fc00000}}
	f := unix.SockFprog{Len: 1, Filter: &code[0]}
	if os.Getenv(asProgram) != taken { // else it gets one, and nothing by it: an error comes before a notice
		try("listener", unix.SYS_SECCOMP, 1, 1<<3, uintptr(unsafe.Pointer(&f)))
	}
	fmt.Println("done")
	fmt.Scanln()
	try("later", unix.SYS_PTRACE, 0)
}

// start starts the guard with a command, and returns what it says, its input, and the calls that are seen.
type start struct {
	t        *testing.T
	watch    *attempts.Watch
	cmd      *exec.Cmd
	in       *os.File
	said     *strings.Builder
	mu       sync.Mutex
	seen     map[string]int
	counting sync.Mutex
	over     chan struct{}
}

func guarded(t *testing.T, variable string, command ...string) *start {
	t.Helper()
	if !attempts.Possible() {
		t.Skip("NOT TESTED: this kernel does not tell of denied calls")
	}
	w, err := attempts.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &start{t: t, watch: w, said: &strings.Builder{}, seen: map[string]int{}, over: make(chan struct{})}
	args := confine.Guarded(confine.First, command)[2:]
	s.cmd = exec.Command(os.Args[0], args...)
	s.cmd.Env, s.cmd.ExtraFiles = []string{variable + "=1", "PATH=/usr/bin:/bin"}, []*os.File{w.Inside()}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr, s.in = read, s, s, write
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read.Close()
	w.Inside().Close()
	go func() { // ends with the program
		defer close(s.over)
		w.Serve(func(call, process string) {
			s.counting.Lock()
			defer s.counting.Unlock()
			s.seen[call+" by "+process]++
		})
	}()
	return s
}

// Write takes what the program says.
func (s *start) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(b)
}

func (s *start) until(word string) {
	s.t.Helper()
	for range 3000 {
		s.mu.Lock()
		text := s.said.String()
		s.mu.Unlock()
		if strings.Contains(text, word) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("it did not say %q but %s", word, s.said.String())
}

// end lets the program end, and returns how it began.
func (s *start) end() attempts.Began {
	s.in.Close()
	s.cmd.Wait()
	return s.watch.Ended(30 * time.Second)
}

func TestGuard(t *testing.T) {
	s := guarded(t, asGuard, os.Args[0])
	if began := s.end(); began != (attempts.Began{Started: true, Counted: true}) {
		t.Errorf("%+v", began)
	}
	<-s.over
	want := strings.Repeat("ptrace EPERM\n", 10) + "vsock EAFNOSUPPORT\nunshare EPERM\nio_uring_setup EPERM\ninet \nlistener EPERM\ndone\nlater EPERM\n"
	if got := s.said.String(); got != want {
		t.Errorf("it says\n%s", got)
	}
	name := "attempts.test"
	if comm, err := os.ReadFile("/proc/self/comm"); err == nil {
		name = strings.TrimSpace(string(comm))
	}
	calls := map[string]int{"ptrace by " + name: 11, "socket(AF_VSOCK) by " + name: 1, "unshare by " + name: 1, "seccomp(listener) by " + name: 1}
	if fmt.Sprint(s.seen) != fmt.Sprint(calls) {
		t.Errorf("seen %v, want %v", s.seen, calls)
	}
}

// TestCountedFirst: a call is counted before it is answered, so a program that ends at once is in the counts.
func TestCountedFirst(t *testing.T) {
	s := guarded(t, asGuard, os.Args[0])
	s.until("done")
	s.counting.Lock() // nothing can be counted
	s.in.Close()
	time.Sleep(200 * time.Millisecond)
	s.mu.Lock()
	if strings.Contains(s.said.String(), "later") {
		t.Error("the call was answered before it was counted")
	}
	s.mu.Unlock()
	s.counting.Unlock()
	s.end()
	if !strings.Contains(s.said.String(), "later EPERM") {
		t.Errorf("it says %s", s.said.String())
	}
}

// Without a listener the calls are denied as ever, and the watch knows that they are not counted.
func TestRefusedListener(t *testing.T) {
	s := guarded(t, taken, os.Args[0])
	if began := s.end(); began != (attempts.Began{Started: true}) {
		t.Errorf("%+v", began)
	}
	if got := s.said.String(); !strings.Contains(got, "ptrace EPERM") || !strings.Contains(got, "vsock EAFNOSUPPORT") || len(s.seen) > 0 {
		t.Errorf("it says %s; seen %v", got, s.seen)
	}
}

// TestNobodyAnswers: once the listener is closed, the kernel itself denies the calls.
func TestNobodyAnswers(t *testing.T) {
	s := guarded(t, asGuard, os.Args[0])
	s.until("done")
	s.watch.Ended(30 * time.Second)
	<-s.over
	s.end()
	if !strings.HasSuffix(s.said.String(), "later ENOSYS\n") {
		t.Errorf("it says %s", s.said.String())
	}
}

func TestNothingStarts(t *testing.T) {
	for _, command := range []string{"/nowhere/program", "/etc/passwd"} {
		if began := guarded(t, asGuard, command).end(); began != (attempts.Began{}) {
			t.Errorf("%s: %+v", command, began)
		}
	}
	for _, args := range [][]string{nil, {"3"}, {"x", "--", "true"}, {"1", "--", "true"}} {
		if err := attempts.Guard(args, nil); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

func TestCounts(t *testing.T) {
	day := time.Unix(1_800_000_000, 0)
	var c attempts.Counts
	for i := range 5000 { // a program with many names hides no call
		c.Add("ptrace", "name"+strconv.Itoa(i), 1, day, day)
	}
	c.Add("mount", "evil\x1b[31m\nprogram with a long name", 1, day, day.Add(time.Minute))
	for i := range 500 {
		c.Add("call"+strconv.Itoa(i), "x", 1<<62, day, day)
	}
	if len(c.Rows) > 505 || c.Total() != 1<<63-1 || c.Rows[4].Process != "" || c.Rows[4].Count != 4996 {
		t.Errorf("%d rows, %d calls, %+v", len(c.Rows), c.Total(), c.Rows[4])
	}
	if r := c.Rows[5]; r != (attempts.Row{Call: "mount", Process: "evil?[31m?progr", Count: 1, First: day.Unix(), Last: day.Unix() + 60}) {
		t.Errorf("%+v", r)
	}
	again, err := attempts.Parse(c.Data())
	if err != nil || len(c.Data()) > attempts.MaxFile || string(again.Data()) != string(c.Data()) {
		t.Errorf("%v, %d bytes", err, len(c.Data()))
	}
	if sum := attempts.Merge(again, attempts.Counts{Uncounted: attempts.OldKernel}, again); sum.Uncounted != attempts.OldKernel || sum.Rows[5].Count != 2 || len(sum.Rows) != len(c.Rows) {
		t.Errorf("%+v", sum.Rows[5])
	}
	for _, bad := range []string{"", "{}", `{"version":2,"rows":[]}`, `{"version":1,"rows":[]} x`, `{"version":1,"rows":[{"call":"a","count":0}]}`, `{"version":1,"rows":[{"call":"","count":1}]}`,
		`{"version":1,"rows":[{"call":"a","process":"\u001b","count":1}]}`, `{"version":1,"rows":[{"call":"a","count":1,"first":2,"last":1}]}`, `{"version":1,"more":1}`} {
		if _, err := attempts.Parse([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}
