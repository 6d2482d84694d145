package elastic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const testToken = "0123456789abcdef0123456789abcdef"

func TestAllows(t *testing.T) {
	for _, tc := range []struct {
		spec  Spec
		limit int
		want  []int
	}{
		{Spec{Min: 1}, 4, []int{1, 2, 3, 4}},
		{Spec{Min: 2, Max: 3}, 8, []int{2, 3}},
		{Spec{Min: 2, Max: 16}, 4, []int{2, 3, 4}},
		{Spec{Min: 2, Step: 3}, 9, []int{2, 5, 8}},
		{Spec{Min: 1, Step: 1}, 3, []int{1, 2, 3}},
		{Spec{Min: 2, Sizes: []int{1, 2, 4, 8}}, 12, []int{2, 4, 8}},
		{Spec{Min: 2, Max: 4, Sizes: []int{1, 2, 4, 8}}, 12, []int{2, 4}},
		{Spec{Min: 5}, 4, nil},
		{Spec{}, 2, []int{1, 2}}, // not valid, but a size below one never is either
	} {
		if got := tc.spec.Options(tc.limit); !slices.Equal(got, tc.want) {
			t.Errorf("%+v on %d GPUs: got %v, want %v", tc.spec, tc.limit, got, tc.want)
		}
	}
}

// TestOptionsAreWhatIsAllowed: both give the same answer, within the bounds.
func TestOptionsAreWhatIsAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, limit := drawSpec(t), rapid.IntRange(0, 70).Draw(t, "limit")
		options := spec.Options(limit)
		for n := range limit + 3 {
			allowed := spec.Allows(n, limit)
			if allowed != slices.Contains(options, n) {
				t.Fatalf("%d: allowed %v, options %v", n, allowed, options)
			}
			if allowed && (n < 1 || n < spec.Min || n > limit || spec.Max > 0 && n > spec.Max) {
				t.Fatalf("%d is out of bounds", n)
			}
		}
		if spec.Min <= limit && !slices.Contains(options, spec.Min) {
			t.Fatalf("the minimum %d is not among %v", spec.Min, options)
		}
	})
}

