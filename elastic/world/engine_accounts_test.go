package world_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// ledger is accounting that counts queries, and answers late or not at all.
type ledger struct {
	under slurm.Accountant
	asked []time.Time // when
	most  int         // jobs in one query
	late  int         // number of next queries that are not answered
	err   error
	now   func() time.Time
}

func (l *ledger) Past(ctx context.Context, ids []slurm.JobID, since time.Time) ([]slurm.PastRun, error) {
	l.asked, l.most = append(l.asked, l.now()), max(l.most, len(ids))
	if l.late > 0 {
		l.late--
		return nil, observe.ErrAsking
	}
	if l.err != nil {
		return nil, l.err
	}
	return l.under.Past(ctx, ids, since)
}

// kept returns the journal's record of the job, and its last segment.
func recordOf(t *testing.T, j *journal.Memory, id slurm.JobID) (journal.JobRecord, journal.Segment) {
	t.Helper()
	records, err := j.Jobs(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.ID != elastic.JobID(id) {
			continue
		}
		segments, err := j.Segments(t.Context(), r.Token)
		if err != nil {
			t.Fatal(err)
		}
		if len(segments) == 0 {
			return r, journal.Segment{}
		}
		return r, segments[len(segments)-1]
	}
	t.Fatalf("job %d is not on record", id)
	return journal.JobRecord{}, journal.Segment{}
}

