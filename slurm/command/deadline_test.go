package command

import (
	"testing"
	"time"
)

// A program that never answers is ended at its deadline. The bound here is far above it,
// for slow machines.
func TestNobodyWaitsForEver(t *testing.T) {
	s := newStubs(t)
	for _, name := range programs {
		s.set(name, "exec sleep 300")
	}
	c, err := New(Config{Dir: s.dir, Timeout: 200 * time.Millisecond, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"a query":  func() error { _, err := c.Jobs(t.Context()); return err },
		"a change": func() error { return c.RequeueHold(t.Context(), 7) },
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() { done <- call() }()
			select {
			case err := <-done:
				if err == nil {
					t.Error("no error")
				}
			case <-time.After(25 * time.Second):
				t.Fatal("still waits")
			}
		})
	}
}
