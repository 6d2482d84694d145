package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
)

// TestCreate: of many writers of one name one succeeds, and every reader gets the
// complete content of that one, or nothing.
func TestCreate(t *testing.T) {
	d, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var done sync.WaitGroup
	var winner atomic.Int64
	for i := range 20 {
		done.Go(func() {
			switch err := d.Create("first", fmt.Appendf(nil, "%04d", i), 0o644); {
			case err == nil && !winner.CompareAndSwap(0, int64(i)+1):
				t.Error("two succeeded")
			case err != nil && !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
			if data, err := d.Read("first", 10); err != nil || len(data) != 4 {
				t.Errorf("read %q, %v", data, err)
			}
		})
	}
	done.Wait()
	if data, _ := d.Read("first", 10); string(data) != fmt.Sprintf("%04d", winner.Load()-1) {
		t.Errorf("holds %q, the winner was %d", data, winner.Load()-1)
	}
	if names, _ := d.Names(10); len(names) != 1 {
		t.Errorf("left: %q", names)
	}
	if err := d.Create("../x", nil, 0o644); !errors.Is(err, ErrName) {
		t.Errorf("%v", err)
	}
}
