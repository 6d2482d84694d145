package control

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// TestRank: of a job that waits the place is shown, and the priority of the job before it; the number of
// that job only to callers who may see it.
func TestRank(t *testing.T) {
	job := func(id elastic.JobID, phase elastic.Phase, priority, aged int64) publish.JobReport {
		return publish.JobReport{
			Record: journal.JobRecord{Identity: journal.Identity{ID: id}},
			Job:    &elastic.Job{ID: id, Phase: phase, Priority: priority, Aged: aged},
		}
	}
	r := &publish.Report{Jobs: []publish.JobReport{
		job(3, elastic.Waiting, 70, 0), job(1, elastic.Running, 0, 0), job(2, elastic.Waiting, 50, 10), job(4, elastic.Waiting, 0, 0), job(5, elastic.Waiting, 50, 0),
	}}
	later := job(6, elastic.Waiting, 90, 0) // it begins later, and is before no other
	later.Job.Blocked.Code = elastic.BeginsLater
	r.Jobs = append([]publish.JobReport{later}, r.Jobs...)
	sees := func(jr publish.JobReport) bool { return jr.Record.ID != 3 }
	for id, want := range map[elastic.JobID]*wire.Rank{
		1: nil, // runs
		4: nil, // held: it has no priority
		6: nil,
		3: {Place: 1, Of: 3, Priority: 70},
		2: {Place: 2, Of: 3, Priority: 50, Age: 10, Before: &wire.Before{Priority: 70}},
		5: {Place: 3, Of: 3, Priority: 50, Before: &wire.Before{JobID: 2, Priority: 50, Age: 10}},
	} {
		jr := r.Jobs[slices.IndexFunc(r.Jobs, func(jr publish.JobReport) bool { return jr.Record.ID == id })]
		if got := viewRank(r, jr, sees); !reflect.DeepEqual(got, want) {
			t.Errorf("job %d: %+v, want %+v", id, got, want)
		}
	}
	got := map[int64]int{}
	for _, j := range viewReport(r, sees).Jobs {
		got[j.JobID] = j.StartOrder
	}
	if want := map[int64]int{1: 0, 2: 2, 4: 0, 5: 3, 6: 0}; !reflect.DeepEqual(got, want) {
		t.Errorf("in the report %v, want %v", got, want)
	}
}
