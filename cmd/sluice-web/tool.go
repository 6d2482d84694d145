package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/etc"
)

// tool runs sluice, and sacct, as the user who runs this program. Words are arguments, never a
// shell's.
type tool struct {
	path  string   // of sluice
	first []string // options before every verb: which sluiced is meant
	sacct string   // "" = not found
	conf  string   // SLURM_CONF for sacct; "" = as it is
	// longest bounds a history of Slurm's accounting, in bytes. It is written to a file as it comes.
	longest int

	running sync.WaitGroup
}

// newTool finds sluice beside this program.
func newTool(cmd *cobra.Command, site etc.Config) (*tool, error) {
	path, err := reach.Sluice()
	if err != nil {
		return nil, err
	}
	first, err := reach.Options(cmd)
	if err != nil {
		return nil, err
	}
	t := &tool{path: path, first: first, sacct: "sacct", conf: site.Slurm.Conf, longest: maxHistory}
	if site.Slurm.Bin != "" {
		t.sacct = filepath.Join(site.Slurm.Bin, "sacct")
	}
	return t, nil
}

// Sluice runs sluice. verb and options of this program stand first.
func (t *tool) Sluice(ctx context.Context, dir string, in io.Reader, most int, args ...string) (out, errs []byte, err error) {
	words := args
	if len(args) > 0 { // "submit" takes its own options only behind it
		words = append(append([]string{args[0]}, t.first...), args[1:]...)
	}
	stdout := &tail{most: most}
	errs, err = t.start(ctx, dir, in, stdout, most, t.path, nil, words...)
	return stdout.Bytes(), errs, err
}

// start runs a program, whose output goes to out, and returns the end of what it wrote to its standard
// error, of most bytes at most. The program and its children end with ctx, or when out takes no more.
func (t *tool) start(ctx context.Context, dir string, in io.Reader, out io.Writer, most int, path string, environ []string, args ...string) (errs []byte, err error) {
	if dir, err = folder(dir); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, path, args...)
	c.Dir, c.Stdin, c.Env = dir, in, append(os.Environ(), environ...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = killWithin
	t.running.Add(1)
	defer t.running.Done()
	stderr := &tail{most: min(most, 64<<10)}
	c.Stdout, c.Stderr = out, stderr
	err = c.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s did not end in time", filepath.Base(path))
	}
	return stderr.Bytes(), err
}

// killWithin is how long a program that was ended may take before it is killed.
const killWithin = 5 * time.Second

// wait waits for programs that were ended with the pages.
func (t *tool) wait() {
	ended := make(chan struct{})
	go func() { defer close(ended); t.running.Wait() }()
	select {
	case <-ended:
	case <-time.After(2 * killWithin):
	}
}

// folder is a folder as a user writes it; "" and "~" are the home.
func folder(dir string) (string, error) {
	if dir != "" && dir != "~" && !strings.HasPrefix(dir, "~/") {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, strings.TrimPrefix(dir, "~")), nil
}

// tail keeps the last bytes that were written, most at least and twice as many at most. The buffer is
// not embedded: its ReadFrom, which io.Copy prefers to Write, knows no bound.
type tail struct {
	most int
	kept bytes.Buffer
}

// Write takes a part.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > t.most {
		p = p[len(p)-t.most:]
	}
	if t.kept.Len()+len(p) > 2*t.most {
		t.kept.Next(t.kept.Len() - (t.most - len(p)))
	}
	t.kept.Write(p)
	return n, nil
}

// Bytes are the bytes that are kept.
func (t *tail) Bytes() []byte { return t.kept.Bytes() }

// maxHistory is the usual tool.longest.
const maxHistory = 256 << 20

var errTooLong = errors.New("the history is too long; choose fewer days")

// bounded passes on so many bytes, counts their lines, and fails at the byte after them.
type bounded struct {
	to    io.Writer
	left  int
	lines int
	full  bool
}

// Write passes a part on.
func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		b.full = true // the program may end by the signal that this causes
		return 0, errTooLong
	}
	n, err := b.to.Write(p)
	b.left -= n
	b.lines += bytes.Count(p[:n], []byte{'\n'})
	return n, err
}

// History writes sacct's history to a file of the user's own. The fields are those that sluice whatif
// reads.
func (t *tool) History(ctx context.Context, since, until string) (string, error) {
	words := strings.Fields(workload.SacctCommand)
	for i, w := range words {
		switch w {
		case "-S":
			words[i+1] = since
		case "-E":
			words[i+1] = until
		}
	}
	f, err := os.CreateTemp("", "sluice-history-*")
	if err != nil {
		return "", err
	}
	defer f.Close()
	var environ []string
	if t.conf != "" {
		environ = append(environ, "SLURM_CONF="+t.conf)
	}
	out := &bounded{to: f, left: t.longest}
	errs, err := t.start(ctx, "", nil, out, 64<<10, t.sacct, environ, words[1:]...)
	switch {
	case errors.Is(err, errTooLong) || out.full:
		err = errTooLong
	case err != nil && len(errs) > 0:
		err = fmt.Errorf("sacct: %s", strings.TrimSpace(string(errs)))
	case err != nil:
		err = fmt.Errorf("Slurm's accounting cannot be read: %w", err)
	case out.lines < 2:
		err = errors.New("Slurm's accounting has no jobs in this time")
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// Gives reports true: what the user may type, the pages may.
func (t *tool) Gives(string) bool { return true }

// Give gives an order by the verb of the command line.
func (t *tool) Give(ctx context.Context, _ page.Viewer, o page.Order) (string, error) {
	out, errs, err := t.Sluice(ctx, "", nil, 64<<10, o.Command()...)
	said := strings.TrimSpace(string(out) + string(errs))
	if err != nil && said != "" {
		err = errors.New("sluice: exit code other than 0")
	}
	return said, err
}
