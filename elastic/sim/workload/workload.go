package workload

import (
	"iter"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/sweeps"
)

// Workload is a series of jobs. It can be walked any number of times and is the
// same each time.
type Workload struct {
	Name string // such as "w1" or the file's base name
	Seed uint64 // the generator's; 0 for a recording
	Note string // one line: the mix, the source, what was assumed
	// Count is how many jobs there are.
	Count int
	// Jobs yields them in order of Submit.
	Jobs iter.Seq[Job]
}

// Job is one job as the world has it: what its user said, and its true speed,
// which no policy sees unless the simulation reveals it.
type Job struct {
	Name string
	User string
	// Account is the account, or virtual cluster, that it runs under; "" = none is known.
	Account string
	Submit  time.Duration // after the start of the workload, at least 0
	// Spec is what the user told sluice: sizes, the total in units, the model.
	// Total is true. Token is left empty.
	Spec elastic.Spec
	// Asked is the size the user took, or would take, without sluice; 0 = Min.
	Asked int
	// Deadline is after the start of the workload; 0 = none.
	Deadline time.Duration
	Speeds   Speeds
	// Sweep, when set, makes it a sweep: Spec is that of each of its lanes, without a total.
	Sweep *sweeps.Arrival
}

// Speeds is the true speed of a job. An implementation is comparable: two jobs
// with equal Speeds have equal speeds, so that answers can be kept.
type Speeds interface {
	// Seconds returns the time of one unit of work on the split, the GPUs on each
	// node in node order, each at least 1; +Inf when the job cannot run so.
	Seconds(split []int) float64
}