func TestValidate(t *testing.T) {
	good := func() Spec { return Spec{Token: testToken, Min: 2} }
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Spec){
		`token "": want 32 lower-case hex digits`:         func(s *Spec) { s.Token = "" },
		`token "0123456789ABCDEF0123456789ABCDEF": want`:  func(s *Spec) { s.Token = strings.ToUpper(s.Token) },
		"--min-gpus 0: want 1 to 1000000":                 func(s *Spec) { s.Min = 0 },
		"--min-gpus 1000001: want 1":                      func(s *Spec) { s.Min = 1_000_001 },
		"--max-gpus -1: want 0":                           func(s *Spec) { s.Max = -1 },
		"--max-gpus 1 is below --min-gpus 2":              func(s *Spec) { s.Max = 1 },
		"--gpu-step -1: want 1":                           func(s *Spec) { s.Step = -1 },
		"--gpu-step and --gpu-sizes exclude each other":   func(s *Spec) { s.Step, s.Sizes = 2, []int{2, 4} },
		"--gpu-sizes [4 8] does not contain --min-gpus 2": func(s *Spec) { s.Sizes = []int{4, 8} },
		"--gpu-sizes [2 4 3]: want them ascending":        func(s *Spec) { s.Sizes = []int{2, 4, 3} },
		"--gpu-sizes [2 2]: want them ascending":          func(s *Spec) { s.Sizes = []int{2, 2} },
		"--gpu-sizes [0 2]: want them ascending":          func(s *Spec) { s.Sizes = []int{0, 2} },
		"--gpu-sizes: 1025 sizes, at most 1024":           func(s *Spec) { s.Sizes = make([]int, 1025) },
		"--epochs/--steps -1: between 0 and 1e15":         func(s *Spec) { s.Total = -1 },
		"--epochs/--steps NaN":                            func(s *Spec) { s.Total = math.NaN() },
		"--epochs/--steps +Inf":                           func(s *Spec) { s.Total = math.Inf(1) },
		`unit "hour": want epoch or step`:                 func(s *Spec) { s.Unit = "hour" },
		`--model "a b": want at most 64 letters`:          func(s *Spec) { s.Model = "a b" },
		`--model "-x": want`:                              func(s *Spec) { s.Model = "-x" },
		`--model ";": want`:                               func(s *Spec) { s.Model = ";" },
		`--model "` + strings.Repeat("a", 65):             func(s *Spec) { s.Model = strings.Repeat("a", 65) },
		`--checkpoint-signal "KILL": want one of USR1`:    func(s *Spec) { s.Signal = "KILL" },
		`--checkpoint-signal "USR1 pin=8"`:                func(s *Spec) { s.Signal = "USR1 pin=8" },
		"--grace -1s: may not be negative":                func(s *Spec) { s.Grace = -time.Second },
		"--cpus-per-gpu -1: want 0":                       func(s *Spec) { s.CPUsPerGPU = -1 },
		"--mem-per-gpu 1000000001M: want 0":               func(s *Spec) { s.MemPerGPUMB = 1_000_000_001 },
	} {
		s := good()
		change(&s)
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestValidModel(t *testing.T) {
	for _, name := range []string{"resnet50", "meta-llama/Llama-3.1_8B", "a@b:c+d", "7b"} {
		if !ValidModel(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", ".x", "a=b", "a\nb", "é", "a,b", "a\x00"} {
		if ValidModel(name) {
			t.Errorf("%q is taken", name)
		}
	}
}

// drawSpec draws a valid spec.
func drawSpec(t *rapid.T) Spec {
	s := Spec{
		Token:       rapid.StringMatching(`[0-9a-f]{32}`).Draw(t, "token"),
		Min:         rapid.OneOf(rapid.IntRange(1, 16), rapid.IntRange(1, maxCount)).Draw(t, "min"),
		AllowUneven: rapid.Bool().Draw(t, "uneven"),
		Total:       rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1e15)).Draw(t, "total"),
		Unit:        rapid.SampledFrom([]Unit{"", Epochs, Steps}).Draw(t, "unit"),
		Model:       rapid.StringMatching(`([A-Za-z0-9][A-Za-z0-9._+/:@-]{0,63})?`).Draw(t, "model"),
		Signal:      rapid.SampledFrom(append([]string{""}, Signals...)).Draw(t, "signal"),
		Grace:       time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "grace")),
		CPUsPerGPU:  rapid.IntRange(0, maxCount).Draw(t, "cpus"),
		Habit:       rapid.Bool().Draw(t, "habit"),
		Again:       rapid.Bool().Draw(t, "again"),
		MemPerGPUMB: rapid.Int64Range(0, maxMemMB).Draw(t, "mem"),
	}
	if rapid.Bool().Draw(t, "array") {
		s.Array = Array{Job: JobID(rapid.IntRange(0, maxID).Draw(t, "of")), Index: rapid.IntRange(0, MaxIndex).Draw(t, "index"),
			Count: rapid.IntRange(1, MaxIndex+1).Draw(t, "tasks"), Limit: rapid.IntRange(0, MaxIndex+1).Draw(t, "at once")}
		s.Array.Open = rapid.Bool().Draw(t, "open")
	}
	if rapid.Bool().Draw(t, "bounded") {
		s.Max = rapid.IntRange(s.Min, maxCount).Draw(t, "max")
	}
	switch rapid.SampledFrom([]string{"any", "step", "sizes"}).Draw(t, "kind") {
	case "step":
		s.Step = rapid.IntRange(1, 64).Draw(t, "step")
	case "sizes":
		s.Sizes = append(rapid.SliceOfN(rapid.IntRange(1, maxCount), 0, 8).Draw(t, "sizes"), s.Min)
		slices.Sort(s.Sizes)
		s.Sizes = slices.Compact(s.Sizes)
	}
	for _, n := range s.Options(min(s.Min+16, maxCount)) {
		if len(s.Profile) < MaxProfile && rapid.Bool().Draw(t, "profiled") {
			s.Profile = append(s.Profile, n)
		}
	}
	if err := s.Validate(); err != nil {
		panic(fmt.Sprintf("drew %+v: %v", s, err))
	}
	return s
}
