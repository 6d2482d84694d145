package store

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
)

// sector is the unit that a disk writes completely or not at all, in bytes.
const sector = 512

// inode is a file on a disk that may lose power: what is certain, and what was written since
// the last sync.
type inode struct {
	safe  []byte
	loose []disktest.Call
	was   [][]byte // of the log's index, which is shared memory: its states since the last sync
}

// entry is a change of a folder that was not synced yet: name refers to that inode from now on
// or, with nil, does not exist any more.
type entry struct {
	name string
	file *inode
}

// platter is a disk with the store on it.
type platter struct {
	sync.Mutex
	root   string
	live   map[string]*inode // as programs see it
	safe   map[string]*inode // as after a power loss, if all of loose is lost
	loose  []entry
	lost   []loss
	step   int
	calls  int
	rng    *rand.Rand
	every  int  // number of outcomes tried per call
	thin   bool // tried are: nothing lost, as with kill -9, at one call in four, and random loss at one in two
	ignore bool // injected fault: syncs are lost too
	short  bool // the short story, on what hold put there
}

// loss is what a power loss at one call left, in one of its outcomes.
type loss struct {
	step     int // of the story, under way or, at its end, done
	boundary int // the number of the call
	call     string
	files    map[string][]byte
}

func newPlatter(root string, outcomes int) *platter {
	return &platter{root: root, live: map[string]*inode{}, safe: map[string]*inode{}, rng: rand.New(rand.NewPCG(1, 2)), every: outcomes}
}

// hold puts an image on the disk, all of it certain.
func (p *platter) hold(t *testing.T, m image) {
	t.Helper()
	if err := m.write(p.root, flip{}); err != nil {
		t.Fatal(err)
	}
	for suffix, raw := range m {
		file := &inode{safe: raw}
		if suffix == "-shm" {
			file.was = [][]byte{raw}
		}
		p.live[filepath.Join(p.root, "state", "sluice.db"+suffix)] = file
	}
	p.safe = maps.Clone(p.live)
}

// take records a call, and what a power loss right before it would leave.
func (p *platter) take(c disktest.Call) unix.Errno {
	p.Lock()
	defer p.Unlock()
	name := filepath.Join(p.root, "state", "sluice.db-shm")
	if index := p.live[name]; index != nil {
		if now, err := os.ReadFile(name); err == nil && (len(index.was) == 0 || !bytes.Equal(now, index.was[len(index.was)-1])) {
			index.was = append(index.was, now)
		}
	}
	for n := range p.every {
		if p.thin && (n == 0 && p.calls%4 > 0 || n == 2 && p.calls%2 > 0) {
			continue
		}
		p.lost = append(p.lost, p.lose(c.Kind+" "+filepath.Base(c.File), n))
	}
	p.calls++
	p.apply(c)
	return 0
}

// apply does what the call does.
func (p *platter) apply(c disktest.Call) {
	file := p.live[c.File]
	switch c.Kind {
	case "create":
		p.link(c.File, &inode{})
	case "remove":
		p.link(c.File, nil)
	case "rename":
		p.link(c.To, file)
		p.link(c.File, nil)
	case "write", "cut":
		if file != nil {
			file.loose = append(file.loose, c)
		}
	case "sync":
		if p.ignore {
			return
		}
		if file != nil {
			for _, c := range file.loose {
				file.safe = done(file.safe, c)
			}
			file.loose, file.was = nil, file.was[max(0, len(file.was)-1):]
			return
		}
		p.safe, p.loose = maps.Clone(p.live), nil // a folder; there is only one with files
	}
}

func (p *platter) link(name string, file *inode) {
	p.loose = append(p.loose, entry{name, file})
	if file == nil {
		delete(p.live, name)
	} else {
		p.live[name] = file
	}
}

// lose returns the n-th outcome of a power loss: 0 keeps everything, as kill -9 does; 1 keeps
// only what was synced; the others decide for every call at random.
func (p *platter) lose(call string, n int) loss {
	names := maps.Clone(p.safe)
	kept := p.rng.IntN(len(p.loose) + 1) // a journaling file system keeps their order
	if n < 2 {
		kept = len(p.loose) * (1 - n)
	}
	for _, e := range p.loose[:kept] {
		if e.file == nil {
			delete(names, e.name)
		} else {
			names[e.name] = e.file
		}
	}
	l := loss{p.step, p.calls, call, map[string][]byte{}}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		l.files[name] = p.survive(names[name], n)
	}
	return l
}

// survive returns a file's bytes after the power loss.
func (p *platter) survive(file *inode, n int) []byte {
	if len(file.was) > 0 { // it is undefined when shared memory is written back
		at := len(file.was) - 1
		if n > 0 {
			at = p.rng.IntN(len(file.was))
		}
		return file.was[at]
	}
	now := bytes.Clone(file.safe)
	for _, c := range file.loose {
		fate := p.rng.IntN(3)
		switch {
		case n == 0 || n > 1 && fate == 0:
			now = done(now, c)
		case n > 1 && fate == 1 && c.Kind == "write": // torn write
			for at := 0; at < len(c.Data); {
				size := min(sector-int((c.At+int64(at))%sector), len(c.Data)-at)
				if p.rng.IntN(2) == 0 {
					now = done(now, disktest.Call{Kind: "write", At: c.At + int64(at), Data: c.Data[at : at+size]})
				}
				at += size
			}
		}
	}
	return now
}

