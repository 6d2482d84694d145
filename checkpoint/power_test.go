package checkpoint

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
)

// inode is a file or folder on a disk that may lose power: as it is, and as it was
// when it was synced last.
type inode struct {
	folder    bool
	now, safe []byte
}

// disk keeps what a power loss would leave. It promises what POSIX does and no more:
// a file's bytes are certain once the file is synced, a name once its folder is.
type disk struct {
	live, safe map[string]*inode
	step       atomic.Int32
	lost       []loss
}

// loss is what a power loss before one call left.
type loss struct {
	step  int // the steps of the story that were done
	call  string
	how   string
	files map[string]*inode // with the bytes they have then as now
}

// take notes what a power loss right before the call would leave, and does the call.
func (d *disk) take(c disktest.Call) unix.Errno {
	call := c.Kind + " " + filepath.Base(c.File)
	d.lose(call, "all that was not synced is gone", d.safe, func(n *inode) []byte { return n.safe })
	d.lose(call, "names are there, bytes that were not synced are not", d.live, func(n *inode) []byte { return n.safe })
	d.lose(call, "killed", d.live, func(n *inode) []byte { return n.now })
	d.apply(c)
	return 0
}

func (d *disk) apply(c disktest.Call) {
	file := d.live[c.File]
	switch c.Kind {
	case "create":
		d.live[c.File] = &inode{}
	case "mkdir":
		d.live[c.File] = &inode{folder: true}
	case "remove":
		delete(d.live, c.File)
	case "rename":
		delete(d.live, c.File)
		d.live[c.To] = file
	case "write":
		end := int(c.At) + len(c.Data)
		file.now = append(slices.Clone(file.now), make([]byte, max(0, end-len(file.now)))...)
		copy(file.now[c.At:], c.Data)
	case "sync":
		if file != nil && !file.folder {
			file.safe = file.now
			return
		}
		in := func(name string, _ *inode) bool { return filepath.Dir(name) == c.File }
		maps.DeleteFunc(d.safe, in)
		for name, n := range d.live {
			if in(name, n) {
				d.safe[name] = n
			}
		}
	}
}

func (d *disk) lose(call, how string, names map[string]*inode, bytes func(*inode) []byte) {
	l := loss{int(d.step.Load()), call, how, map[string]*inode{}}
	for name, n := range names {
		l.files[name] = &inode{folder: n.folder, now: bytes(n)}
	}
	d.lost = append(d.lost, l)
}

// restore puts what was left into a folder in place of root.
func (l loss) restore(t *testing.T, root, to string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		if _, there := l.files[filepath.Dir(name)]; !there && filepath.Dir(name) != root {
			delete(l.files, name) // in a folder that is gone
			continue
		}
		p := filepath.Join(to, strings.TrimPrefix(name, root))
		var err error
		if l.files[name].folder {
			err = os.Mkdir(p, 0o755)
		} else {
			err = os.WriteFile(p, l.files[name].now, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// saved writes a checkpoint's files as programs do, which sync nothing, and commits it.
func saved(t *testing.T, s *Series, root string, sequence int) func() error {
	return func() error {
		folder := filepath.Join(root, Name(sequence))
		for _, sub := range []string{"", "optim", "optim/shards"} {
			if err := os.Mkdir(filepath.Join(folder, sub), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, sub, "state.bin"), []byte("state "+sub), 0o644); err != nil {
				return err
			}
		}
		return s.Commit(t.Context(), Name(sequence), Manifest{Step: int64(sequence), Created: noon, GPUs: 2})
	}
}

// The power goes before every call that writes, or the process is killed there. A
// checkpoint whose commit was acknowledged is whole, and a small file is as it was
// before the step that was under way, or as behind it.
func TestPowerLoss(t *testing.T) {
	root := disktest.Scratch(t)
	d := &disk{live: map[string]*inode{}, safe: map[string]*inode{}}
	dir := openDir(t, root)
	s := NewSeries(dir, job)
	words := func(text string) func() error {
		return func() error { return dir.Write("request.json", []byte(text), 0o644) }
	}
	steps := []func() error{saved(t, s, root, 1), words("the first"), saved(t, s, root, 2), words("another"), saved(t, s, root, 3)}
	newest := []string{"", Name(1), Name(1), Name(2), Name(2), Name(3)} // behind so many steps
	request := []string{"", "", "the first", "the first", "another", "another"}

	w := &disktest.Watch{Root: root, Seen: d.take}
	w.Do(t, func() {
		for n, step := range steps {
			if err := step(); err != nil {
				t.Errorf("step %d: %v", n, err)
			}
			d.step.Add(1)
		}
	})
	d.take(disktest.Call{Kind: "end"})
	for _, l := range d.lost {
		to := t.TempDir()
		l.restore(t, root, to)
		under := min(l.step+1, len(steps))
		c, skipped, err := NewSeries(openDir(t, to), job).Newest(t.Context())
		if err != nil || c.Name != newest[l.step] && c.Name != newest[under] {
			t.Errorf("%s before %s, behind step %d: the newest is %q, %v; %v", l.how, l.call, l.step, c.Name, skipped, err)
		}
		text, err := os.ReadFile(filepath.Join(to, "request.json"))
		if got := string(text); got != request[l.step] && got != request[under] || err == nil && got == "" {
			t.Errorf("%s before %s, behind step %d: the small file is %q", l.how, l.call, l.step, got)
		}
	}
	if len(d.lost) < 150 {
		t.Errorf("%d power losses: the story was not watched", len(d.lost))
	}
}
