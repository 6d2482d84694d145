package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is a program to run in a process group of its own. It uses the calling goroutine
// only: os/exec starts a goroutine for each pipe, with threads for them, and once per
// process a child that tries pidfd. Together these take a tenth of the time of a submit.
type child struct {
	program string
	args    []string // without the program's name
	environ []string
	stdin   []byte    // nil = nothing
	errs    io.Writer // receives standard error as it is written
}

const (
	// childTick is how often the end of the child and the context are checked while there
	// is no output.
	childTick = 50 * time.Millisecond
	// keptOpen is how long output is read after the program's end: a process that it
	// started may hold its pipes open forever.
	keptOpen = 2 * time.Second
)

// finish is the result of a child.
type finish struct {
	out, said string // standard output and standard error
	status    syscall.WaitStatus
}

// run runs the program to its end, and calls meanwhile, which may be nil, while it runs.
// When ctx is done the program's whole process group is killed. run fails if the program
// cannot be started; then there is no process, and meanwhile is not called.
func (c child) run(ctx context.Context, meanwhile func()) (finish, error) {
	if err := ctx.Err(); err != nil {
		return finish{}, err
	}
	in, outs, errs := pipe{-1, -1}, pipe{-1, -1}, pipe{-1, -1}
	defer in.close()
	defer outs.close()
	defer errs.close()
	if err := errors.Join(in.hold(c.stdin), outs.open(), errs.open()); err != nil {
		return finish{}, err
	}
	pid, err := syscall.ForkExec(c.program, append([]string{c.program}, c.args...), &syscall.ProcAttr{
		Env: c.environ, Sys: &syscall.SysProcAttr{Setpgid: true},
		Files: []uintptr{uintptr(in[0]), uintptr(outs[1]), uintptr(errs[1])},
	})
	if err != nil {
		return finish{}, err
	}
	outs.closeWriter()
	errs.closeWriter()
	if meanwhile != nil {
		meanwhile()
	}
	var out, said bytes.Buffer
	w := watched{pid: pid, pause: 50 * time.Microsecond}
	w.from = []unix.PollFd{{Fd: int32(outs[0]), Events: unix.POLLIN}, {Fd: int32(errs[0]), Events: unix.POLLIN}}
	w.to = []io.Writer{&out, io.MultiWriter(c.errs, &said)}
	status := w.wait(ctx)
	return finish{out.String(), said.String(), status}, nil
}

// pipe is the file descriptors of its reader and its writer; -1 = not open.
type pipe [2]int

func (p *pipe) open() error { return syscall.Pipe2(p[:], syscall.O_CLOEXEC) }

// hold makes the reader's end a file that contains text; an empty file for nil.
func (p *pipe) hold(text []byte) (err error) {
	if text == nil {
		p[0], err = syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		return err
	}
	p[0], err = unix.MemfdCreate("script", unix.MFD_CLOEXEC)
	for at := 0; err == nil && at < len(text); {
		var n int
		n, err = syscall.Pwrite(p[0], text[at:], int64(at))
		at += n
	}
	return err
}

func (p *pipe) closeWriter() {
	if p[1] >= 0 {
		syscall.Close(p[1])
		p[1] = -1
	}
}

func (p *pipe) close() {
	p.closeWriter()
	if p[0] >= 0 {
		syscall.Close(p[0])
		p[0] = -1
	}
}

// watched is a running child. Nothing else waits for it, so its PID cannot be reused by
// another process until it is reaped here.
type watched struct {
	pid   int
	from  []unix.PollFd // its outputs; descriptor -1 = closed
	to    []io.Writer
	pause time.Duration // until its end is checked again, once its outputs are closed
}

// wait copies the output of the child and returns its exit status.
func (w *watched) wait(ctx context.Context) (status syscall.WaitStatus) {
	gone, killed, until := false, false, time.Time{}
	for {
		if !gone {
			pid, err := syscall.Wait4(w.pid, &status, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) { // cannot happen; its exit status is unknown then
				status = syscall.WaitStatus(syscall.SIGKILL)
			}
			if pid == w.pid || errors.Is(err, syscall.ECHILD) {
				gone, until = true, time.Now().Add(keptOpen)
			}
		}
		if gone && (w.silent() || time.Now().After(until)) {
			return status
		}
		if !gone && !killed && ctx.Err() != nil {
			killed = true
			_ = syscall.Kill(-w.pid, syscall.SIGKILL)
		}
		w.copy()
	}
}

// silent reports whether all outputs are closed, by the child and by all that it started.
func (w *watched) silent() bool { return w.from[0].Fd < 0 && w.from[1].Fd < 0 }

// copy waits up to childTick for output and passes it on.
func (w *watched) copy() {
	if w.silent() {
		time.Sleep(w.pause)
		w.pause = min(2*w.pause, childTick)
		return
	}
	if n, _ := unix.Poll(w.from, int(childTick.Milliseconds())); n <= 0 { // interrupted, or no output
		return
	}
	var buf [4096]byte
	for i := range w.from {
		if w.from[i].Revents == 0 {
			continue
		}
		n, err := syscall.Read(int(w.from[i].Fd), buf[:])
		switch {
		case n > 0:
			_, _ = w.to[i].Write(buf[:n]) // a closed terminal is no error
		case !errors.Is(err, syscall.EINTR):
			w.from[i].Fd = -1
		}
	}
}