// done returns a file's bytes after a write or a truncation.
func done(raw []byte, c disktest.Call) []byte {
	end := int(c.At) + len(c.Data)
	if c.Kind == "cut" {
		return append(raw, make([]byte, max(0, end-len(raw)))...)[:end]
	}
	if end > len(raw) {
		raw = append(raw, make([]byte, end-len(raw))...)
	}
	copy(raw[c.At:], c.Data)
	return raw
}

// record plays the story on a platter and returns the contents of the store after every step.
func (p *platter) record(t *testing.T) (stood []string) {
	t.Helper()
	w := &disktest.Watch{Root: p.root, Seen: p.take}
	w.Do(t, func() {
		y := newStory(p.root)
		y.short = p.short
		for n, step := range y.steps() {
			p.Lock()
			p.step = n
			p.Unlock()
			if err := step(); err != nil {
				t.Errorf("step %d: %v", n, err)
				return
			}
			now, err := y.dump()
			if err != nil {
				t.Error(err)
			}
			if y.s == nil { // closed: same contents as before
				now = stood[n-1]
			}
			stood = append(stood, now)
		}
	})
	return stood
}

// fits returns what is wrong with the store that a power loss left: it has to open without a
// notice, with its contents before or after the step.
func (l loss) fits(t *testing.T, root string, stood []string) bool {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, "state")); err != nil {
		t.Fatal(err)
	}
	for name, raw := range l.files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said, notices, err := opened(root)
	before, behind := stood[max(l.step-1, 0)], stood[l.step]
	if err == nil && len(notices) == 0 && (said == before || said == behind) {
		return true
	}
	t.Logf("power lost at step %d, before %s: %v, notices %q\n%s\nwant\n%s\nor\n%s", l.step, l.call, err, notices, said, before, behind)
	return false
}

// The power fails before every call that writes: what was not synced is there, gone, or torn.
// No acknowledged transaction is missing, none is there in part, and the store opens without a
// notice.
func TestPowerLoss(t *testing.T) {
	outcomes := 3
	if n := campaign(t, 0); n > 0 {
		outcomes = max(4, min(256, n/300))
	}
	p := newPlatter(disktest.Scratch(t), outcomes)
	p.thin = outcomes == 3
	boundaries := p.lossesFit(t)
	counted(t, "store-power-loss-boundaries", boundaries)
	counted(t, "store-power-losses", len(p.lost))
}

// The same during the migration of a store of an earlier schema, after kill -9 and after a
// clean end.
func TestPowerLossInAMigration(t *testing.T) {
	boundaries, losses := 0, 0
	for _, name := range []string{"schema2-killed", "schema1", "schema2"} {
		outcomes := 2
		if campaign(t, 0) > 0 {
			outcomes = 24
		} else if boundaries > 0 {
			break // an ordinary run takes one
		}
		p := newPlatter(disktest.Scratch(t), outcomes)
		p.short, p.thin = true, outcomes == 2
		m, _ := earlier(t, name)
		p.hold(t, m)
		boundaries += p.lossesFit(t)
		losses += len(p.lost)
	}
	counted(t, "store-migration-power-loss-boundaries", boundaries)
	counted(t, "store-migration-power-losses", losses)
}

// lossesFit plays the story, opens what every power loss left, and returns at how many calls
// there was one.
func (p *platter) lossesFit(t *testing.T) int {
	t.Helper()
	stood := p.record(t)
	boundaries := map[int]bool{}
	for _, l := range p.lost {
		if !l.fits(t, p.root, stood) {
			t.FailNow()
		}
		boundaries[l.boundary] = true
	}
	return len(boundaries)
}

// A disk that loses synced data is detected: the test above can fail.
func TestPowerLossIsSeen(t *testing.T) {
	p := newPlatter(disktest.Scratch(t), 2)
	p.ignore = true
	stood := p.record(t)
	for _, l := range p.lost {
		if !l.fits(t, p.root, stood) {
			return
		}
	}
	t.Error("no sync was honoured, and nothing was missing")
}

// Every new folder is synced into its parent BEFORE anything is acknowledged.
func TestNewFoldersAreDurable(t *testing.T) {
	root := disktest.Scratch(t)
	synced := map[string]bool{} // by new folder
	w := &disktest.Watch{Root: root, Seen: func(c disktest.Call) unix.Errno {
		switch c.Kind {
		case "mkdir":
			synced[c.File] = false
		case "sync":
			for made := range synced {
				synced[made] = synced[made] || filepath.Dir(made) == c.File
			}
		}
		return 0
	}}
	w.Do(t, func() {
		s, _, err := Open(never, filepath.Join(root, "var", "lib", "sluice", "sluice.db"), noon)
		if err == nil {
			err = s.Shutdown()
		}
		if err != nil {
			t.Error(err)
		}
	})
	if len(synced) != 3 {
		t.Errorf("folders made: %v", synced)
	}
	for made, ok := range synced {
		if !ok {
			t.Errorf("a power loss may take away %s", made)
		}
	}
}
