package control

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// TestShortageIsLoggedOnce: F17. A listener without file descriptors logs it once and continues;
// an error that is not temporary is returned to its caller.
func TestShortageIsLoggedOnce(t *testing.T) {
	var said []string
	s := shortage{log: func(err error) { said = append(said, err.Error()) }}
	full := &net.OpError{Op: "accept", Net: "unix", Err: syscall.EMFILE}
	for range 1000 {
		if !s.passing(full) {
			t.Fatal("it does not pass")
		}
	}
	if len(said) != 1 {
		t.Errorf("%d lines for one shortage: %q", len(said), said)
	}
	if first, second := s.passing(nil), s.passing(nil); first || second || len(said) != 2 {
		t.Errorf("its end: %q", said)
	}
	if s.passing(net.ErrClosed) || s.passing(errors.New("else")) || len(said) != 2 {
		t.Errorf("a closed listener: %q", said)
	}
	if !s.passing(full) || len(said) != 3 {
		t.Errorf("the second shortage: %q", said)
	}
}
