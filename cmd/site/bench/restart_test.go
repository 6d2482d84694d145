package bench

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestLastRestart: the last release counts, and the passes asked for behind it.
func TestLastRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	text := `{"level":"debug","event":"act","job":3,"act":"start","time":"2026-01-02T12:00:00.000Z","message":"start job 3"}
{"level":"debug","event":"act","job":3,"act":"pass","time":"2026-01-02T12:00:01.000Z","message":"ask for a scheduling pass for job 3"}
{"level":"debug","event":"act","job":3,"act":"start","time":"2026-01-02T12:01:00.250Z","message":"start job 3"}
{"level":"debug","event":"act","job":4,"act":"start","time":"2026-01-02T12:01:01.000Z","message":"start job 4"}
{"level":"debug","event":"act","job":3,"act":"pass","time":"2026-01-02T12:01:02.000Z","message":"ask for a scheduling pass for job 3"}
{"level":"debug","event":"step","job":3,"time":"2026-01-02T12:01:02.000Z","message":"R6 release job"}
not JSON
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := lastRestart(path, 3)
	if err != nil || r.passes != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := r.toRunning([]float64{1, 1767355263.5}); math.Abs(got-3.25) > 0.001 {
		t.Errorf("%v s", got)
	}
	if _, err := lastRestart(path, 5); err == nil {
		t.Error("a release of job 5 was found")
	}
}
