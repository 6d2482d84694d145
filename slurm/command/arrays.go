package command

import (
	"context"
	"strconv"
	"strings"
)

// ArrayBounds are Slurm's settings that bound a job array.
type ArrayBounds struct {
	Size  int // MaxArraySize: indices are below it; 0 = not known
	Tasks int // max_array_tasks of SchedulerParameters; 0 = not set
	Jobs  int // MaxJobCount: jobs that slurmctld remembers; 0 = not known
}

// ArrayBounds asks Slurm for them.
func (c *Client) ArrayBounds(ctx context.Context) (ArrayBounds, error) {
	out, err := c.read(ctx, "scontrol show config", 0, "scontrol", []string{"show", "config"})
	if err != nil {
		return ArrayBounds{}, err
	}
	return parseArrayBounds(out.stdout), nil
}

func parseArrayBounds(config string) (b ArrayBounds) {
	for line := range strings.Lines(config) {
		key, value, _ := strings.Cut(line, "=")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "MaxArraySize":
			b.Size, _ = strconv.Atoi(value)
		case "MaxJobCount":
			b.Jobs, _ = strconv.Atoi(value)
		case "SchedulerParameters":
			for word := range strings.SplitSeq(value, ",") {
				if n, ok := strings.CutPrefix(word, "max_array_tasks="); ok {
					b.Tasks, _ = strconv.Atoi(n)
				}
			}
		}
	}
	return b
}
