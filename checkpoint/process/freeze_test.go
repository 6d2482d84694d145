package process

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestFreeze: a tree that counts stands still, one that starts processes all the time as
// well, and goes on where it stood.
func TestFreeze(t *testing.T) {
	for name, script := range map[string]string{
		"one":           `n=0; while :; do n=$((n+1)); echo $n >COUNT.new; mv COUNT.new COUNT; done`,
		"starts others": `n=0; while :; do n=$((n+1)); ( sleep 0.01 & wait; echo $n >COUNT.new; mv COUNT.new COUNT ); done & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			count := filepath.Join(dir, "COUNT")
			if _, err := family.Start(Command{Argv: []string{"/bin/bash", "-c", "cd " + dir + "; " + script}}); err != nil {
				t.Fatal(err)
			}
			read := func() string { b, _ := os.ReadFile(count); return string(b) }
			awaitFile(t, count)
			for range 20 {
				family.Freeze(patience, nil)
				was := read()
				time.Sleep(30 * time.Millisecond)
				if now := read(); now != was {
					t.Fatalf("went on from %s to %s", strconv.Quote(was), now)
				}
				family.Thaw()
				for range 500 {
					if read() != was {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				if read() == was {
					t.Fatalf("does not go on from %s", was)
				}
			}
			nobodyLeft(t)
		})
	}
}

// TestFreezeLeavesWhoStoodStill: a process that was stopped by others is not continued by
// a thaw.
func TestFreezeLeavesWhoStoodStill(t *testing.T) {
	up := filepath.Join(t.TempDir(), "up")
	python(t, "UP="+strconv.Quote(up)+`
import os, signal, time
open(UP, "a").write(f"{os.getpid()}\n"); os.kill(os.getpid(), signal.SIGSTOP)
open(UP, "a").write("on\n"); time.sleep(1000)`)
	pid := pids(t, up, 1)[0]
	for range 500 {
		if e, _ := see(pid); e.state == 'T' {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	family.Freeze(patience, nil)
	family.Thaw()
	time.Sleep(50 * time.Millisecond)
	if e, there := see(pid); !there || e.state != 'T' {
		t.Errorf("it is %c", e.state)
	}
	nobodyLeft(t)
}
