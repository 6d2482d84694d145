package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLastLines: the last lines are those that splitting the whole finds.
func TestLastLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"a", "\n", "\n\n", "bc\n", strings.Repeat("x", block-1), strings.Repeat("y", block) + "\n"})).Draw(t, "words")
		n := rapid.IntRange(1, 8).Draw(t, "n")
		text := strings.Join(words, "")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := toLastLines(file, n); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(file)
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		want := strings.Join(lines[max(len(lines)-n, 0):], "")
		if err != nil || string(got) != want {
			t.Fatalf("%d lines: %d bytes, %v, want %d", n, len(got), err, len(want))
		}
	})
}
