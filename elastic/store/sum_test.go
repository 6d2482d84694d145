package store

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
)

// Damage that leaves every row valid by itself, and all of SQLite's structures: rows that
// vanish, reappear or are exchanged.
func TestRowsAreCounted(t *testing.T) {
	m, _ := full(t, false)
	for _, spoil := range []string{
		"DELETE FROM jobs WHERE token = 'token7'",
		"DELETE FROM samples WHERE id = 5",
		"DELETE FROM samples; DELETE FROM segments; DELETE FROM intents; DELETE FROM jobs; DELETE FROM complaints",
		"DELETE FROM complaints WHERE node = 'gpu2'",
		"UPDATE complaints SET muted = 1 - muted",
		"UPDATE intents SET id = 1000 WHERE id = 1",
		"INSERT INTO samples SELECT id + 900, model, gpus, nodes, seconds, units, at, sum, kind, split, beside FROM samples",
		"UPDATE jobs SET (id, sum) = (SELECT id, sum FROM jobs WHERE token = 'token8') WHERE token = 'token7'",
		"DELETE FROM tally WHERE of = 'segments'",
		"DELETE FROM tally",
		"UPDATE tally SET last = 0 WHERE of = 'intents'",
		"UPDATE tally SET mix = 0",
	} {
		root := disktest.Scratch(t)
		path := newStory(root).path
		if err := m.write(root, flip{}); err != nil {
			t.Fatal(err)
		}
		raw(t, path, spoil).Close()
		s, notices := reopen(t, path)
		if left, _ := filepath.Glob(path + ".corrupt-*-rows"); len(left) != 1 || len(notices) != 1 || !strings.Contains(notices[0], left[0]) {
			t.Errorf("%s: set aside %v, notices %q", spoil, left, notices)
		}
		if jobs, err := s.Jobs(never, noon.AddDate(-1, 0, 0)); err != nil || len(jobs) > 0 {
			t.Errorf("%s: %d jobs, %v", spoil, len(jobs), err)
		}
	}
}

// The database is gone, and its log is not: the log is never combined with another database.
func TestLogWithoutItsDatabase(t *testing.T) {
	m, _ := full(t, true)
	root := disktest.Scratch(t)
	path := newStory(root).path
	delete(m, "")
	if err := m.write(root, flip{}); err != nil {
		t.Fatal(err)
	}
	_, notices := reopen(t, path)
	aside := path + ".corrupt-20260304T120000Z-missing"
	if len(notices) != 1 || !strings.Contains(notices[0], "the file is gone, and its write-ahead log is not") || !strings.Contains(notices[0], aside) {
		t.Errorf("notices %q", notices)
	}
	if raw, err := os.ReadFile(aside + "-wal"); err != nil || len(raw) != len(m["-wal"]) {
		t.Errorf("the log was not kept: %d bytes, %v", len(raw), err)
	}
}

// The log, or its end, is gone, with acknowledged transactions.
func TestLogCutOff(t *testing.T) {
	for _, left := range []float64{-1, 0, 0.00001, 0.5, 0.999} {
		m, _ := full(t, true)
		root := disktest.Scratch(t)
		path := newStory(root).path
		if left < 0 {
			delete(m, "-wal")
		} else {
			frames, _, err := readIndexOf(t, m)
			if err != nil {
				t.Fatal(err)
			}
			used := logHeader + int(frames.frames)*(frameHeader+4096) // after it are frames of an earlier round
			m["-wal"] = m["-wal"][:int(float64(used)*left)]
		}
		if err := m.write(root, flip{}); err != nil {
			t.Fatal(err)
		}
		_, notices := reopen(t, path)
		if len(notices) != 1 || !strings.Contains(notices[0], path+".corrupt-20260304T120000Z-log") {
			t.Errorf("%v of the log left: notices %q", left, notices)
		}
	}
}

func readIndexOf(t *testing.T, m image) (index, bool, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index")
	if err := os.WriteFile(path, m["-shm"], 0o600); err != nil {
		t.Fatal(err)
	}
	return readIndex(path)
}

// A value has the same sum when bound and when read, and no other value has it.
func TestRowSum(t *testing.T) {
	seen := map[int64]int{}
	for n, values := range [][]any{
		{}, {nil}, {""}, {nil, nil}, {"", ""}, {"a", "b"}, {"ab", ""}, {"", "ab"}, {int64(1)}, {int64(-1)}, {1.0}, {"1"}, {math.Inf(1)}, {int64(0)}, {0.0},
	} {
		sum, err := rowSum("jobs", values)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[sum]; ok {
			t.Errorf("rows %d and %d have one sum", other, n)
		}
		seen[sum] = n
	}
	for _, pair := range [][2]any{{true, int64(1)}, {false, int64(0)}, {int32(7), int64(7)}, {math.Copysign(0, -1), 0.0}} {
		a, err1 := rowSum("jobs", []any{pair[0]})
		b, err2 := rowSum("jobs", []any{pair[1]})
		if a != b || err1 != nil || err2 != nil {
			t.Errorf("%v bound and %v read have different sums: %v, %v", pair[0], pair[1], err1, err2)
		}
	}
	if _, err := rowSum("jobs", []any{struct{}{}}); err == nil {
		t.Error("a value that cannot be stored has a sum")
	}
}
