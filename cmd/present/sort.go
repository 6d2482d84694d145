package present

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// turn is a group of the default order.
type turn int

const (
	turnRuns   turn = iota
	turnStarts      // also by Slurm in its own order, at any time
	turnWaits       // for GPUs alone: in the order of wire.Job.StartOrder
	turnKept        // it also waits for something else: a hold, a begin time, a dependency
	turnOver
)

// turnOf returns the group of a job. Between two runs of a resize it has no GPUs, and still does not
// wait for its turn.
func turnOf(j *wire.Job) turn {
	switch {
	case j.Ended:
		return turnOver
	case j.GPUs > 0:
		return turnRuns
	case j.Move != nil && j.Move.Kind == string(elastic.Start):
		return turnStarts
	case j.Move != nil && j.Move.Kind != string(elastic.Park):
		return turnRuns
	case j.StartOrder > 0:
		return turnWaits
	}
	switch r := j.Why.Reason.(type) {
	case reason.Contends:
		return turnStarts
	case reason.InSlurm:
		if r.Reason == "Resources" || r.Reason == "Priority" { // else it waits for something that is not GPUs
			return turnStarts
		}
	}
	return turnKept
}

// asStarted is the default order: running jobs, then waiting ones as they would start, ended ones last.
func asStarted(a, b *wire.Job) int {
	return cmp.Or(cmp.Compare(turnOf(a), turnOf(b)), cmp.Compare(a.StartOrder, b.StartOrder))
}

// Sort sorts the list by a list of fields, as squeue's --sort: names, or letters, separated by
// commas; "-" before one reverses it. Elements that are equal in all keep the default order.
func (l List[T]) Sort(list []T, by string) error {
	orders := []func(a, b *T) int{}
	for word := range strings.SplitSeq(by, ",") {
		if by == "" {
			break
		}
		name := strings.TrimSpace(word)
		down := strings.HasPrefix(name, "-")
		name = strings.TrimLeft(name, "+-")
		f, ok := l.find(func(f Field[T]) bool { return f.Name == strings.ToLower(name) || f.Letter == name })
		if !ok {
			return fmt.Errorf("invalid field %q in --sort: there are %s", name, l.names())
		}
		orders = append(orders, l.order(f, down))
	}
	orders = append(orders, l.first)
	slices.SortStableFunc(list, func(a, b T) int {
		for _, order := range orders {
			if c := order(&a, &b); c != 0 {
				return c
			}
		}
		return 0
	})
	return nil
}

// order compares two elements by the field: as numbers or times where it has one, else as text. Elements
// without a value are last either way.
func (l List[T]) order(f Field[T], down bool) func(a, b *T) int {
	turned := func(c int) int {
		if down {
			return -c
		}
		return c
	}
	value, known := l.values[f.Name]
	if !known {
		return func(a, b *T) int {
			x, y := f.Cell(a, time.Time{}), f.Cell(b, time.Time{})
			return cmp.Or(missing(x == "", y == ""), turned(cmp.Compare(x, y)))
		}
	}
	return func(a, b *T) int {
		x, xs := value(a)
		y, ys := value(b)
		return cmp.Or(missing(!xs, !ys), turned(cmp.Compare(x, y)))
	}
}

func missing(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// jobValues are the fields of jobs that are not sorted as text.
var jobValues = map[string]func(j *wire.Job) (value float64, known bool){
	"jobid":    func(j *wire.Job) (float64, bool) { return float64(j.JobID), true },
	"uid":      func(j *wire.Job) (float64, bool) { return float64(j.UID), true },
	"priority": func(j *wire.Job) (float64, bool) { return float64(j.Priority), j.Priority > 0 },
	"gpus":     func(j *wire.Job) (float64, bool) { return float64(j.GPUs), true },
	"ngpus":    func(j *wire.Job) (float64, bool) { return float64(j.GPUs), true },
	"nodes":    func(j *wire.Job) (float64, bool) { return float64(len(j.Place)), true },
	"done": func(j *wire.Job) (float64, bool) {
		if j.Total <= 0 {
			return 0, false
		}
		return j.Done / j.Total, true
	},
	"epoch":    func(j *wire.Job) (float64, bool) { return j.Done, true },
	"speed":    func(j *wire.Job) (float64, bool) { return j.Seconds, j.Seconds > 0 },
	"restarts": func(j *wire.Job) (float64, bool) { return float64(j.Restarts), true },
	"cost":     func(j *wire.Job) (float64, bool) { return j.Price.Total, true },
	"eta":      func(j *wire.Job) (float64, bool) { return moment(j.ETA) },
	"end":      func(j *wire.Job) (float64, bool) { return moment(j.ETA) },
	"start":    func(j *wire.Job) (float64, bool) { return moment(j.Started) },
	"submit":   func(j *wire.Job) (float64, bool) { return moment(j.Submitted) },
	// The longest-running job is the one that was started first.
	"time": func(j *wire.Job) (float64, bool) {
		at, known := moment(j.Started)
		return -at, known
	},
}

func moment(t time.Time) (float64, bool) { return float64(t.UnixMilli()), !t.IsZero() }
