package lane

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/sharing"
)

// TestSharesByType: what lanes measured on one type of GPUs says nothing of another. An answer without a type, as an
// older sluice wrote it, counts until there is one for the type.
func TestSharesByType(t *testing.T) {
	folder := t.TempDir()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	hubOn := func(kind string) *hub {
		l := &lane{Config: Config{Sweep: folder, Stdout: null, Stderr: null, Now: time.Now}, vars: map[string]string{"SLUICE_GPUS": "1", "SLUICE_GPU_TYPE": kind}, sweep: sweep.Sweep{PerGPU: 4}}
		return newHub(l)
	}
	follows := func(kind string, want int) {
		t.Helper()
		h := hubOn(kind)
		if err := h.shares(); err != nil {
			t.Fatal(err)
		}
		got := 0
		if answer, settled := h.decider.Settled(); settled {
			got = answer.Trials
		}
		if got != want {
			t.Errorf("a lane on %q runs %d trials at once, want %d (0: it measures)", kind, got, want)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	follows("a100", 0)
	settled := hubOn("a100")
	settled.decider = sharing.New(4, time.Second)
	settled.decider.Follow(sweep.Sharing{Trials: 2})
	if err := settled.shares(); err != nil {
		t.Fatal(err)
	}
	var written sweep.Sharing
	if data, err := os.ReadFile(filepath.Join(folder, "sharing.1.a100.json")); err != nil || json.Unmarshal(data, &written) != nil || written.Type != "a100" || written.Trials != 2 {
		t.Errorf("%s, %v", data, err)
	}
	follows("a100", 2)
	follows("t4", 0)
	follows("", 0)
	put("sharing.1.json", `{"version":1,"gpus":1,"trials":4}`)
	follows("t4", 4)
	follows("", 4)
	follows("../x", 4) // no type that can be part of a file's name
	follows("a100", 2)
	put("sharing.1.t4.json", `{"version":1,"gpus":1,"type":"t4","trials":1}`)
	follows("t4", 1)
	put("sharing.1.h100.json", `{"version":1,"gpus":1,"type":"t4","trials":1}`) // not what its name says
	follows("h100", 4)
}
