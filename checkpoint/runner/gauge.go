package runner

import "github.com/sluice-hpc/sluice/checkpoint"

// gauge looks at the GPUs of the job's nodes.
type gauge struct{}

// measure takes in what is new of the GPUs.
func (r *run) measure() {}

// devices is what the word says of them.
func (r *run) devices() []checkpoint.Devices { return nil }
