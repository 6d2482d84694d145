package nvml_test

import (
	"os"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/nodes/nvml"
)

// TestRealGPU reads a real GPU. It needs NVIDIA's library and driver.
func TestRealGPU(t *testing.T) {
	env := map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}
	if list, said := os.LookupEnv("CUDA_VISIBLE_DEVICES"); said {
		env["CUDA_VISIBLE_DEVICES"] = list
	}
	g, err := nvml.Open(nvml.System(), env)
	if err != nil {
		t.Skipf("SKIPPED LOUDLY: no real GPU was looked at on this machine: %v", err)
	}
	defer g.Close()
	for range 14 {
		g.Look(time.Now())
		time.Sleep(5 * time.Second)
	}
	devices := g.Read()
	if len(devices) == 0 {
		t.Fatal("no devices")
	}
	for _, d := range devices {
		t.Logf("%+v", d)
		if d.UUID == "" || d.Name == "" || d.Memory <= 0 || d.MemoryUsed < 0 {
			t.Errorf("GPU %d: %+v", d.Index, d)
		}
		if !d.MIG && (d.Utilisation < 0 || d.Utilisation > 1) {
			t.Errorf("GPU %d: utilisation %v", d.Index, d.Utilisation)
		}
	}
}
