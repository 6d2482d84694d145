package runner

import "time"

// Adopt is what the runner takes over from a program that cannot be changed.
type Adopt struct {
	// Glob matches the files or folders the program saves, relative to the
	// working directory; "" = it saves through sluice.
	Glob string
	// Marker is a file in such a folder that is there once it is complete; "" =
	// stillness tells.
	Marker string
	// Still is how long nothing in a checkpoint may have changed.
	Still time.Duration
	// Progress finds progress in the job's output; see sbatch.Adopt.
	Progress string
}

// adoption is where the adopting stands.
type adoption struct{}

// adopt takes over what the program saved and said since the last look.
func (r *run) adopt() {}

// rhythm is the longest time between two checkpoints of the program's own, in
// seconds; 0 = not known.
func (r *run) rhythm() float64 { return 0 }
