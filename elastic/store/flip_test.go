package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// flip is one change of one byte in one of a store's files.
type flip struct {
	file string // "", or SQLite's suffix
	at   int
	mask byte
}

func (f flip) String() string {
	return fmt.Sprintf("sluice.db%s byte %d ^ %#02x", f.file, f.at, f.mask)
}

// image is a store's files, by suffix.
type image map[string][]byte

// full makes an image with something in every table. Killed, it is as after kill -9: the last
// transactions are only in the log.
func full(t *testing.T, killed bool) (image, string) {
	t.Helper()
	root := disktest.Scratch(t)
	y := newStory(root)
	if err := y.open(); err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		steps := []func() error{
			y.intend(elastic.JobID(10*n+1), elastic.JobID(10*n+2)), y.save(9*n+1, 9*n+9, n%2 == 0), y.history(2*n+1, 4),
			y.speeds("m", 20), y.speeds("n", 3), y.health(4, n), y.credits(6, n+1), y.end(elastic.JobID(10*n + 1)), y.advance(elastic.JobID(10*n+2), elastic.Requeued),
		}
		for _, step := range steps {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	said, err := y.dump()
	if err != nil {
		t.Fatal(err)
	}
	if !killed {
		err = y.shutdown()
	}
	out := image{}
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		if raw, e := os.ReadFile(y.path + suffix); e == nil {
			out[suffix] = raw
		}
	}
	if killed {
		err = errors.Join(err, y.shutdown())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, said
}

// write puts the image's files into an empty folder, with one byte flipped.
func (m image) write(root string, f flip) error {
	dir := filepath.Join(root, "state")
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return err
	}
	for suffix, raw := range m {
		if suffix == f.file && f.mask != 0 {
			raw = bytes.Clone(raw)
			raw[f.at] ^= f.mask
		}
		if err := os.WriteFile(filepath.Join(dir, "sluice.db"+suffix), raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// verdicts count the results of flipped bytes.
type verdicts struct {
	same, aside, refused atomic.Int64
	why                  atomic.Value // of the last refusal
}

// try opens the flipped image. It has to return what it returned before, or be set aside with a
// notice, or be refused with a message; anything else is a failure.
func (v *verdicts) try(m image, root, want string, f flip) error {
	if err := m.write(root, f); err != nil {
		return err
	}
	said, notices, err := opened(root)
	var e *Error
	switch {
	case errors.As(err, &e) && e.Hint != "":
		v.refused.Add(1)
		v.why.Store(fmt.Sprintf("%v: %v", f, err))
	case err != nil:
		return fmt.Errorf("%v: refused without a remedy: %w", f, err)
	case slices.ContainsFunc(notices, func(n string) bool { return strings.Contains(n, "is kept as") }):
		v.aside.Add(1)
		if kept, _ := filepath.Glob(filepath.Join(root, "state", "sluice.db.corrupt-*")); len(kept) == 0 {
			return fmt.Errorf("%v: nothing was kept", f)
		}
	case said != want:
		return fmt.Errorf("%v: a wrong answer, notices %q\n%s\nwant\n%s", f, notices, said, want)
	default:
		v.same.Add(1)
	}
	return nil
}

// tryAll tries flips in as many folders as there are processors.
func (v *verdicts) tryAll(t *testing.T, m image, want string, flips []flip) {
	t.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		root := disktest.Scratch(t)
		wg.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(flips) && !t.Failed(); n = int(next.Add(1)) - 1 {
				if err := v.try(m, root, want, flips[n]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// masks flip one bit, all bits, or some.
func mask(rng *rand.Rand, round int) byte {
	switch round % 3 {
	case 0:
		return 1 << rng.IntN(8)
	case 1:
		return 0xff
	}
	return byte(1 + rng.IntN(255))
}

// draw makes flips: every byte of the first page and of the log's and index's headers, and as
// many again elsewhere, at least one byte in a hundred. An ordinary run, with count 0, takes
// every byte of the headers, every second byte of the index's, which exists twice, and one in
// many of the rest.
func draw(m image, count int) []flip {
	rng := rand.New(rand.NewPCG(3, 4))
	heads := map[string]int{"": 4096, "-wal": logHeader + frameHeader, "-shm": indexFilled + 8, ".lock": 1 << 10}
	var head, rest []flip
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		for at := range m[suffix] {
			switch {
			case at < heads[suffix]:
				if count > 0 || at < 128 && (suffix != "-shm" || at%2 == 0) || at%128 == 1 {
					head = append(head, flip{file: suffix, at: at})
				}
			case suffix == "" || suffix == "-wal": // the index's own table is rebuilt
				rest = append(rest, flip{file: suffix, at: at})
			}
		}
	}
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	others := 40
	if count > 0 {
		others = min(len(rest), max(len(rest)/100, count-len(head)))
	}
	flips := append(slices.Clone(head), rest[:others]...)
	for round := 1; len(flips) < count; round++ { // with other masks
		flips = append(flips, head...)
		flips = append(flips, rest[:min(len(rest), len(head))]...)
	}
	for n := range flips {
		flips[n].mask = mask(rng, n+n/len(head))
	}
	return flips
}

// Every byte of the header pages and a part of the rest is flipped: of a store that was closed,
// and of one whose daemon was killed.
func TestFlippedBytes(t *testing.T) {
	var v verdicts
	total := 0
	for _, killed := range []bool{false, true} {
		m, want := full(t, killed)
		if _, ok := m["-shm"]; ok != killed {
			t.Fatalf("killed: %v, and the log's index is there: %v", killed, ok)
		}
		if err := v.try(m, disktest.Scratch(t), want, flip{}); err != nil {
			t.Fatalf("nothing flipped: %v", err)
		}
		flips := draw(m, campaign(t, 0)/2)
		total += len(flips)
		v.tryAll(t, m, want, flips)
	}
	counted(t, "store-byte-flips", total)
	counted(t, "store-byte-flips-harmless", int(v.same.Load()))
	counted(t, "store-byte-flips-set-aside", int(v.aside.Load()))
	t.Logf("reliability: store-byte-flips-refused %d", v.refused.Load())
	t.Log("the last refusal:", v.why.Load())
}

// A flip in an index hides a row from one query and not from another. All pages of the indexes,
// which are few, are tried.
func TestFlippedIndexes(t *testing.T) {
	m, want := full(t, false)
	root := disktest.Scratch(t)
	if err := m.write(root, flip{}); err != nil {
		t.Fatal(err)
	}
	conn := raw(t, newStory(root).path, "SELECT 1")
	rows, err := conn.QueryContext(never, "SELECT rootpage FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var flips []flip
	for rows.Next() {
		var page int
		if err := rows.Scan(&page); err != nil {
			t.Fatal(err)
		}
		content := m[""][4096*(page-1) : 4096*page]
		for at, b := range content {
			if b != 0 && (at%32 == 0 || campaign(t, 0) > 0) {
				flips = append(flips, flip{at: 4096*(page-1) + at, mask: 1})
			}
		}
	}
	rows.Close()
	conn.Close()
	var v verdicts
	v.tryAll(t, m, want, flips)
	counted(t, "store-index-flips", len(flips))
}

// A byte that flips while the daemon runs is noticed when the row is read, and the daemon is
// told to stop.
func TestFlipWhileRunning(t *testing.T) {
	m, _ := full(t, false)
	root := disktest.Scratch(t)
	if err := m.write(root, flip{}); err != nil {
		t.Fatal(err)
	}
	s := must(t, filepath.Join(root, "state", "sluice.db"))
	if err := s.Damage(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(never, "UPDATE jobs SET name = 'other' WHERE token = 'token7'"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Jobs(never, noon.AddDate(-1, 0, 0))
	refused(t, err, ErrCorrupt, "read jobs", "a row of jobs does not match its sum", "restart sluiced")
	if !errors.Is(s.Damage(), ErrCorrupt) {
		t.Errorf("the store does not remember it: %v", s.Damage())
	}
}

// A file that was removed or replaced while it was open is not written to any more.
func TestFileReplacedWhileRunning(t *testing.T) {
	m, _ := full(t, false)
	for name, spoil := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".away"), os.WriteFile(path, m[""], 0o600))
		},
	} {
		root := disktest.Scratch(t)
		if err := m.write(root, flip{}); err != nil {
			t.Fatal(err)
		}
		s := must(t, filepath.Join(root, "state", "sluice.db"))
		if err := spoil(s.path); err != nil {
			t.Fatal(err)
		}
		err := s.SaveJobs(never, []journal.JobRecord{{Token: "x"}})
		refused(t, err, ErrCorrupt, "removed or replaced", "restart sluiced")
		if s.Damage() == nil {
			t.Errorf("%s: the store does not remember it", name)
		}
	}
}
