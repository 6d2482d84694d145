package supervise

import (
	"maps"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestVars(t *testing.T) {
	got := Vars([]string{"A=1", "B=x=y", "EMPTY=", "no entry", "A=2"})
	if want := (map[string]string{"A": "2", "B": "x=y", "EMPTY": ""}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRestarts(t *testing.T) {
	for count, want := range map[string]int{"": 0, "0": 0, "3": 3, "often": 0} {
		if got := Restarts(map[string]string{"SLURM_RESTART_COUNT": count}); got != want {
			t.Errorf("%q: %d, want %d", count, got, want)
		}
	}
	if got := Restarts(nil); got != 0 {
		t.Errorf("not set: %d", got)
	}
}

func TestDefault(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: time.Second, -1: time.Second, time.Minute: time.Minute} {
		if Default(&given, time.Second); given != want {
			t.Errorf("got %v, want %v", given, want)
		}
	}
}

// TestBegin: signals that would end this process are received, the usual ones and the
// requested ones, and the environment can be looked up.
func TestBegin(t *testing.T) {
	s, err := Begin([]string{"A=1"}, syscall.SIGCONT)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Vars["A"] != "1" {
		t.Errorf("environment: %v", s.Vars)
	}
	for _, sent := range []syscall.Signal{syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGALRM, syscall.SIGCONT} {
		if err := syscall.Kill(os.Getpid(), sent); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-s.Signals:
			if got != sent {
				t.Errorf("sent %v, received %v", sent, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%v is not received", sent)
		}
	}
}
