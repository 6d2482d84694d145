package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func newest(t testing.TB, s *Series) (string, []Skip) {
	t.Helper()
	c, skipped, err := s.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.Name, skipped
}

func TestNewest(t *testing.T) {
	s, base := series(t)
	if name, skipped := newest(t, s); name != "" || len(skipped) != 0 {
		t.Fatalf("empty series: %q, %v", name, skipped)
	}
	for i := range 3 {
		save(t, s, base, i+1)
	}
	mkdir(t, filepath.Join(base, "00000004"))             // being written
	put(t, filepath.Join(base, "notes.txt"), "my own")    // none of ours
	put(t, filepath.Join(base, "00000005"), "not a dir")  // a file in a checkpoint's place
	os.Symlink("00000003", filepath.Join(base, "999999")) // no sequence
	name, skipped := newest(t, s)
	if name != "00000003" || len(skipped) != 2 || !errors.Is(skipped[1].Err, ErrUnfinished) || !errors.Is(skipped[0].Err, ErrNotRegular) {
		t.Errorf("got %q, skipped %v", name, skipped)
	}
}

// TestDamage does everything to the newest of two checkpoints that a crash, a
// bad disk or a careless user can do; the older one is what remains.
func TestDamage(t *testing.T) {
	for what, damage := range map[string]func(p string) error{
		"manifest gone":      func(p string) error { return os.Remove(p + "/manifest.json") },
		"manifest empty":     func(p string) error { return os.Truncate(p+"/manifest.json", 0) },
		"manifest cut":       func(p string) error { return os.Truncate(p+"/manifest.json", 100) },
		"manifest a link":    func(p string) error { return swapForLink(p + "/manifest.json") },
		"manifest a FIFO":    func(p string) error { os.Remove(p + "/manifest.json"); return mkfifo(p + "/manifest.json") },
		"manifest huge":      func(p string) error { return os.Truncate(p+"/manifest.json", maxManifest+1) },
		"file gone":          func(p string) error { return os.Remove(p + "/model.pt") },
		"file cut":           func(p string) error { return os.Truncate(p+"/model.pt", 3) },
		"file longer":        func(p string) error { return os.Truncate(p+"/model.pt", 3000) },
		"file changed":       func(p string) error { return os.WriteFile(p+"/model.pt", []byte("WEIGHTS of 00000002"), 0o644) },
		"file a link":        func(p string) error { return swapForLink(p + "/model.pt") },
		"file a FIFO":        func(p string) error { os.Remove(p + "/model.pt"); return mkfifo(p + "/model.pt") },
		"file a directory":   func(p string) error { os.Remove(p + "/model.pt"); return os.Mkdir(p+"/model.pt", 0o755) },
		"folder a link":      func(p string) error { return swapForLink(p + "/optim") },
		"checkpoint a link":  swapForLink,
		"another's manifest": func(p string) error { return replaceIn(p+"/manifest.json", token, other) },
		"another's job":      func(p string) error { return replaceIn(p+"/manifest.json", `"job": 42`, `"job": 43`) },
		"another's number":   func(p string) error { return replaceIn(p+"/manifest.json", `"sequence": 2`, `"sequence": 3`) },
		"later version":      func(p string) error { return replaceIn(p+"/manifest.json", `"version": 1`, `"version": 2`) },
		"path out":           func(p string) error { return replaceIn(p+"/manifest.json", `"model.pt"`, `"../00000001/model.pt"`) },
	} {
		t.Run(what, func(t *testing.T) {
			s, base := series(t)
			save(t, s, base, 1)
			name := save(t, s, base, 2)
			if err := damage(filepath.Join(base, name)); err != nil {
				t.Fatal(err)
			}
			got, skipped := newest(t, s)
			if got != "00000001" || len(skipped) != 1 || skipped[0].Name != name {
				t.Fatalf("resumes from %q, skipped %v", got, skipped)
			}
			if text := skipped[0].String(); strings.ContainsAny(text, "\n\x1b") {
				t.Errorf("reason unsafe to show: %q", text)
			}
		})
	}
}

func swapForLink(p string) error {
	if err := os.Rename(p, p+".moved"); err != nil {
		return err
	}
	return os.Symlink(filepath.Base(p)+".moved", p)
}

func replaceIn(p, from, to string) error {
	data, err := os.ReadFile(p)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(data), from, to, 1)
	if changed == string(data) {
		return errors.New("nothing to replace: " + from)
	}
	return os.WriteFile(p, []byte(changed), 0o644)
}

// TestMutations flips or cuts one byte somewhere in the newest checkpoint. It is
// then refused, or says exactly what it said before (the byte was white space
// or in a field that is not used to resume).
func TestMutations(t *testing.T) {
	s, base := series(t)
	save(t, s, base, 1)
	name := save(t, s, base, 2)
	before, err := s.Verify(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	refused, total := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		file := rapid.SampledFrom([]string{"manifest.json", "model.pt", "optim/state.bin"}).Draw(rt, "file")
		p := filepath.Join(base, name, file)
		old := slurp(t, p)
		defer os.WriteFile(p, []byte(old), 0o644)
		data := []byte(old)
		at := rapid.IntRange(0, len(data)-1).Draw(rt, "at")
		if rapid.Bool().Draw(rt, "cut") {
			data = data[:at]
		} else {
			data[at] ^= byte(1 << rapid.IntRange(0, 7).Draw(rt, "bit"))
		}
		if err := os.WriteFile(p, data, 0o644); err != nil {
			rt.Fatal(err)
		}
		total++
		c, err := s.Verify(t.Context(), name)
		if err != nil {
			refused++
			if got, _ := newest(t, s); got != "00000001" {
				rt.Fatalf("resumes from %q", got)
			}
			return
		}
		if file != "manifest.json" {
			rt.Fatalf("took a damaged %s", file)
		}
		if !slices.Equal(c.Manifest.Files, before.Manifest.Files) || c.Manifest.Job != before.Manifest.Job {
			rt.Fatalf("took other files: %+v", c.Manifest)
		}
	})
	t.Logf("%d of %d mutations refused", refused, total)
}

