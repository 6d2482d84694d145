package main

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/slurm"
)

// A problem that comes with every cycle is told once an hour, with how often it came; what
// is wrong with the daemon itself is one problem, whatever the job.
func TestProblemsAreToldOnceAnHour(t *testing.T) {
	refused := &slurm.Error{Op: "scontrol update", JobID: 1, Err: slurm.ErrPermission}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r repeats
	told := 0
	for i := range 3 * 3600 * 2 {
		e := event.Event{Job: 1, Kind: "problem", Text: fmt.Sprint("could not write incarnation ", i), Err: refused}
		if i%2 == 1 {
			e.Job = 2
		}
		tell, missed := r.tell(problemKey(e), now.Add(time.Duration(i)*500*time.Millisecond))
		if tell {
			if told++; told > 1 && missed != 7199 {
				t.Errorf("told with %d more", missed)
			}
		}
	}
	if told != 3 {
		t.Errorf("told %d times in 3 hours", told)
	}
	if tell, _ := r.tell(problemKey(event.Event{Job: 1, Err: fs.ErrPermission}), now); !tell {
		t.Error("an outbox that cannot be written is another problem")
	}
	for _, job := range []int64{1, 2} {
		e := event.Event{Job: 3, Text: fmt.Sprint("could not do ", job), Err: errors.New("no")}
		if tell, _ := r.tell(problemKey(e), now); !tell {
			t.Errorf("%+v is not told", e)
		}
	}
	if problemKey(event.Event{Kind: "problem", Text: "what the audit reads"}) != "" {
		t.Error("only failed actions are held back")
	}
}
