package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestLastWordsAreShown by show and explain, each line harmless.
func TestLastWordsAreShown(t *testing.T) {
	j := wire.Job{JobID: 7, Ended: true, State: "FAILED", LastWords: &wire.LastWords{
		Why: "exit code 1; rank 3 on node gpu2 failed first", Lines: []string{"epoch 1", "ValueError: \x1b[31mno"}}}
	const want = "exit code 1; rank 3 on node gpu2 failed first\n epoch 1\n ValueError: \\x1b[31mno\n"
	var shown, explained bytes.Buffer
	if err := printJob(&shown, j, time.Unix(1e9, 0), false, false); err != nil {
		t.Fatal(err)
	}
	if err := explain(&explained, wire.Explanation{Job: j}); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"show": shown.String(), "explain": explained.String()} {
		_, rest, _ := strings.Cut(out, "Last words")
		var got []string
		for _, line := range strings.SplitAfter(rest, "\n")[:3] {
			got = append(got, " "+strings.TrimLeft(line, " "))
		}
		if strings.TrimPrefix(strings.Join(got, ""), " ") != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestPriorityIsShown of a job that waits, and of no other.
func TestPriorityIsShown(t *testing.T) {
	for priority, want := range map[int64]bool{4294901757: true, 0: false} {
		var out bytes.Buffer
		if err := printJob(&out, wire.Job{JobID: 7, State: "PENDING", Priority: priority}, time.Unix(1e9, 0), false, false); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "4294901757 (of the jobs that wait, the highest starts first)"); got != want || strings.Contains(out.String(), "Priority") != want {
			t.Errorf("priority %d: %s", priority, out.String())
		}
	}
}