// TestHowTheyEndedDuringAnOutage: jobs that ended while sluiced was down, and that Slurm has purged, get
// the end from Slurm's accounting, and so do their last runs. Without accounting they are
// forgotten.
func TestHowTheyEndedDuringAnOutage(t *testing.T) {
	for _, accounting := range []bool{true, false} {
		t.Run(fmt.Sprintf("accounting %v", accounting), func(t *testing.T) {
			w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(6, 4), Accounting: accounting}})
			kept := new(journal.Memory)
			client := func(c *engine.Config) { c.Accountant = w.Client }
			d := boot(t, w, kept, "lookahead", client)
			fixed := func(total float64, b world.Behaviour) *world.Trainer {
				return w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: total}, Behaviour: b})
			}
			jobs := map[*world.Trainer]string{
				fixed(3, world.Behaviour{}):                            "completed: exit code 0",
				fixed(1000, world.Behaviour{ExitAt: 3.5, ExitCode: 3}): "failed: exit code 3",
			}
			cancelled, moved := fixed(1000, world.Behaviour{}), fixed(1000, world.Behaviour{})
			held := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 24, Max: 24, Total: 10}})
			jobs[cancelled], jobs[moved], jobs[held] = "cancelled", "cancelled", "cancelled before it started"
			drive(t, w, d, 20*time.Second)

			alice := w.User("alice") // sluiced is down
			w.Slurm.Advance(10 * time.Second)
			must(t, alice.Cancel(t.Context(), cancelled.ID()))
			must(t, alice.Cancel(t.Context(), held.ID()))
			must(t, alice.Requeue(t.Context(), moved.ID()))
			w.Slurm.Advance(10 * time.Minute)
			must(t, alice.Cancel(t.Context(), moved.ID()))
			w.Slurm.Advance(20 * time.Minute)
			before := w.Now()

			d = boot(t, w, kept, "lookahead", client)
			if _, err := d.Cycle(t.Context(), w.Now()); err != nil {
				t.Fatal(err)
			}
			ends := map[slurm.JobID]fake.End{}
			for _, end := range w.Slurm.Ends() {
				ends[end.Job] = end
			}
			for job, want := range jobs {
				r, last := recordOf(t, kept, job.ID())
				end := ends[job.ID()]
				if !accounting {
					if r.Ending.How != journal.Forgotten || !r.Ended.Equal(before) {
						t.Errorf("job %d: %s at %v, which could not be known", job.ID(), r.Ending, r.Ended)
					}
					continue
				}
				at := end.At.Truncate(time.Second)
				if r.Ending.String() != want || r.State != string(end.State) || !r.Ended.Equal(at) {
					t.Errorf("job %d: %s (%s) at %v, want %s (%s) at %v", job.ID(), r.Ending, r.State, r.Ended, want, end.State, at)
				}
				if job != held && (!last.Ended.Equal(at) || last.Restarts != len(job.Runs())-1) {
					t.Errorf("job %d: its last run is %d and ended at %v, want %d at %v", job.ID(), last.Restarts, last.Ended, len(job.Runs())-1, at)
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// ledgerOf returns the runs of the jobs that onceThere makes: every third failed, every seventh was
// cancelled.
func ledgerOf(many int, now time.Time) (runs []slurm.PastRun) {
	for i := range many {
		r := slurm.PastRun{ID: slurm.JobID(1_000_000 + i), UID: 7000, State: slurm.Completed, Nodes: []string{"gpu1"}, GPUs: 1,
			Submit: now.Add(-48 * time.Hour), Start: now.Add(-47 * time.Hour), End: now.Add(-time.Duration(i+1) * time.Second)}
		switch {
		case i%3 == 0:
			r.State, r.ExitCode = slurm.Failed, 3
		case i%7 == 0:
			r.State = slurm.Cancelled
		}
		runs = append(runs, r)
		if i%10 == 0 { // the number was reused
			again := r
			again.State, again.Submit, again.Start, again.End = slurm.Timeout, r.End.Add(time.Minute), r.End.Add(time.Minute), r.End.Add(2*time.Minute)
			runs = append(runs, again)
		}
	}
	return runs
}

// endings counts how the recorded jobs ended.
func endings(t *testing.T, j *journal.Memory) map[journal.How]int {
	t.Helper()
	records, err := j.Jobs(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[journal.How]int{}
	for _, r := range records {
		out[r.Ending.How]++
	}
	return out
}

// Ten thousand jobs ended during an outage, and one waits to start. The first cycle decides whether
// accounting answers or not; one query is enough for all.
func TestAccountingIsAskedOnceForAll(t *testing.T) {
	whole := map[journal.How]int{"": 1, journal.Failed: 3334, journal.Cancelled: 952, journal.Completed: 5714}
	none := map[journal.How]int{"": 1, journal.Forgotten: 10_000}
	few := map[journal.How]int{"": 1, journal.Forgotten: 300}
	for name, c := range map[string]struct {
		many  int
		late  int
		err   error
		first map[journal.How]int // after the first cycle
		asked int                 // by then
		then  map[journal.How]int // after five minutes
	}{
		"answers":           {10_000, 0, nil, whole, 1, whole},
		"answers late":      {10_000, 2, nil, none, 2, whole},
		"is refused":        {300, 0, slurm.ErrPermission, few, 1, few},
		"is long in coming": {300, 1 << 20, nil, few, 2, few},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4), Accounting: true}})
			w.Slurm.Keep(ledgerOf(c.many, w.Now())...)
			kept := new(journal.Memory)
			onceThere(t, kept, c.many, w.Now())
			job := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 4, Total: 1000}})
			a, l := &asking{Client: w.Client}, &ledger{under: w.Client, late: c.late, err: c.err, now: w.Now}
			d := boot(t, w, kept, "lookahead", func(cfg *engine.Config) { cfg.Slurm, cfg.Accountant = a, l })
			if _, err := d.Cycle(t.Context(), w.Now()); err != nil {
				t.Fatal(err)
			}
			if a.bulk > 2 || a.single > 16 || l.most > c.many {
				t.Errorf("Slurm was asked %d times for all and %d times for one, accounting for %d", a.bulk, a.single, l.most)
			}
			if got := endings(t, kept); fmt.Sprint(got) != fmt.Sprint(c.first) || len(l.asked) > c.asked {
				t.Errorf("after the first cycle: %v, asked %d times", got, len(l.asked))
			}
			drive(t, w, d, 5*time.Minute)
			if len(job.Runs()) == 0 {
				t.Error("bob's job does not run")
			}
			if got := endings(t, kept); fmt.Sprint(got) != fmt.Sprint(c.then) {
				t.Errorf("after five minutes: %v, want %v", got, c.then)
			}
			if text := d.log.String(); strings.Count(text, "Slurm's accounting does not tell") > 1 {
				t.Error("more than one complaint")
			}
		})
	}
}

