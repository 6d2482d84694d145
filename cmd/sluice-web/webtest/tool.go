package webtest

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
)

// Tool records what would be run, and answers with canned output.
type Tool struct {
	Log string // of "sluice logs"

	mu  sync.Mutex
	ran []string
}

// Ran returns the calls, their words separated by spaces; the standard input follows "<".
func (t *Tool) Ran() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.ran...)
}

// Sluice answers for sluice.
func (t *Tool) Sluice(_ context.Context, dir string, in io.Reader, _ int, args ...string) (out, errs []byte, err error) {
	call := strings.Join(args, " ")
	if in != nil {
		body, err := io.ReadAll(in)
		if err != nil {
			return nil, nil, err
		}
		call += " in " + dir + " <" + string(body)
	}
	t.mu.Lock()
	t.ran = append(t.ran, call)
	t.mu.Unlock()
	switch args[0] {
	case "logs":
		if t.Log == "" {
			return []byte("== sluice: segment 1 of job 4001 · 4 GPUs on gpu001:4 ==\nepoch 6: loss 0.412\nepoch 7: loss 0.398\n"), nil, nil
		}
		return []byte(t.Log), nil, nil
	case "submit":
		return []byte("Submitted batch job 5000\n"), nil, nil
	case "whatif":
		return []byte("mean completion time: 41 min instead of 63 min\n"), nil, nil
	}
	return nil, []byte("sluice: error: no such verb\n"), errors.New("exit status 1")
}

// History writes a history of no jobs.
func (t *Tool) History(context.Context, string, string) (string, error) {
	f, err := os.CreateTemp("", "sluice-history-*")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}
