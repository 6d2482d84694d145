package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/sluice-hpc/sluice/cmd/reach"
)

const (
	// patience is how long a command of sluice may take: an order waits up to 45 s for Slurm.
	patience = 2 * time.Minute
	// mostOutput bounds what is read of a command, in bytes, and longestLine a line of a log.
	mostOutput, longestLine = 1 << 20, 64 << 10
	// gather is how long lines of a log are gathered, so that a long log is drawn in few steps.
	gather, mostGathered = 100 * time.Millisecond, 2000
)

// start makes the command; it is killed with ctx.
func start(ctx context.Context, args []string) (*exec.Cmd, error) {
	path, err := reach.Sluice()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	return cmd, nil
}

// bounded keeps the first bytes that are written.
type bounded struct{ kept []byte }

// Write takes everything.
func (b *bounded) Write(data []byte) (int, error) {
	b.kept = append(b.kept, data[:min(len(data), mostOutput-len(b.kept))]...)
	return len(data), nil
}

// runSluice runs a command of sluice and returns what it printed on both outputs.
func runSluice(ctx context.Context, args []string) (output string, failed bool) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	cmd, err := start(ctx, args)
	if err != nil {
		return err.Error(), true
	}
	var out bounded
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(&out, err)
	}
	if ctx.Err() != nil {
		fmt.Fprintf(&out, "no end after %s\n", patience)
	}
	return string(out.kept), err != nil
}

// followSluice passes on the lines that a command of sluice prints, until it ends or ctx does.
func followSluice(ctx context.Context, args []string, pass func(lines []string, over bool)) {
	cmd, err := start(ctx, args)
	if err != nil {
		pass([]string{err.Error()}, true)
		return
	}
	from, to := io.Pipe()
	cmd.Stdout, cmd.Stderr = to, to
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
			fmt.Fprintln(to, err)
		}
		to.Close()
	}()
	lines := make(chan string, mostGathered)
	go readLines(ctx, from, lines)
	passOn(ctx, lines, pass)
	from.Close()
	<-ended
}

// readLines sends the lines of a reader; longer ones are split.
func readLines(ctx context.Context, from io.Reader, to chan<- string) {
	defer close(to)
	in := bufio.NewReaderSize(from, longestLine)
	for {
		raw, _, err := in.ReadLine()
		if err != nil {
			return
		}
		select {
		case to <- string(raw):
		case <-ctx.Done():
			return
		}
	}
}

// passOn passes lines on in groups.
func passOn(ctx context.Context, lines <-chan string, pass func([]string, bool)) {
	for {
		select {
		case <-ctx.Done():
			return
		case first, more := <-lines:
			if !more {
				pass(nil, true)
				return
			}
			group := []string{first}
			for full := time.After(gather); len(group) < mostGathered; {
				select {
				case l, more := <-lines:
					if !more {
						pass(group, true)
						return
					}
					group = append(group, l)
					continue
				case <-full:
				}
				break
			}
			pass(group, false)
		}
	}
}
