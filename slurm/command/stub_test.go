package command

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stubs is a folder of shell scripts that replace Slurm's programs.
type stubs struct {
	t   *testing.T
	dir string
}

// newStubs makes programs that succeed without output and log their arguments.
func newStubs(t *testing.T) stubs {
	s := stubs{t, t.TempDir()}
	for _, name := range programs {
		s.set(name, "")
	}
	return s
}

// set sets a program's body. It runs after the call was logged as one line with each
// argument in brackets; $here is the folder.
func (s stubs) set(name, body string) {
	s.t.Helper()
	text := `#!/bin/sh
here=` + s.dir + `
{ printf '` + name + `'; for a in "$@"; do printf ' [%s]' "$a"; done; echo; } >> $here/calls
` + body + "\n"
	s.program(name, text)
}

// program writes a script. A child that another test starts in the meantime would hold
// it open for writing until its own program begins: "text file busy".
func (s stubs) program(name, text string) {
	s.t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// replay makes squeue or sinfo print a fixture with the requested delimiter.
func (s stubs) replay(name string, parts ...string) {
	s.t.Helper()
	s.write(name+".out", fixture(s.t, parts...))
	s.set(name, `
format=${SQUEUE_FORMAT2:-$5}
nonce=${format#*:@}; nonce=${nonce%%|*}
sed "s/@fixture/@$nonce/g" $here/`+name+`.out`)
}

func (s stubs) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s stubs) read(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(b)
}

// calls returns the logged calls and clears the log.
func (s stubs) calls() []string {
	s.t.Helper()
	text := strings.TrimSuffix(s.read("calls"), "\n")
	_ = os.Remove(filepath.Join(s.dir, "calls"))
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (s stubs) client(c Config) *Client {
	s.t.Helper()
	c.Dir = s.dir
	if c.Now == nil {
		c.Now = time.Now
	}
	client, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}
