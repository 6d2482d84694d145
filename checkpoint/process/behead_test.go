package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestBehead: a script that waits for a program of the name does not go on behind it,
// whatever it makes of SIGTERM; the program lives on and ends by itself.
func TestBehead(t *testing.T) {
	for name, trap := range map[string]string{"plain": "", "traps": "trap 'echo trapped' TERM; ", "ignores": "trap '' TERM; "} {
		t.Run(name, func(t *testing.T) {
			f := family
			dir := t.TempDir()
			program, on, done := filepath.Join(dir, "srun"), filepath.Join(dir, "on"), filepath.Join(dir, "done")
			text := "#!/bin/sh\ntrap '' TERM\ntouch " + on + "\nwhile [ -e " + on + " ]; do sleep 0.02; done\ntouch " + done + "\n"
			if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			wrong := filepath.Join(dir, "wrong")
			c, err := f.Start(Command{Argv: []string{"/bin/bash", "-c", trap + "( " + program + " && touch " + wrong + " ); touch " + wrong}})
			if err != nil {
				t.Fatal(err)
			}
			awaitFile(t, on)
			if !f.Behead("srun", 100*time.Millisecond) {
				t.Error("no srun was found")
			}
			<-c.Done()
			if len(f.Named("srun")) == 0 { // two in the moment in which it starts sleep
				t.Error("the program did not live on")
			}
			os.Remove(on)
			awaitFile(t, done)
			if left := f.KillAll(time.Second); len(left) > 0 {
				t.Error(left)
			}
			if _, err := os.Stat(wrong); err == nil {
				t.Error("the script went on")
			}
			if f.Behead("srun", time.Millisecond) {
				t.Error("found one that is gone")
			}
		})
	}
}

// TestBeheadStopsWhatWaits: a script whose program ends while the script above it is ended does not
// go on.
func TestBeheadStopsWhatWaits(t *testing.T) {
	f := family
	dir := t.TempDir()
	program, on, done, wrong := filepath.Join(dir, "srun"), filepath.Join(dir, "on"), filepath.Join(dir, "done"), filepath.Join(dir, "wrong")
	text := "#!/bin/sh\ntrap '' TERM\ntouch " + on + "\nwhile [ -e " + on + " ]; do sleep 0.02; done\ntouch " + done + "\n"
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := f.Start(Command{Argv: []string{"/bin/bash", "-c", "( " + program + "; touch " + wrong + " ); true"}})
	if err != nil {
		t.Fatal(err)
	}
	awaitFile(t, on)
	go func() {
		<-c.Done() // the script above
		os.Remove(on)
	}()
	f.Behead("srun", 500*time.Millisecond)
	awaitFile(t, done)
	time.Sleep(100 * time.Millisecond) // what went on would have by now
	if left := f.KillAll(time.Second); len(left) > 0 {
		t.Error(left)
	}
	if _, err := os.Stat(wrong); err == nil {
		t.Error("the script went on")
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for range 500 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not appear", path)
}
