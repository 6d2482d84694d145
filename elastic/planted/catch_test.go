package planted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// verdict is the result of a run of tests.
type verdict string

const (
	passed   verdict = "passed"
	failed   verdict = "failed" // by an assertion or the race detector
	idle     verdict = "ran no test"
	unbuilt  verdict = "does not build"
	panicked verdict = "panicked"
	hung     verdict = "hung"
	broken   verdict = "ended without a verdict"
	slain    verdict = "ended by a signal from outside" // by the kernel, short of memory, or by the user that stopped the campaign
	unrun    verdict = "could not be run"
)

// patience is how long one run of tests may take. It ends runs that hang; it measures nothing.
const patience = 10 * time.Minute

// mostMemory bounds a test program's address space, in bytes.
const mostMemory = 6 << 30

// outside reports whether the verdict says nothing about the fault, because the machine or its
// users caused it.
func (v verdict) outside() bool { return v == slain || v == unrun }

// outcome is a verdict with its evidence.
type outcome struct {
	verdict
	test, word string // the first test that failed, and the first line of its message
	text       string // everything that was printed
	took       time.Duration
}

// try builds the tests of the fault's package, with the files of an overlay in place of their
// own if there is one, and runs the tests that the fault names.
func (p plant) try(ctx context.Context, overlay, dir string) outcome {
	program := filepath.Join(dir, "tests")
	if text, err := p.build(ctx, overlay, program); err != nil {
		return outcome{verdict: unbuilt, text: text}
	}
	return p.run(ctx, program, environment(overlay))
}

func (p plant) build(ctx context.Context, overlay, program string) (string, error) {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", fmt.Sprintf("-race=%t", p.Race), "-ldflags=-s -w", "-o", program, "./"+p.Room)
	build.Dir = source
	build.Env = environment(overlay)
	text, err := build.CombinedOutput()
	return string(text), err
}

// run runs the tests that the fault names.
func (p plant) run(ctx context.Context, program string, env []string) outcome {
	limit := p.Within
	if limit == 0 {
		limit = patience
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	run := exec.CommandContext(ctx, "/bin/sh", "-c", p.bounded(), program, "-test.v", "-test.failfast",
		fmt.Sprintf("-test.short=%t", p.Short), "-test.skip", p.Skip, "-test.run", p.Run)
	run.Dir = filepath.Join(source, p.Room) // the folder in which go test would run it
	run.Env = env
	run.WaitDelay = time.Second
	began := time.Now()
	text, err := run.CombinedOutput()
	o := judge(string(text), err, errors.Is(ctx.Err(), context.DeadlineExceeded))
	o.took = time.Since(began)
	return o
}

// bounded returns how the shell starts a test program: a program with a fault could fill the
// machine's memory. The race detector reserves more than any bound.
func (p plant) bounded() string {
	if p.Race {
		return `exec "$0" "$@"`
	}
	return fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, mostMemory>>10)
}

// environment passes the overlay on to programs that the tests build themselves. Failures of
// drawn tests are not saved: without the fault they have no meaning.
func environment(overlay string) []string {
	env := append(os.Environ(), "RAPID_NOFAILFILE=1")
	if overlay != "" {
		env = append(env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	return env
}

var (
	failLine = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	passLine = regexp.MustCompile(`(?m)^--- PASS: `)
	saidLine = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*(?:\n {8}.*)?)`)
	panicAt  = regexp.MustCompile(`(?m)^(panic: |fatal error: |runtime: )`)
)

// judge derives the verdict from what a test program printed and how it ended.
func judge(text string, err error, late bool) outcome {
	o := outcome{text: text}
	var exit *exec.ExitError
	fails := failLine.FindStringSubmatch(text)
	switch {
	case late:
		o.verdict = hung
	case panicAt.MatchString(text):
		o.verdict = panicked
	case err == nil && passLine.MatchString(text):
		o.verdict = passed
	case err == nil:
		o.verdict = idle
	case errors.As(err, &exit) && exit.ExitCode() == 1 && fails != nil:
		o.verdict, o.test, o.word = failed, fails[1], firstWord(text)
	default:
		o.verdict = ended(err)
		o.text += fmt.Sprintf("\n(%v)", err)
	}
	return o
}

// crashes are the signals that a program causes itself.
var crashes = []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS}

// ended returns the verdict on a program that ended without a result of its own.
func ended(err error) verdict {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		if errors.Is(err, exec.ErrWaitDelay) { // it left processes running
			return broken
		}
		return unrun
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	switch {
	case !ok || !status.Signaled():
		return broken
	case slices.Contains(crashes, status.Signal()):
		return panicked
	}
	return slain
}

// firstWord returns the message of the first failed assertion, on one line.
func firstWord(text string) string {
	if strings.Contains(text, "WARNING: DATA RACE") {
		return "data race"
	}
	said := saidLine.FindStringSubmatch(text)
	if said == nil {
		return ""
	}
	line := strings.Join(strings.Fields(said[1]), " ")
	if runes := []rune(line); len(runes) > 160 {
		line = string(runes[:160]) + "..."
	}
	return line
}
