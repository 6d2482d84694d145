package checkpoint

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestLastWords(t *testing.T) {
	var lines []string
	for range 30 {
		lines = append(lines, "line \x1b[31m"+strings.Repeat("x", 30))
	}
	w := NewLastWords("killed\nby \x07signal KILL", append(lines, "the last"))
	if w.Why != "killed by  signal KILL" || len(w.Lines) != maxLastLines || w.Lines[19] != "the last" || strings.Contains(w.Lines[0], "\x1b") {
		t.Errorf("%+v", w)
	}
	w = NewLastWords(strings.Repeat("y", 5000), []string{"dropped", strings.Repeat("é", 5000), strings.Repeat("z", 500), "kept"})
	size := len(w.Why)
	for _, l := range w.Lines {
		size += len(l)
	}
	if size > maxLastWords || w.Lines[len(w.Lines)-1] != "kept" {
		t.Errorf("%d bytes, %q", size, w.Lines)
	}
	if w := NewLastWords("x", nil); w.Lines != nil {
		t.Errorf("%q", w.Lines)
	}
}

// TestLastWordsRead: what a job wrote itself is bounded and safe all the same.
func TestLastWordsRead(t *testing.T) {
	r := Runner{Version: 1, Job: 1, State: Exited, LastWords: &LastWords{Why: "\x1b[2J", Lines: []string{"a\nb", strings.Repeat("x", 9000)}}}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseRunner(data)
	if err != nil {
		t.Fatal(err)
	}
	if w := got.LastWords; strings.Contains(w.Why, "\x1b") || w.Lines[0] != "a b" || len(w.Lines[1]) > maxLastLine {
		t.Errorf("%+v", w)
	}
	r.LastWords.Lines = make([]string, maxLastLines+1)
	data, _ = json.Marshal(r)
	if _, err := ParseRunner(data); err == nil || !strings.Contains(err.Error(), "at most 20") {
		t.Errorf("%v", err)
	}
}
