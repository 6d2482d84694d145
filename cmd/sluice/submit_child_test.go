package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestChild(t *testing.T) {
	long := strings.Repeat("x", 200_000) // more than a pipe holds
	for _, c := range []struct {
		name, body string
		stdin      []byte
		out, said  string
		code       int
	}{
		{"reads nothing", "cat; exit 3", nil, "", "", 3},
		{"reads all", "cat", []byte(long), long, "", 0},
		{"writes much to both", "cat | tee /dev/stderr", []byte(long), long, long, 0},
		{"closes its output and goes on", "exec >&- 2>&-; sleep 0.2; exit 4", nil, "", "", 4},
		{"closes one of them", "echo a; exec >&-; sleep 0.2; echo b >&2", nil, "a\n", "b\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var shown bytes.Buffer
			got, err := child{program: program(t, c.body), environ: os.Environ(), stdin: c.stdin, errs: &shown}.run(context.Background(), nil)
			if err != nil || got.out != c.out || got.said != c.said || shown.String() != c.said || got.status.ExitStatus() != c.code {
				t.Errorf("%v, %d, %d bytes, %d on standard error of which %d were shown", err, got.status.ExitStatus(), len(got.out), len(got.said), shown.Len())
			}
		})
	}
}

// A process that a child leaves running may keep the pipes open; run does not wait for it.
func TestChildThatLeavesItsPipes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	body := "setsid sleep 300 & echo $! >" + file + "; echo done"
	got, err := child{program: program(t, body), environ: os.Environ(), errs: os.Stderr}.run(context.Background(), nil)
	raw, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if pid, _ := strconv.Atoi(strings.TrimSpace(string(raw))); pid > 0 {
		defer syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil || got.out != "done\n" || got.status.ExitStatus() != 0 {
		t.Errorf("%+v %v", got, err)
	}
}

// With a context that is done nothing is started.
func TestChildTooLate(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	file := filepath.Join(t.TempDir(), "ran")
	if _, err := (child{program: program(t, "touch "+file), errs: os.Stderr}).run(ctx, nil); err != context.Canceled || exists(file) {
		t.Errorf("%v, ran: %v", err, exists(file))
	}
}
