package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBanner(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 5e8, time.FixedZone("x", 3600))
	for want, b := range map[string]Banner{
		"== sluice: segment 3 of job 42 · 4 GPUs on gpu1:4 · resumed from checkpoint 00000007 (step 1200, epoch 3.5) · 2026-11-21T09:00:00Z ==": {
			Job: 42, Segment: 3, At: at, Words: []string{"4 GPUs on gpu1:4", "resumed from checkpoint 00000007 (step 1200, epoch 3.5)"}},
		"== sluice: segment 0 of job 1 ended · finished · 2026-11-21T09:00:00Z ==": {Job: 1, End: true, At: at, Words: []string{"finished"}},
		"== sluice: segment 0 of job 1 · a b  [31m · 2026-11-21T09:00:00Z ==":      {Job: 1, At: at, Words: []string{"a\nb·\x1b[31m"}},
	} {
		if got := b.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBannerRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := Banner{
			Job: rapid.Int64Range(1, 1<<40).Draw(rt, "job"), Segment: rapid.IntRange(0, 1<<20).Draw(rt, "segment"),
			End: rapid.Bool().Draw(rt, "end"), At: time.Unix(rapid.Int64Range(0, 4e9).Draw(rt, "at"), 0).UTC(),
			Words: rapid.SliceOfN(rapid.StringMatching(`[a-z0-9:,().=+-]( [a-z0-9=-]{1,9}){0,5}`), 0, 4).Draw(rt, "words"),
		}
		line := b.String()
		if strings.ContainsAny(line, "\n\r\x1b") {
			rt.Fatalf("%q", line)
		}
		got, ok := ParseBanner(line + rapid.SampledFrom([]string{"", "\n", "\r\n"}).Draw(rt, "end of line"))
		if !ok || got.Job != b.Job || got.Segment != b.Segment || got.End != b.End || !got.At.Equal(b.At) || !slices.Equal(got.Words, b.Words) {
			rt.Fatalf("%+v came back as %+v, %v", b, got, ok)
		}
	})
}

func FuzzParseBanner(f *testing.F) {
	f.Add("== sluice: segment 3 of job 42 ended · finished · 2026-11-21T09:00:00Z ==")
	f.Add("== sluice: segment -1 of job 9999999999999999999999 · x ==")
	f.Fuzz(func(t *testing.T, line string) {
		if b, ok := ParseBanner(line); ok {
			if again, ok := ParseBanner(b.String()); !ok || again.Job != b.Job || again.Segment != b.Segment || again.End != b.End {
				t.Errorf("%q: %+v, then %+v", line, b, again)
			}
		}
	})
}

func TestNoBanner(t *testing.T) {
	for _, line := range []string{"", "== sluice: ==", "== sluice: segment 3 of job 42 ==", "sluice: segment 3 of job 42 · 2026-11-21T09:00:00Z ==",
		"== sluice: segment x of job 42 · 2026-11-21T09:00:00Z ==", "== sluice: segment 1 of job 0 · 2026-11-21T09:00:00Z ==",
		"== sluice: segment 1 of job 2 began · 2026-11-21T09:00:00Z ==", "== sluice: segment 1 of job 2 · yesterday ==",
		" == sluice: segment 1 of job 2 · 2026-11-21T09:00:00Z ==", BannerBegin + "segment 1 of job 2" + strings.Repeat(" ", maxBanner) + " · 2026-11-21T09:00:00Z =="} {
		if b, ok := ParseBanner(line); ok {
			t.Errorf("%q: %+v", line, b)
		}
	}
}

// TestOutputs: one file is written to once, and a line begins where one begins.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	if n := len(outputs(open("a"), open("a"))); n != 1 {
		t.Errorf("one file, %d outputs", n)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	all := outputs(open("a"), w)
	if len(all) != 2 || all[0].path != filepath.Join(dir, "a") || all[1].path != "" || len(outputs(nil, nil)) != 0 {
		t.Fatalf("%+v", all)
	}
	for _, o := range all {
		o.put("one\n")
		o.file.WriteString("no newline")
		o.begin()
		o.put("two\n")
	}
	data, _ := os.ReadFile(filepath.Join(dir, "a"))
	if string(data) != "one\nno newline\ntwo\n" {
		t.Errorf("%q", data)
	}
	if got := string(all[0].tail(all[0].from, 100)); got != "\ntwo\n" {
		t.Errorf("tail %q", got)
	}
	if got := string(all[0].tail(0, 4)); got != "two\n" {
		t.Errorf("tail %q", got)
	}
	if got := all[1].tail(0, 100); got != nil {
		t.Errorf("of a pipe: %q", got)
	}
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if name := all[0].name(); name != "" {
		t.Errorf("it has no name, not %s", name)
	}
}