// What accounting did not answer is queried again: after a minute, then at growing intervals, and by
// the next daemon at once.
func TestAccountingIsAskedAgain(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4), Accounting: true}})
	w.Slurm.Keep(ledgerOf(20, w.Now())...)
	kept := new(journal.Memory)
	onceThere(t, kept, 20, w.Now())
	l := &ledger{under: w.Client, err: slurm.ErrDatabaseDown, now: w.Now}
	d := boot(t, w, kept, "lookahead", func(cfg *engine.Config) { cfg.Accountant = l })
	drive(t, w, d, 5*time.Hour)
	var gaps []time.Duration
	for i := range l.asked[1:] {
		gaps = append(gaps, l.asked[i+1].Sub(l.asked[i]).Round(time.Minute))
	}
	want := []time.Duration{1, 1, 2, 4, 8, 16, 32, 60, 60, 60}
	for i := range want {
		want[i] *= time.Minute
	}
	if !slices.Equal(gaps, want) {
		t.Errorf("asked again after %v, want %v", gaps, want)
	}
	l.err, l.asked = nil, nil
	d = boot(t, w, kept, "lookahead", func(cfg *engine.Config) { cfg.Accountant = l })
	drive(t, w, d, 3*time.Hour)
	if got := endings(t, kept); len(l.asked) != 1 || got[journal.Forgotten] != 0 || got[journal.Failed] != 7 {
		t.Errorf("%v, asked %d times", got, len(l.asked))
	}
}

// TestHistoryOfARunThatEndedUnseen: if a run ended while sluiced was down and Slurm still shows it, its
// history row keeps its cause and gets its true end.
func TestHistoryOfARunThatEndedUnseen(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	kept := new(journal.Memory)
	d := boot(t, w, kept, "lookahead")
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 1000}})
	drive(t, w, d, 20*time.Second)
	_, before := recordOf(t, kept, job.ID())
	w.Slurm.Advance(10 * time.Second)
	must(t, w.User("alice").Cancel(t.Context(), job.ID()))
	w.Slurm.Advance(2 * time.Minute)

	d = boot(t, w, kept, "lookahead")
	drive(t, w, d, time.Minute)
	r, after := recordOf(t, kept, job.ID())
	end := w.Slurm.Ends()[0].At.Truncate(time.Second)
	if !r.Ended.Equal(end) || !after.Ended.Equal(end) || after.Cause != before.Cause || !after.Started.Equal(before.Started) || after.Incarnation != before.Incarnation {
		t.Errorf("ended %v, want %v\nbefore %+v\nafter  %+v", r.Ended, end, before, after)
	}
}

// TestEndedLongAgoIsShown: a job whose end more than a day ago is noticed only now stays in the report
// for a day.
func TestEndedLongAgoIsShown(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4), Accounting: true}})
	runs := ledgerOf(2, w.Now())
	for i := range runs {
		runs[i].End = runs[i].Start.Add(time.Minute)
	}
	w.Slurm.Keep(runs...)
	kept := new(journal.Memory)
	onceThere(t, kept, 2, w.Now())
	d := boot(t, w, kept, "lookahead", func(cfg *engine.Config) { cfg.Accountant = w.Client })
	drive(t, w, d, 23*time.Hour)
	if jobs := d.Report().Jobs; len(jobs) != 2 || jobs[0].Ending.How != journal.Failed || w.Now().Sub(jobs[0].Record.Ended) < 60*time.Hour {
		t.Errorf("%+v", jobs)
	}
	drive(t, w, d, 2*time.Hour)
	if jobs := d.Report().Jobs; len(jobs) != 0 {
		t.Errorf("after another day: %+v", jobs)
	}
}
