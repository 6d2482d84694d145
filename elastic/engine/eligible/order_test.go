package eligible

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestOrder: waiting jobs are listed in Slurm's order, and what else is listed stays where it is.
func TestOrder(t *testing.T) {
	aging := slurm.Aging{Weight: 1000, Full: 10 * time.Hour}
	ago := func(h int) time.Time { return noon.Add(-time.Duration(h) * time.Hour) }
	type job struct {
		priority  int64
		submitted time.Time
		begin     time.Time
		phase     elastic.Phase
		moves     bool
		runs      bool
	}
	waits := func(priority int64, hours int) job {
		return job{priority: priority, submitted: ago(hours), phase: elastic.Waiting}
	}
	begun := waits(50, 9)
	begun.begin = ago(1)
	later := waits(50, 9)
	later.begin = noon.Add(time.Hour)
	moving := waits(1, 9)
	moving.moves = true
	released := waits(1, 9)
	released.phase = elastic.Queued
	running := job{priority: 1, submitted: ago(9), phase: elastic.Running, runs: true}
	for name, c := range map[string]struct {
		aging slurm.Aging
		jobs  []job
		want  string // ids and priorities in their order
	}{
		"as they came":                   {jobs: []job{waits(7, 3), waits(7, 2), waits(7, 1)}, want: "1:7 2:7 3:7"},
		"higher first":                   {jobs: []job{waits(1, 3), waits(3, 2), waits(2, 1)}, want: "2:3 3:2 1:1"},
		"beyond 31 bits":                 {jobs: []job{waits(1, 2), waits(1<<32-4, 1)}, want: "2:4294967292 1:1"},
		"with age":                       {aging, []job{waits(50, 1), waits(300, 0), waits(10, 9)}, "3:910(900) 2:300 1:150(100)"},
		"no older than the whole":        {aging, []job{waits(1, 10), waits(1, 500)}, "1:1001(1000) 2:1001(1000)"},
		"a clock that was set back":      {aging, []job{waits(5, -3)}, "1:5"},
		"age from the begin time":        {aging, []job{begun, later, waits(50, 2)}, "3:250(200) 1:150(100) 2:50"},
		"held, or set aside, comes last": {aging, []job{waits(0, 9), waits(5, 0)}, "2:5 1:0"},
		"what does not wait stays":       {jobs: []job{running, waits(1, 5), moving, waits(9, 4), released, waits(5, 3)}, want: "1:0 4:9 3:0 6:5 5:0 2:1"},
		"none":                           {},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Look{Own: map[elastic.JobID]Job{}, Site: Site{Limits: slurm.Limits{Aging: c.aging}}}
			s := elastic.Snapshot{Now: noon}
			for i, j := range c.jobs {
				id := elastic.JobID(i + 1)
				l.Own[id] = Job{Slurm: &slurm.Job{ID: slurm.JobID(id), Priority: j.priority}, Begin: j.begin}
				ej := elastic.Job{ID: id, Phase: j.phase, Submitted: j.submitted}
				if j.runs {
					ej.Place = nodes.Placement{{Node: "n1", GPUs: 1}}
				}
				if j.moves {
					l.Open = append(l.Open, elastic.Intent{Job: id})
				}
				s.Jobs = append(s.Jobs, ej)
			}
			l.Order(&s)
			got := ""
			for _, j := range s.Jobs {
				got += fmt.Sprintf(" %d:%d", j.ID, j.Priority)
				if j.Aged > 0 {
					got += fmt.Sprintf("(%d)", j.Aged)
				}
			}
			if got != c.want && got != " "+c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
