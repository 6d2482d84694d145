package execute

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// gone is the mailbox of jobs whose folders have been deleted.
type gone struct{ observe.Mailbox }

func (gone) RunnerNow(string, uint32) (checkpoint.Runner, bool, error) {
	return checkpoint.Runner{}, false, nil
}

// TestMovesEndWithTheirNumber: when a number has been given to another job, the moves of the first job
// are closed in the journal and in memory; moves of other jobs stay open. If the journal
// fails, nothing changes.
func TestMovesEndWithTheirNumber(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, broken := range []bool{false, true} {
		kept := new(journal.Memory)
		x := Executor{State: track.New(track.Rules{}, kept, func(event.Event) {}), Journal: kept, Mail: gone{}}
		js := &track.Job{Rec: journal.JobRecord{Token: "t", Identity: journal.Identity{ID: 7, Owner: elastic.Owner{UID: 1000}, SlurmUID: 1000}}}
		opened, err := kept.Intend(context.Background(), []elastic.Intent{
			{Job: 7, Kind: elastic.Resize, Step: elastic.Asked}, {Job: 8, Kind: elastic.Resize, Step: elastic.Asked},
		})
		if err != nil {
			t.Fatal(err)
		}
		x.Open = opened
		if broken {
			kept.Fail = func(string) error { return errors.New("the disk is full") }
		}
		err = x.Renumbered(context.Background(), js, now)
		if broken != (err != nil) {
			t.Errorf("the journal fails %v: %v", broken, err)
		}
		if left := x.Open; broken && len(left) != 2 || !broken && (len(left) != 1 || left[0].Job != 8) {
			t.Errorf("the journal fails %v: in memory %+v go on", broken, left)
		}
	}
}