func TestVerifyStopsWithContext(t *testing.T) {
	s, base := series(t)
	save(t, s, base, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Newest(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func TestPrune(t *testing.T) {
	s, base := series(t)
	for i := range 6 {
		save(t, s, base, i+1)
	}
	os.Remove(filepath.Join(base, "00000004", "model.pt"))      // incomplete
	os.Remove(filepath.Join(base, "00000002", "manifest.json")) // unfinished
	put(t, filepath.Join(base, "00000001", "notes.txt"), "my own")
	mkdir(t, filepath.Join(base, "00000007")) // in the making
	c, skipped, err := s.Newest(t.Context())
	if err != nil || c.Name != "00000006" || len(skipped) != 1 {
		t.Fatal(c.Name, skipped, err)
	}
	removed, err := s.Prune(c, 3)
	if err != nil || !slices.Equal(removed, []string{"00000004", "00000002", "00000001"}) {
		t.Errorf("removed %v, %v", removed, err)
	}
	left, _ := s.Names()
	if want := []string{"00000007", "00000006", "00000005", "00000003", "00000001"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
	if got := slurp(t, filepath.Join(base, "00000001", "notes.txt")); got != "my own" {
		t.Errorf("the user's own file: %q", got)
	}
}

// TestPruneNeedsProof: I3. Without a verified newer checkpoint that is still
// there, nothing goes.
func TestPruneNeedsProof(t *testing.T) {
	s, base := series(t)
	for i := range 3 {
		save(t, s, base, i+1)
	}
	proved, err := s.Verify(t.Context(), "00000003")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct { // in this order: the last two spoil the newest
		what string
		try  func() ([]string, error)
	}{
		{"unproved", func() ([]string, error) { return s.Prune(Checkpoint{Name: "00000003"}, 1) }},
		{"keep none", func() ([]string, error) { return s.Prune(proved, 0) }},
		{"cut since", func() ([]string, error) {
			os.Truncate(filepath.Join(base, "00000003", "model.pt"), 1)
			return s.Prune(proved, 1)
		}},
		{"gone since", func() ([]string, error) {
			os.RemoveAll(filepath.Join(base, "00000003"))
			return s.Prune(proved, 1)
		}},
	} {
		if removed, err := c.try(); err == nil || len(removed) > 0 {
			t.Errorf("%s: removed %v, %v", c.what, removed, err)
		}
	}
	if _, err := s.Verify(t.Context(), "00000002"); err != nil {
		t.Error(err)
	}
}

// TestPruneStaysInside: links planted in old checkpoints lead nowhere.
func TestPruneStaysInside(t *testing.T) {
	s, base := series(t)
	outside := t.TempDir()
	put(t, filepath.Join(outside, "state.bin"), "not to be touched")
	for i := range 3 {
		save(t, s, base, i+1)
	}
	os.RemoveAll(filepath.Join(base, "00000001", "optim"))
	os.Symlink(outside, filepath.Join(base, "00000001", "optim"))
	os.Remove(filepath.Join(base, "00000002", "manifest.json"))
	os.Symlink(outside, filepath.Join(base, "00000002", "away"))
	c, err := s.Verify(t.Context(), "00000003")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(c, 1); err != nil {
		t.Error(err)
	}
	if got := slurp(t, filepath.Join(outside, "state.bin")); got != "not to be touched" {
		t.Errorf("reached outside: %q", got)
	}
	if left, _ := s.Names(); slices.Contains(left, "00000002") {
		t.Errorf("left %v", left)
	}
}

// TestNothingLost: whatever is saved, damaged and pruned in whatever order, a
// checkpoint once verified is never gone before a newer one verified.
func TestNothingLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base, err := os.MkdirTemp(t.TempDir(), "s")
		if err != nil {
			rt.Fatal(err)
		}
		dir, err := OpenDir(base)
		if err != nil {
			rt.Fatal(err)
		}
		defer dir.Close()
		s := NewSeries(dir, job)
		best, sequence := 0, 0
		rt.Repeat(map[string]func(*rapid.T){
			"save": func(*rapid.T) { sequence++; save(t, s, base, sequence) },
			"tear": func(*rapid.T) {
				// Only what was never verified may be bad: I3 speaks of the others.
				if sequence > best {
					os.Truncate(filepath.Join(base, Name(sequence), "model.pt"), 2)
				}
			},
			"prune": func(r *rapid.T) {
				c, _, err := s.Newest(t.Context())
				if err != nil {
					r.Fatal(err)
				}
				if c.Name == "" {
					return
				}
				best = c.Manifest.Sequence
				if _, err := s.Prune(c, rapid.IntRange(1, 3).Draw(r, "keep")); err != nil {
					r.Fatal(err)
				}
			},
			"": func(r *rapid.T) {
				c, _, err := s.Newest(t.Context())
				if err != nil || c.Manifest.Sequence < best {
					r.Fatalf("resumes from %q, %v; %s was verified before", c.Name, err, Name(best))
				}
			},
		})
	})
}
