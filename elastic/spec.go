package elastic

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// JobID is Slurm's number of the job. It never changes while the job lives.
type JobID int64

// Unit is the unit of a job's work.
type Unit string

// The units of work.
const (
	Epochs Unit = "epoch"
	Steps  Unit = "step"
)

// Spec is what the user requested on submission. The Slurm comment carries it (see Tag), so
// that it survives the loss of everything else.
type Spec struct {
	Token string // 32 lower-case hex digits, random; names the job's folder

	Min int // in GPUs, at least 1
	Max int // in GPUs; 0 = whatever the cluster has
	// Step, if > 1, restricts sizes to Min + k*Step. Sizes, if not empty, lists the only sizes
	// accepted, ascending. At most one of the two is set.
	Step  int
	Sizes []int
	// AllowUneven allows splits with different GPU counts on the nodes.
	AllowUneven bool

	// Deadline is when the job should have ended; zero = no deadline. It needs Total. If it
	// cannot be met, a Soft job runs as best effort; else the job waits.
	Deadline time.Time `json:",omitzero"`
	Soft     bool      `json:",omitempty"`

	Total float64 // units of work in all; 0 = not declared
	Unit  Unit    // "" means Epochs
	Model string  // key under which throughput is shared (see ValidModel); "" = this job only

	// Signal, if set, is sent to the batch script in addition to the request file: a name
	// without SIG, such as USR2; one of Signals.
	Signal string
	Grace  time.Duration // time for a checkpoint; 0 = the site's default

	// Habit: the program does not know about requests and saves at its own intervals; a request
	// waits for its next checkpoint while it trains on.
	Habit bool
	// Again: before its time limit ends it, the job saves and waits again, as long as each run
	// makes progress.
	Again bool `json:",omitempty"`
	// Profile lists sizes at which the job's speed is measured in its first minutes, while GPUs
	// are idle; ascending sizes that the job accepts. Empty = none.
	Profile []int

	// Script identifies the user's script: the first ScriptDigits hex digits of a SHA-256; "" =
	// not known. Jobs of one user and script are assumed to answer requests alike.
	Script string `json:",omitempty"`
	// Array is its place in a job array; zero = it is part of none.
	Array Array `json:",omitzero"`
	// Sweep is the token of the sweep whose lane the job is; "" = it is no lane.
	Sweep string `json:",omitempty"`
	// Nodes is the maximum number of nodes; 0 = no limit.
	Nodes int `json:",omitempty"`

	// Types are the GPU types it accepts, as Slurm names them; all GPUs of a run are of one
	// type. Empty = any.
	Types []string `json:",omitempty"`

	CPUsPerGPU  int   // 0 = one CPU per node
	MemPerGPUMB int64 // 0 = Slurm's default
}

// AtMinimum returns the spec of a job that may start only at its minimum.
func (s Spec) AtMinimum() Spec {
	s.Max, s.Step, s.Sizes, s.Profile = s.Min, 0, nil, nil
	return s
}

// Fixed reports whether the job accepts a single number of GPUs.
func (s Spec) Fixed() bool { return s.Max > 0 && s.Max <= s.Min }

// Allows reports whether the job accepts n GPUs on a cluster with limit GPUs.
func (s Spec) Allows(n, limit int) bool {
	max := s.Max
	if max == 0 || max > limit {
		max = limit
	}
	switch {
	case n < s.Min || n > max || n < 1:
		return false
	case len(s.Sizes) > 0:
		return slices.Contains(s.Sizes, n)
	case s.Step > 1:
		return (n-s.Min)%s.Step == 0
	}
	return true
}

// Options returns the accepted sizes up to limit, ascending; empty if the cluster is smaller
// than the minimum.
func (s Spec) Options(limit int) []int {
	var out []int
	most := limit
	if s.Max > 0 {
		most = min(most, s.Max)
	}
	for n := s.Min; n <= most; n++ {
		if s.Allows(n, limit) {
			out = append(out, n)
		}
	}
	return out
}

// Bounds of a spec, so that its Tag can be parsed.
const (
	maxCount = 1_000_000     // GPUs, CPUs
	maxMemMB = 1_000_000_000 // megabytes per GPU
	maxSizes = 1024          // entries of Sizes
	// maxDeadline is the latest deadline, in seconds since 1970.
	maxDeadline = 7_258_118_400

	// MaxProfile bounds the entries of Profile.
	MaxProfile = 16

	// MaxTypes bounds the entries of Types.
	MaxTypes = 16

	// ScriptDigits is the length of Script: enough to distinguish the scripts of one user.
	ScriptDigits = 12
)

