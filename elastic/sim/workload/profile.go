package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Profiles is a directory of measured applications, one folder each, in the
// format of the Pollux artefact (Qiao et al., OSDI 2021, simulator/traces):
// placements.csv, scalability.csv and one validation-BATCH.csv for each global
// batch size. It may be shared by workloads and used from several goroutines.
type Profiles struct {
	dir    string
	mu     sync.Mutex
	read   map[string]*Profile
	speeds map[pair]*Fixed
}

type pair struct {
	profile *Profile
	batch   int
}

// OpenProfiles opens the directory; an application is read when it is first
// asked for.
func OpenProfiles(dir string) (*Profiles, error) {
	names, err := folders(dir)
	if err != nil {
		return nil, fmt.Errorf("profiles: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("profiles: %s holds no APPLICATION/placements.csv; give the folder above the applications' own", dir)
	}
	return &Profiles{dir: dir, read: map[string]*Profile{}, speeds: map[pair]*Fixed{}}, nil
}

// folders names the applications of the directory, in order.
func folders(dir string) ([]string, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(escape(dir), "*", "placements.csv"))
	for i, p := range paths {
		paths[i] = filepath.Base(filepath.Dir(p))
	}
	return paths, err
}

// escape makes a path safe to be part of a pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Application returns the profile of an application.
func (p *Profiles) Application(name string) (*Profile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.read[name]; ok {
		return known, nil
	}
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("application %q: want the name of a folder in %s", cut(name), p.dir)
	}
	fresh, err := readProfile(filepath.Join(p.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		have, _ := folders(p.dir)
		return nil, fmt.Errorf("application %q: %w; %s has %s", cut(name), err, p.dir, strings.Join(have, ", "))
	}
	if err != nil {
		return nil, err
	}
	p.read[name] = fresh
	return fresh, nil
}

// Speeds returns the speeds of the application at a fixed global batch. The same
// question gets the same pointer.
func (p *Profiles) Speeds(application string, batch int) (*Fixed, error) {
	profile, err := p.Application(application)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := pair{profile, batch}
	if known, ok := p.speeds[key]; ok {
		return known, nil
	}
	fresh, err := profile.Fixed(batch)
	if err != nil {
		return nil, err
	}
	p.speeds[key] = fresh
	return fresh, nil
}

// Profile is one application as measured. It does not change once read.
type Profile struct {
	Name string
	// Epochs is how many it trains.
	Epochs int
	// MinLocal and MaxLocal bound the batch of one GPU in one pass.
	MinLocal, MaxLocal int
	// InitBatch and MaxBatch bound the global batch.
	InitBatch, MaxBatch int

	placements  map[place]line // by smallest rotation
	scalability []Measurement  // of more nodes
	grid        *grid          // every other split, by nodes and GPUs
	progress    *progress
}

// published is what the Pollux simulator states of its applications beside the
// measurements (simulator/applications.py): epochs, and a bound on the batch of
// one GPU where it is below the largest measured. Others train as many epochs as
// their validation files have rows.
var published = map[string]struct{ epochs, maxLocal int }{
	"bert": {epochs: 2}, "cifar10": {epochs: 100}, "ncf": {epochs: 10},
	"imagenet": {epochs: 90}, "deepspeech2": {epochs: 80}, "yolov3": {epochs: 50, maxLocal: 8},
}

func readProfile(dir string) (*Profile, error) {
	p := &Profile{Name: filepath.Base(dir), placements: map[place]line{}, grid: newGrid()}
	if err := p.readPlacements(filepath.Join(dir, "placements.csv")); err != nil {
		return nil, err
	}
	if err := p.readScalability(filepath.Join(dir, "scalability.csv")); err != nil {
		return nil, err
	}
	p.grid.finish()
	var err error
	if p.progress, err = readProgress(dir); err != nil {
		return nil, err
	}
	p.InitBatch, p.MaxBatch = p.progress.batches[0].size, p.progress.batches[len(p.progress.batches)-1].size
	p.Epochs = p.progress.rows
	known := published[p.Name]
	if known.epochs > p.Epochs {
		return nil, fmt.Errorf("%s: a validation file ends after %d rows; %s trains %d epochs", dir, p.Epochs, p.Name, known.epochs)
	}
	if known.epochs > 0 {
		p.Epochs = known.epochs
	}
	if known.maxLocal > 0 {
		p.MaxLocal = known.maxLocal
	}
	return p, nil
}

// Bounds of a profile's numbers. Those of nodes and GPUs bound the table that
// Fixed makes.
const (
	maxBatch  = 1 << 30
	maxStep   = 1e6 // seconds
	wideNodes = 1 << 8
	wideGPUs  = 1 << 10
)

// readPlacements reads step times of splits, each a digit a node.
func (p *Profile) readPlacements(path string) error {
	t, err := readTable(path, "placement", "local_bsz", "step_time", "sync_time")
	if err != nil {
		return err
	}
	type at struct {
		shape
		local int
	}
	sums := map[at]*mean{}
	p.MinLocal = math.MaxInt
	for t.next() {
		split, ok := digits(t.text("placement"))
		if !ok {
			t.bad("placement", fmt.Sprintf("want one digit from 1 to 9 a node, at most %d nodes", placedNodes))
			break
		}
		local, took := t.whole("local_bsz", 1, maxBatch), t.times()
		key := rotated(split)
		if !p.placements[key].free(local) {
			t.bad("local_bsz", "this placement has that batch already")
		}
		p.placements[key] = p.placements[key].with(local, took)
		p.MinLocal, p.MaxLocal = min(p.MinLocal, local), max(p.MaxLocal, local)
		where := at{shape{len(split), total(split)}, local}
		if sums[where] == nil {
			sums[where] = &mean{}
		}
		sums[where].add(took)
	}
	if t.err == nil && len(sums) == 0 {
		t.err = fmt.Errorf("%s: no rows", path)
	}
	for where, sum := range sums { // any order: each is set once
		p.grid.set(where.shape, where.local, sum.times())
	}
	return t.err
}

// readScalability reads step times by nodes and GPUs.
func (p *Profile) readScalability(path string) error {
	t, err := readTable(path, "num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time")
	if err != nil {
		return err
	}
	for t.next() {
		s := shape{t.whole("num_nodes", 1, wideNodes), t.whole("num_replicas", 1, wideGPUs)}
		local, took := t.whole("local_bsz", 1, maxBatch), t.times()
		p.grid.set(s, local, took)
		if m, ok := even(s, local, took); ok {
			p.scalability = append(p.scalability, m)
		}
	}
	return t.err
}

// times is a measured step: all of it, and the part of it spent waiting for the
// other GPUs, both in seconds.
type times struct{ step, sync float64 }

func (t *table) times() times {
	step := t.number("step_time", 1e-9, maxStep)
	return times{step, t.number("sync_time", 0, step)}
}

// mean averages steps.
type mean struct {
	sum   times
	count float64
}

func (m *mean) add(t times) {
	m.sum.step += t.step
	m.sum.sync += t.sync
	m.count++
}

func (m *mean) times() times { return times{m.sum.step / m.count, m.sum.sync / m.count} }

// splits returns the measured splits in order.
func (p *Profile) splits() []place {
	return slices.Sorted(maps.Keys(p.placements))
}
