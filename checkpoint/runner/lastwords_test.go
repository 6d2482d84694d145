package runner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/process"
)

func TestMeaning(t *testing.T) {
	for want, c := range map[string]struct {
		exit process.Exit
		memory
	}{
		"exit code 1":                                                            {process.Exit{Code: 1}, memory{}},
		"exit code 127: a command was not found":                                 {process.Exit{Code: 127}, memory{0, true}},
		"exit code 139: a process crashed: segmentation fault":                   {process.Exit{Code: 139}, memory{}},
		"killed by signal SEGV":                                                  {process.Exit{Code: 139, Signal: "SEGV"}, memory{}},
		"killed by signal KILL: killed, probably out of memory":                  {process.Exit{Code: 137, Signal: "KILL"}, memory{}},
		"exit code 137: killed, probably out of memory":                          {process.Exit{Code: 137}, memory{3, false}},
		"killed by signal 9 (not out of memory)":                                 {process.Exit{Code: 137}, memory{0, true}},
		"exit code 1: out of memory, the kernel killed 2 of the job's processes": {process.Exit{Code: 1}, memory{2, true}},
	} {
		if got := meaning(c.exit, c.memory); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

func TestCulprit(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    main()\n    ^^^^^^\n"
	for text, want := range map[string]string{
		"":                              "",
		"RuntimeError: alone":           "",
		trace:                           "",
		trace + "ValueError: no\nbye\n": "ValueError: no",
		trace + "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n" + trace + "OSError: b":                                                                "OSError: b",
		"[rank3]: " + strings.ReplaceAll(trace+"torch.OutOfMemoryError: CUDA out of memory", "\n", "\n[rank3]: "):                                                                                "torch.OutOfMemoryError: CUDA out of memory",
		trace + "ValueError: the cause\n" + trace + "RuntimeError: Connection closed by peer [127.0.0.1]:99\n" + trace + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n": "ValueError: the cause",
		"Traceback (most recent call last):\nsrun: error: gpu1: task 0: Exited with exit code 1\n  File \"x\"\nsluice ranks: node gpu1: rank 0 of 1 failed\nE: no":                               "E: no",
		trace + "ConnectionResetError: only this":       "ConnectionResetError: only this",
		trace + "E: " + strings.Repeat("x", 1000):       "E: " + strings.Repeat("x", 294) + "...",
		"Traceback (most recent call last): not really": "",
	} {
		if got := culprit(strings.Split(text, "\n")); got != want {
			t.Errorf("%q:\n%q, want %q", text, got, want)
		}
	}
}

func FuzzCulprit(f *testing.F) {
	f.Add("a: Traceback (most recent call last):\na:  x\na: E")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		if got := culprit(lines); len(got) > 300 {
			t.Errorf("%d bytes", len(got))
		}
		if got := spoken(lines); len(got) > lastLines {
			t.Errorf("%d lines", len(got))
		}
	})
}

// TestSpoken: what a terminal would show at the end, without sluice's own lines.
func TestSpoken(t *testing.T) {
	var text []string
	for i := range 40 {
		text = append(text, fmt.Sprint("line ", i), "", "  \r")
	}
	text = append(text, "  0%\r 50%\r100%\r", Banner{Job: 1}.String(), "end")
	got := spoken(text)
	if len(got) != lastLines || got[0] != "line 22" || got[18] != "100%" || got[19] != "end" {
		t.Errorf("%q", got)
	}
}
