package publish

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func board() (*Board, *track.Job) {
	b := &Board{State: track.New(track.Rules{}, new(journal.Memory), func(event.Event) {})}
	js := &track.Job{Rec: journal.JobRecord{Token: "t", Identity: journal.Identity{ID: 7}}}
	b.Remember(js)
	return b, js
}

// TestATakenReportStays: a report that a reader took is never changed, whatever is published after it.
// The memory of a report that no reader took is reused.
func TestATakenReportStays(t *testing.T) {
	b, js := board()
	publish := func(done float64) {
		js.Rec.Done = done
		b.Publish(elastic.Snapshot{Now: noon}, elastic.Plan{}, noon)
	}
	publish(1)
	taken := b.Last()
	for done := 2.0; done < 6; done++ {
		publish(done)
		if taken.Jobs[0].Record.Done != 1 {
			t.Fatalf("the report that was taken says %v after the one of %v", taken.Jobs[0].Record.Done, done)
		}
	}
	second := b.Last()
	b.Change(func(r *Report) { r.Next = noon }) // it shares the jobs
	publish(7)
	publish(8)
	publish(9)
	if second.Jobs[0].Record.Done != 5 || b.Last().Jobs[0].Record.Done != 9 {
		t.Errorf("the one taken second says %v, the last %v; want 5 and 9", second.Jobs[0].Record.Done, b.Last().Jobs[0].Record.Done)
	}
	b.ChangeJobs(func(r *Report) { r.Jobs[0].Record.Done = 10 })
	if b.Report.Load().Jobs[0].Record.Done != 10 || second.Jobs[0].Record.Done != 5 {
		t.Error("a change of jobs is not in the last report, or is in one that was taken")
	}
}

// TestBlind: while observations fail the last report is repeated, with the reason and the duration.
func TestBlind(t *testing.T) {
	b, _ := board()
	b.Blind("squeue: timed out", time.Second)
	if r := b.Last(); r.Blind == "" || len(r.Jobs) != 0 {
		t.Errorf("before the first look: %+v", r)
	}
	b.Publish(elastic.Snapshot{Now: noon}, elastic.Plan{}, noon)
	seen := b.Last()
	b.Blind("squeue: timed out", time.Minute)
	if r := b.Last(); r.Blind != "squeue: timed out" || r.BlindFor != time.Minute || len(r.Jobs) != 1 || !r.At.Equal(noon) || seen.Blind != "" {
		t.Errorf("%+v", r)
	}
	b.Publish(elastic.Snapshot{Now: noon}, elastic.Plan{}, noon)
	if r := b.Last(); r.Blind != "" {
		t.Errorf("Slurm is seen again: %+v", r)
	}
}

// TestEndedJobsComeLast: ended jobs come last, with their ending and without a reason for a size.
func TestEndedJobsComeLast(t *testing.T) {
	b, js := board()
	js.Rec.Ended, js.Rec.State = noon, track.ForgottenState
	js.Tells.Said = elastic.JobReason{Job: 7, Promised: true}
	later := &track.Job{Rec: journal.JobRecord{Token: "u", Identity: journal.Identity{ID: 8}, Life: journal.Life{Submitted: noon}}}
	b.Remember(later)
	b.Publish(elastic.Snapshot{Now: noon, Jobs: []elastic.Job{{ID: 8, Name: "n"}}}, elastic.Plan{}, noon)
	r := b.Last()
	if len(r.Jobs) != 2 || r.Jobs[0].Record.ID != 8 || r.Jobs[0].Job.Name != "n" || r.Jobs[0].Ended {
		t.Fatalf("%+v", r.Jobs)
	}
	if jr := r.Jobs[1]; !jr.Ended || jr.Ending.How != journal.Forgotten || jr.Why != nil {
		t.Errorf("%+v", jr)
	}
}

// TestJobsAsTheyWouldStart: the report lists living jobs in the snapshot's order, and those that it
// lacks where they were.
func TestJobsAsTheyWouldStart(t *testing.T) {
	b, _ := board() // of job 7
	for id := elastic.JobID(8); id <= 10; id++ {
		b.Remember(&track.Job{Rec: journal.JobRecord{Token: fmt.Sprint("t", id), Identity: journal.Identity{ID: id}, Life: journal.Life{Submitted: noon.Add(time.Duration(id) * time.Minute)}}})
	}
	b.Publish(elastic.Snapshot{Now: noon, Jobs: []elastic.Job{{ID: 10}, {ID: 7}, {ID: 8}}}, elastic.Plan{}, noon)
	var got []elastic.JobID
	for _, jr := range b.Last().Jobs {
		got = append(got, jr.Record.ID)
	}
	if want := []elastic.JobID{10, 7, 9, 8}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
