package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// patient is how long a condition is waited for: it is met at once, on a busy machine in seconds.
const patient = 2 * time.Minute

// screenOf is a program on a terminal of its own, and what it has drawn there.
type screenOf struct {
	before *unix.Termios // the terminal's settings before the program began
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File // stays open, so that its state can be read after the program
	ended  chan error

	mu   sync.Mutex
	term *vt.Emulator
	raw  bytes.Buffer
}

// onTerminal starts a program on a new pseudo terminal.
func onTerminal(t *testing.T, cmd *exec.Cmd, columns, rows int) *screenOf {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NOT TESTED: no pseudo terminals: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NOT TESTED: no pseudo terminals: %v", err)
	}
	s := &screenOf{cmd: cmd, master: master, slave: slave, ended: make(chan error, 1), term: vt.NewEmulator(columns, rows)}
	s.size(t, columns, rows)
	if s.before, err = unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- cmd.Wait() }()
	go s.read()
	go func() { _, _ = io.Copy(master, s.term) }() // what a terminal answers when it is asked
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		master.Close()
		slave.Close()
		if in, is := s.term.InputPipe().(io.Closer); is { // ends the copying; Emulator.Close would race with it
			in.Close()
		}
	})
	return s
}

func (s *screenOf) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.master.Read(buf)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.raw.Write(buf[:n])
		_, _ = s.term.Write(buf[:n])
		s.mu.Unlock()
	}
}

// size makes the terminal another size.
func (s *screenOf) size(t *testing.T, columns, rows int) {
	t.Helper()
	s.mu.Lock()
	s.term.Resize(columns, rows)
	s.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
}

func (s *screenOf) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func (s *screenOf) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term.String()
}

func (s *screenOf) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// shows waits until the screen shows all words, and none of those that begin with "!".
func (s *screenOf) shows(t *testing.T, words ...string) {
	t.Helper()
	until(t, func() bool {
		all := s.text()
		for _, w := range words {
			word, not := strings.CutPrefix(w, "!")
			if strings.Contains(all, word) == not {
				return false
			}
		}
		return true
	}, func() string { return "want " + strings.Join(words, ", ") + " on\n" + s.text() })
}

// exits waits for the end of the program.
func (s *screenOf) exits(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(patient):
		t.Fatalf("it does not end:\n%s", s.text())
		return nil
	}
}

func until(t *testing.T, is func() bool, problem func() string) {
	t.Helper()
	for end := time.Now().Add(patient); !is(); {
		if time.Now().After(end) {
			t.Fatal(problem())
		}
		time.Sleep(20 * time.Millisecond)
	}
}
