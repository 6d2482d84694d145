package command

import (
	"context"
	"strconv"
)

// ArrayBounds are Slurm's settings that bound a job array.
type ArrayBounds struct {
	Size  int // MaxArraySize: indices are less than it; 0 = not known
	Tasks int // max_array_tasks of SchedulerParameters; 0 = not set
	Jobs  int // MaxJobCount: jobs that slurmctld remembers; 0 = not known
}

// ArrayBounds asks Slurm for them.
func (c *Client) ArrayBounds(ctx context.Context) (ArrayBounds, error) {
	s, err := c.Settings(ctx)
	return s.arrayBounds(), err
}

func (s Settings) arrayBounds() (b ArrayBounds) {
	b.Size, _ = s.Number("MaxArraySize")
	b.Jobs, _ = s.Number("MaxJobCount")
	if n, ok := s.Scheduling("max_array_tasks"); ok {
		b.Tasks, _ = strconv.Atoi(n)
	}
	return b
}
