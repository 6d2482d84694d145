package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// TestReadWhileReplaced: a reader never takes a file for a forged one only because
// its writer replaced it at that moment.
func TestReadWhileReplaced(t *testing.T) {
	dir := t.TempDir()
	d, err := checkpoint.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	stop, stopped := make(chan bool), make(chan bool)
	replace := func() {
		next := filepath.Join(dir, "next")
		if os.WriteFile(next, []byte("{}"), 0o600) == nil {
			_ = os.Rename(next, filepath.Join(dir, "word"))
		}
	}
	replace()
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				replace()
			}
		}
	}()
	for range 60000 {
		if _, err := d.Read("word", 100); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-stopped
}