// Validate reports a contradiction in the spec, in terms of the options that a user types. The
// Tag of a valid spec can be parsed.
func (s Spec) Validate() error {
	switch {
	case !validToken(s.Token):
		return fmt.Errorf("token %q: want 32 lower-case hex digits", s.Token)
	case s.Min < 1 || s.Min > maxCount:
		return fmt.Errorf("--min-gpus %d: want 1 to %d", s.Min, maxCount)
	case s.Max < 0 || s.Max > maxCount:
		return fmt.Errorf("--max-gpus %d: want 0 to %d", s.Max, maxCount)
	case s.Max != 0 && s.Max < s.Min:
		return fmt.Errorf("--max-gpus %d is below --min-gpus %d", s.Max, s.Min)
	case s.Total < 0 || s.Total != s.Total || s.Total > 1e15:
		return fmt.Errorf("--epochs/--steps %v: between 0 and 1e15", s.Total)
	case !s.Deadline.IsZero() && s.Total == 0:
		return fmt.Errorf("--deadline needs --epochs or --steps: otherwise the job's end is not known")
	case s.Deadline.IsZero() && s.Soft:
		return fmt.Errorf("--deadline-mode needs --deadline")
	case !s.Deadline.IsZero() && (s.Deadline.Unix() < 1 || s.Deadline.Unix() > maxDeadline || s.Deadline.Nanosecond() != 0):
		return fmt.Errorf("--deadline %v: want whole seconds, before the year 2200", s.Deadline)
	case s.Unit != "" && s.Unit != Epochs && s.Unit != Steps:
		return fmt.Errorf("unit %q: want epoch or step", s.Unit)
	case s.Model != "" && !ValidModel(s.Model):
		return fmt.Errorf("--model %q: want at most 64 letters, digits and . _ + - / : @, the first a letter or digit", s.Model)
	case s.Signal != "" && !ValidSignal(s.Signal):
		return fmt.Errorf("--checkpoint-signal %q: want one of %s", s.Signal, strings.Join(Signals, ", "))
	case s.Grace < 0:
		return fmt.Errorf("--grace %v: may not be negative", s.Grace)
	case s.Sweep != "" && !validToken(s.Sweep):
		return fmt.Errorf("sweep %q: want 32 lower-case hex digits", s.Sweep)
	case s.Script != "" && !hexDigits(s.Script, ScriptDigits):
		return fmt.Errorf("script %q: want %d lower-case hex digits", s.Script, ScriptDigits)
	case s.Nodes < 0 || s.Nodes > maxCount:
		return fmt.Errorf("nodes %d: want 0 to %d", s.Nodes, maxCount)
	case len(s.Types) > MaxTypes || slices.ContainsFunc(s.Types, func(t string) bool { return !ValidType(t) }):
		return fmt.Errorf("--gpu-types %s: want at most %d names of letters, digits and . _ -", strings.Join(s.Types, ","), MaxTypes)
	case s.CPUsPerGPU < 0 || s.CPUsPerGPU > maxCount:
		return fmt.Errorf("--cpus-per-gpu %d: want 0 to %d", s.CPUsPerGPU, maxCount)
	case s.MemPerGPUMB < 0 || s.MemPerGPUMB > maxMemMB:
		return fmt.Errorf("--mem-per-gpu %dM: want 0 to %dM", s.MemPerGPUMB, maxMemMB)
	}
	if err := s.Array.validate(); err != nil {
		return err
	}
	if err := s.validateProfile(); err != nil {
		return err
	}
	return s.validateSizes()
}

func (s Spec) validateProfile() error {
	if len(s.Profile) > MaxProfile {
		return fmt.Errorf("--profile: %d sizes, at most %d", len(s.Profile), MaxProfile)
	}
	last := 0
	for _, n := range s.Profile {
		if n <= last || !s.Allows(n, maxCount) {
			return fmt.Errorf("--profile %v: want them ascending, each a size the job accepts", s.Profile)
		}
		last = n
	}
	return nil
}

func (s Spec) validateSizes() error {
	switch {
	case s.Step < 0 || s.Step > maxCount:
		return fmt.Errorf("--gpu-step %d: want 1 to %d", s.Step, maxCount)
	case len(s.Sizes) == 0:
		return nil
	case s.Step > 1:
		return fmt.Errorf("--gpu-step and --gpu-sizes exclude each other")
	case len(s.Sizes) > maxSizes:
		return fmt.Errorf("--gpu-sizes: %d sizes, at most %d", len(s.Sizes), maxSizes)
	case !slices.Contains(s.Sizes, s.Min):
		return fmt.Errorf("--gpu-sizes %v does not contain --min-gpus %d", s.Sizes, s.Min)
	}
	last := 0
	for _, n := range s.Sizes {
		if n <= last || n > maxCount {
			return fmt.Errorf("--gpu-sizes %v: want them ascending, each from 1 to %d", s.Sizes, maxCount)
		}
		last = n
	}
	return nil
}

// Signals lists the values of Spec.Signal: those that every Slurm since 20.11 can send by name
// and that the runner passes on. TERM, INT and QUIT mean an end to Slurm, the runner and most
// programs.
var Signals = []string{"USR1", "USR2", "HUP"}

// ValidSignal reports whether the name is one of Signals.
func ValidSignal(name string) bool { return slices.Contains(Signals, name) }

// ValidModel reports whether the name can be a Spec.Model: 1 to 64 letters, digits and . _ + -
// / : @, beginning with a letter or a digit. It is written to a space-separated comment, and is
// the key of throughput in a table.
func ValidModel(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte("._+-/:@", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// Type returns the GPU type that it requests from Slurm; "" if it accepts any, or several:
// Slurm takes a single type with a number of GPUs.
func (s *Spec) Type() string {
	if len(s.Types) == 1 {
		return s.Types[0]
	}
	return ""
}

// ValidType reports whether the name can be one of Spec.Types: 1 to 64 letters, digits
// and . _ -, beginning with a letter or a digit.
func ValidType(name string) bool {
	return ValidModel(name) && !strings.ContainsAny(name, "+/:@")
}

func validToken(t string) bool { return hexDigits(t, 32) }

func hexDigits(t string, n int) bool {
	if len(t) != n {
		return false
	}
	for _, c := range t {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
