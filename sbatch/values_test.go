package sbatch

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"90": 90 * time.Second, "90s": 90 * time.Second, "1m30s": 90 * time.Second, "5:00": 5 * time.Minute, "00:30": 30 * time.Second,
		"1:30:00": 90 * time.Minute, "0-2": 2 * time.Hour, "0-2:30": 150 * time.Minute, "0-2:30:15": 150*time.Minute + 15*time.Second,
		"1-0": 24 * time.Hour, "2.5h": 150 * time.Minute, "1500ms": 1500 * time.Millisecond,
	} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "0", "-5", "0s", "999ms", "25h", "1-1", "5:", ":5", "1:2:3:4", "abc", "5 min", "999999-0", "1e3", "999-999999"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("%q was read as %v", in, got)
		}
	}
}

// TestDurationsOfSlurm: durations that Slurm prints are read back.
func TestDurationsOfSlurm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.IntRange(1, 24*3600-1).Draw(t, "seconds")
		forms := []string{fmt.Sprint(s), fmt.Sprintf("%d:%02d", s/60, s%60), fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60),
			fmt.Sprintf("0-%d:%02d:%02d", s/3600, s/60%60, s%60), (time.Duration(s) * time.Second).String()}
		for _, f := range forms {
			if got, err := ParseDuration(f); err != nil || got != time.Duration(s)*time.Second {
				t.Fatalf("%q: %v, %v; want %d s", f, got, err, s)
			}
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"90", "5:00", "1-2:3:4", "90s", "-1", "99999999999999999999", "1h-2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if d, err := ParseDuration(in); err == nil && (d < time.Second || d > 24*time.Hour) {
			t.Fatalf("%q is %v", in, d)
		}
	})
}

func TestParseMemory(t *testing.T) {
	for in, want := range map[string]int64{"4000": 4000, "16G": 16384, "16gb": 16384, "1t": 1 << 20, "1K": 1, "2049k": 3, "5M": 5} {
		if got, err := parseMemory(in); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "0", "G", "-1", "1.5G", "1P", "999999999999T", "4 G", "1Gx"} {
		if got, err := parseMemory(in); err == nil {
			t.Errorf("%q was read as %d", in, got)
		}
	}
}

func TestParseTotal(t *testing.T) {
	for in, want := range map[string]float64{"90": 90, "2.5": 2.5, "1e6": 1e6, ".5": .5} {
		if got, err := parseTotal(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "0", "-1", "nan", "inf", "0x10", "1_000", "2e15", "ten"} {
		if got, err := parseTotal(in); err == nil {
			t.Errorf("%q was read as %v", in, got)
		}
	}
}

func TestParseSizes(t *testing.T) {
	for in, want := range map[string]string{"1,2,4": "[1 2 4] false", "8,1,8": "[1 8] false", "pow2": "[] true", "POW2": "[] true"} {
		sizes, pow2, err := parseSizes(in)
		if got := fmt.Sprint(sizes, pow2); err != nil || got != want {
			t.Errorf("%q: got %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "0", "1,", "1-4", "1;2", "+1", "pow3"} {
		if _, _, err := parseSizes(in); err == nil {
			t.Errorf("%q was read", in)
		}
	}
}

func TestPowersOfTwo(t *testing.T) {
	for want, got := range map[string][]int{
		"[1 2 4 8]": powersOfTwo(1, 8), "[4 8]": powersOfTwo(4, 15), "[]": powersOfTwo(3, 3),
		"[2048 4096]": powersOfTwo(2000, 0), "[8192]": powersOfTwo(8192, 0),
	} {
		if fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}
