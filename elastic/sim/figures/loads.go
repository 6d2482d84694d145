package figures

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// loads gives workloads by name; recordings are read once.
type loads struct {
	folder    string // of testbench A; "" = not there
	deadlines string // of testbench B; likewise
	mu        sync.Mutex
	read      map[string]workload.Workload
}

// get returns the workload at a multiple of its load. A recording has no seed of
// its own: the seed draws how it is scaled.
func (l *loads) get(name string, seed uint64, times float64) (workload.Workload, error) {
	w, err := l.original(name, seed)
	if err != nil || times == 1 {
		return w, err
	}
	w.Seed = seed
	return workload.Scale(w, times)
}

func (l *loads) original(name string, seed uint64) (workload.Workload, error) {
	name = strings.TrimSuffix(name, onTwoTypes)
	if trace, known := traces[name]; known {
		return workload.ReadElasticFlow(filepath.Join(l.deadlines, "traces", name+".csv"), filepath.Join(l.deadlines, "throughputs", trace.gpu))
	}
	if !strings.HasPrefix(name, recordedName) {
		c := clusterOf(name)
		return workload.Generate(name, seed, workload.Options{GPUs: c.nodes * c.gpus, PerNode: c.gpus})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w, known := l.read[name]; known {
		return w, nil
	}
	if l.folder == "" {
		return workload.Workload{}, fmt.Errorf("%s: testbench A's data is not there", name)
	}
	w, err := workload.ReadPollux(filepath.Join(l.folder, "workloads", name+".csv"), filepath.Join(l.folder, "profiles"))
	if err == nil {
		if l.read == nil {
			l.read = map[string]workload.Workload{}
		}
		l.read[name] = w
	}
	return w, err
}
