package main

import (
	"os"
	"testing"
)

// TestProgressOnAnyTerminal: a terminal that does not know its width, as one of a container,
// shows how far a replay is; a file or a pipe does not.
func TestProgressOnAnyTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo terminal here: ", err)
	}
	defer terminal.Close()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if wide, none := newProgress(terminal, 1).columns, newProgress(file, 1).columns; wide != 80 || none != 0 {
		t.Errorf("%d columns on a terminal, %d in a file; want 80 and 0", wide, none)
	}
}
