package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrImpossible: this machine cannot build a fence.
var ErrImpossible = errors.New("no fence can be built on this machine")

// Impossible says why not, and what an administrator types.
type Impossible struct {
	Why  Cause
	Hint string
	Text string // what bwrap said; "" = nothing
}

// Cause is why a machine cannot build a fence.
type Cause string

// Causes.
const (
	NoProgram    Cause = "bubblewrap is not installed"
	NoNamespaces Cause = "user namespaces are switched off for ordinary users"
	Refused      Cause = "bubblewrap could not make the namespaces"
	Privileged   Cause = "a confined job must not run as root"
	NoTunnel     Cause = "a network of several nodes needs /dev/net/tun"
	NoEnter      Cause = "a network of several nodes needs nsenter"
)

// Error returns the cause, what bwrap said, and what to type.
func (e *Impossible) Error() string {
	text := fmt.Sprintf("%v: %s", ErrImpossible, e.Why)
	if e.Text != "" {
		text += " (" + e.Text + ")"
	}
	return text + "; " + e.Hint
}

// Unwrap returns ErrImpossible.
func (e *Impossible) Unwrap() error { return ErrImpossible }

// programs are where bwrap is looked for. PATH is not read: the job's user sets it.
var programs = []string{"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"}

// Program returns the path of bwrap; the error is *Impossible.
func Program() (string, error) {
	for _, p := range programs {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", &Impossible{Why: NoProgram, Hint: "install it on every node: apt-get install bubblewrap, or dnf install bubblewrap"}
}

// patience bounds a trial of a fence.
const patience = 10 * time.Second

// Possible builds a small fence, as the calling user, and runs a command in it that does
// nothing. The error is *Impossible if this machine cannot, also if the caller is root,
// whose fence would prove nothing.
func Possible(ctx context.Context) error {
	if os.Geteuid() == 0 {
		return &Impossible{Why: Privileged, Hint: "run this check as the service account: sudo -u sluice-data sluice doctor"}
	}
	bwrap, err := Program()
	if err != nil {
		return err
	}
	filter, err := Filter(runtime.GOARCH, Alone)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	program, err := Memory("filter", Bytes(filter))
	if err != nil {
		return err
	}
	defer program.Close()
	m := Look(Fence{System: []string{"/usr", "/lib", "/lib64", "/bin", "/sbin"}})
	argv := []string{"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--cap-drop", "ALL",
		"--die-with-parent", "--new-session", "--seccomp", "3", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"}
	for _, e := range m.Shown {
		if e.Link != "" {
			argv = append(argv, "--symlink", e.Link, e.Path)
		} else {
			argv = append(argv, "--ro-bind", e.Path, e.Path)
		}
	}
	cmd := exec.CommandContext(ctx, bwrap, append(argv, "--", "/bin/sh", "-c", "exit 0")...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = []string{"PATH=/usr/bin:/bin"}, "/", []*os.File{program}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return refused(said.String(), err)
	}
	return nil
}

// refused finds the cause of a trial that failed.
func refused(said string, err error) error {
	e := &Impossible{Why: Refused, Text: firstLine(said), Hint: "try it: bwrap --unshare-all --ro-bind / / true"}
	if e.Text == "" {
		e.Text = err.Error()
	}
	for _, s := range []struct{ name, off, hint string }{
		{"user/max_user_namespaces", "0", "as root: sysctl -w user.max_user_namespaces=15000"},
		{"kernel/unprivileged_userns_clone", "0", "as root: sysctl -w kernel.unprivileged_userns_clone=1"},
		{"kernel/apparmor_restrict_unprivileged_userns", "1", "allow bwrap in AppArmor, or as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		if value, err := os.ReadFile("/proc/sys/" + s.name); err == nil && strings.TrimSpace(string(value)) == s.off {
			e.Why, e.Hint = NoNamespaces, s.hint
			break
		}
	}
	return e
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line[:min(len(line), 300)]
}

// Memory returns a file without a name that has this content, to be read from its start.
func Memory(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.Write(content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
