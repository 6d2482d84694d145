package workload

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// Assumption is what accounts do not say: how the jobs would run at other sizes,
// and which of them could. Accounts know one size and one time a job.
type Assumption struct {
	// Serial and PerNode are those of Assumed, for every job.
	Serial, PerNode float64
	// Elastic is the share of the jobs that could be that users would make
	// elastic, 0..1; which ones is drawn from their ids.
	Elastic float64
	// Shortest is the least run time of a job that could be elastic.
	Shortest time.Duration
	// Growth bounds an elastic job at so many times the GPUs it had, at least 1.
	Growth int
	// Shrink lets an elastic job run on its GPUs divided by so many, rounded up,
	// at least; 0 = down to one GPU.
	Shrink int
}

// Likely is the assumption to begin with: a job of four GPUs that gets eight is
// 1.70 times as fast.
var Likely = Assumption{Serial: .05, PerNode: .02, Elastic: 1, Shortest: 10 * time.Minute, Growth: 4}

// Around returns two assumptions that the truth is hoped to lie between: three
// times the work that does not divide and 2.5 times the cost of a node, and two
// fifths of the one and half of the other. With Likely, 4 GPUs that become 8 on
// one node make a job 1.41 and 1.86 times as fast.
func (a Assumption) Around() (worse, better Assumption) {
	worse, better = a, a
	worse.Serial, worse.PerNode = min(1, round(3*a.Serial)), round(2.5*a.PerNode)
	better.Serial, better.PerNode = round(.4*a.Serial), round(.5*a.PerNode)
	return worse, better
}

// round drops what multiplying added beyond the sixth decimal.
func round(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// Gain returns how many times as fast a job becomes that goes from some GPUs to
// others, all on one node.
func (a Assumption) Gain(from, to int) float64 {
	s := Assumed{Unit: 1, Serial: a.Serial, PerNode: a.PerNode}
	return s.Seconds([]int{from}) / s.Seconds([]int{to})
}

// Validate reports the first field that is out of its range.
func (a Assumption) Validate() error {
	switch {
	case !(a.Serial >= 0 && a.Serial <= 1):
		return fmt.Errorf("serial share %v: want 0 to 1", a.Serial)
	case !(a.PerNode >= 0 && a.PerNode <= 100):
		return fmt.Errorf("cost of a node %v: want 0 to 100", a.PerNode)
	case !(a.Elastic >= 0 && a.Elastic <= 1):
		return fmt.Errorf("elastic share %v: want 0 to 1", a.Elastic)
	case a.Shortest < 0:
		return fmt.Errorf("shortest elastic job %v: may not be negative", a.Shortest)
	case a.Growth < 1 || a.Growth > 10_000:
		return fmt.Errorf("growth %d: want 1 to 10000 times the GPUs a job had", a.Growth)
	case a.Shrink < 0 || a.Shrink > 10_000:
		return fmt.Errorf("shrink %d: want 0 to 10000", a.Shrink)
	}
	return nil
}

// String is the assumption in plain words, for notes and reports.
func (a Assumption) String() string {
	text := Assumed{Serial: a.Serial, PerNode: a.PerNode}.String()
	least := "one GPU"
	if a.Shrink > 0 {
		least = fmt.Sprintf("1/%d of what they had", a.Shrink)
	}
	text += fmt.Sprintf("; jobs of %s and more can run on %s to %d times what they had", words(a.Shortest), least, a.Growth)
	if a.Elastic < 1 {
		text += fmt.Sprintf(", %g%% of them are made elastic", 100*a.Elastic)
	}
	return text
}

// words writes a span without its zeros: "10m", not "10m0s".
func words(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// accountUnits is what the work of a recorded run is divided into: enough for a
// program that reports progress, as it does every epoch or some steps.
const accountUnits = 100

// Workload returns the runs as jobs under the assumption. A run was as fast as it
// was at its own size; elastic ones may run on others.
func (h History) Workload(a Assumption) (Workload, error) {
	if err := a.Validate(); err != nil {
		return Workload{}, err
	}
	w := h.replayed(func(r Run) Job {
		j := r.job(a)
		if a.elastic(r) {
			j.Spec.Min, j.Spec.Max, j.Spec.Sizes = a.least(r), a.Growth*r.GPUs, nil
		}
		return j
	})
	w.Note = a.String()
	return w, nil
}

// Fixed returns the runs as jobs that keep the size they had.
func (h History) Fixed() Workload {
	w := h.replayed(func(r Run) Job { return r.job(Likely) })
	w.Note = "every job at the size it had"
	return w
}

func (h History) replayed(job func(Run) Job) Workload {
	return Workload{Name: h.Name, Count: len(h.Runs), Jobs: func(yield func(Job) bool) {
		for _, r := range h.Runs {
			if !yield(job(r)) {
				return
			}
		}
	}}
}

// job is the run as a job of fixed size.
func (r Run) job(a Assumption) Job {
	return Job{
		Name: r.ID, User: r.User, Account: r.Account, Submit: r.Submit, Asked: r.GPUs,
		Spec: elastic.Spec{
			Min: r.GPUs, Max: r.GPUs, Sizes: []int{r.GPUs}, AllowUneven: true, Total: accountUnits, Unit: elastic.Epochs,
		},
		Speeds: Assumed{Unit: r.Took.Seconds() / accountUnits, Reference: r.GPUs, Nodes: r.Nodes, Serial: a.Serial, PerNode: a.PerNode},
	}
}

// elastic reports whether the run's user would have made it elastic. Members of
// an array are one decision.
func (a Assumption) elastic(r Run) bool {
	if r.Took < a.Shortest {
		return false
	}
	base := r.ID
	if at := strings.IndexAny(base, "_+#"); at >= 0 {
		base = base[:at]
	}
	sum := fnv.New64a()
	sum.Write([]byte(base))
	x := sum.Sum64() // neighbouring ids differ in few bits: mix them (splitmix64's finalizer)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11)/(1<<53) < a.Elastic
}

// least is the smallest size of an elastic run.
func (a Assumption) least(r Run) int {
	if a.Shrink == 0 {
		return 1
	}
	return (r.GPUs + a.Shrink - 1) / a.Shrink
}

// ElasticRuns returns how many runs are elastic under the assumption.
func (h History) ElasticRuns(a Assumption) int {
	n := 0
	for _, r := range h.Runs {
		if a.elastic(r) {
			n++
		}
	}
	return n
}
