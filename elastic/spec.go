package elastic

import (
	"fmt"
	"slices"
	"time"
)

// JobID is Slurm's number for the job; it never changes while the job lives.
type JobID int64

// Unit is what a job counts its work in.
type Unit string

// The units a job may count in.
const (
	Epochs Unit = "epoch"
	Steps  Unit = "step"
)

// Spec is what the user asked for at submit. It travels in the Slurm comment
// (see Tag), so that it survives the loss of everything else.
type Spec struct {
	Token string // 32 lower-case hex digits, drawn at submit; names the job's directory

	Min int // GPUs, at least 1
	Max int // GPUs; 0 = whatever the cluster has
	// Step, when > 1, restricts sizes to Min + k*Step. Sizes, when not empty,
	// lists the only sizes accepted, ascending. At most one of both is set.
	Step  int
	Sizes []int
	// AllowUneven admits splits with different GPU counts on the nodes.
	AllowUneven bool

	Total float64 // units of work in all; 0 = the user did not say
	Unit  Unit    // "" is read as Epochs
	Model string  // key under which speeds are shared; "" = this job alone

	// Signal, when set, is sent to the batch script beside the request file: a
	// name without SIG, such as USR2.
	Signal string
	Grace  time.Duration // how long a checkpoint may take; 0 = the site's default

	CPUsPerGPU  int   // 0 = one CPU a node
	MemPerGPUMB int64 // 0 = as Slurm decides
}

// Allows reports whether the job accepts to run on n GPUs in a cluster of limit.
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

// Options returns the accepted sizes up to limit, ascending; empty when the
// cluster is smaller than the minimum.
func (s Spec) Options(limit int) []int {
	var out []int
	for n := s.Min; n <= limit; n++ {
		if s.Allows(n, limit) {
			out = append(out, n)
		}
	}
	return out
}

// Validate reports what contradicts itself in the spec, in the words of the
// options a user types.
func (s Spec) Validate() error {
	switch {
	case !validToken(s.Token):
		return fmt.Errorf("token %q: want 32 lower-case hex digits", s.Token)
	case s.Min < 1:
		return fmt.Errorf("--min-gpus %d: at least 1", s.Min)
	case s.Max != 0 && s.Max < s.Min:
		return fmt.Errorf("--max-gpus %d is below --min-gpus %d", s.Max, s.Min)
	case s.Step < 0:
		return fmt.Errorf("--gpu-step %d: at least 1", s.Step)
	case s.Step > 1 && len(s.Sizes) > 0:
		return fmt.Errorf("--gpu-step and --gpu-sizes exclude each other")
	case len(s.Sizes) > 0 && (!slices.IsSorted(s.Sizes) || s.Sizes[0] < 1):
		return fmt.Errorf("--gpu-sizes %v: ascending and at least 1", s.Sizes)
	case len(s.Sizes) > 0 && !slices.Contains(s.Sizes, s.Min):
		return fmt.Errorf("--gpu-sizes %v does not contain --min-gpus %d", s.Sizes, s.Min)
	case s.Total < 0 || s.Total != s.Total || s.Total > 1e15:
		return fmt.Errorf("--epochs/--steps %v: between 0 and 1e15", s.Total)
	case s.Unit != "" && s.Unit != Epochs && s.Unit != Steps:
		return fmt.Errorf("unit %q: want epoch or step", s.Unit)
	case s.Grace < 0 || s.CPUsPerGPU < 0 || s.MemPerGPUMB < 0:
		return fmt.Errorf("--grace, --cpus-per-gpu and --mem-per-gpu may not be negative")
	}
	return nil
}

func validToken(t string) bool {
	if len(t) != 32 {
		return false
	}
	for _, c := range t {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
