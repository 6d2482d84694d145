package contract

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Both is what the suite tests.
type Both interface {
	journal.Journal
	journal.Samples
}

// Subject is one implementation under test.
type Subject struct {
	Both
	// Reopen closes and opens the store; its contents MUST survive. nil for an implementation
	// that promises no durability.
	Reopen func() Both
}

// day is the time of the tests.
var day = time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC)

// Run runs the suite; fresh makes an empty subject.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"fixtures", testFixtures},
		{"empty", testEmpty},
		{"intents", testIntents},
		{"one open move a job", testOneOpen},
		{"closing", testClosing},
		{"written", testWritten},
		{"jobs", testJobs},
		{"segments", testSegments},
		{"health", testHealth},
		{"answers", testAnswers},
		{"credits", testCredits},
		{"samples", testSamples},
		{"sample bound", testSampleBound},
		{"series bound", testSeriesBound},
		{"cancelled", testCancelled},
		{"values", testValues},
		{"model", testModel},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
}

// again returns the subject after a restart, if it supports one.
func (s Subject) again() Both {
	if s.Reopen == nil {
		return s.Both
	}
	return s.Reopen()
}

// An empty journal answers every question with nothing, and saving nothing is no error.
func testEmpty(t *testing.T, s Subject) {
	ctx := t.Context()
	open, err := s.Open(ctx)
	equal(t, open, nil, err)
	jobs, err := s.Jobs(ctx, time.Time{})
	equal(t, jobs, nil, err)
	segments, err := s.Segments(ctx, "none")
	equal(t, segments, nil, err)
	samples, err := s.Samples(ctx, "none", 10)
	equal(t, len(samples), 0, err)
	health, err := s.Health(ctx)
	equal(t, health, nil, err)
	answers, err := s.Answers(ctx)
	equal(t, answers, nil, err)
	equal(t, nil, nil, s.SaveAnswers(ctx, nil))
	credits, err := s.Credits(ctx)
	equal(t, credits, nil, err)
	equal(t, nil, nil, s.SaveCredits(ctx, nil))
	none, err := s.Intend(ctx, nil)
	equal(t, len(none), 0, err)
	equal(t, nil, nil, s.SaveJobs(ctx, nil))
	equal(t, nil, nil, s.SaveSegments(ctx, nil))
	equal(t, nil, nil, s.SaveHealth(ctx, nil))
	equal(t, nil, nil, s.AddSamples(ctx, "none", nil))
}

// Intent returns a resize with every field set.
func Intent(job elastic.JobID) elastic.Intent {
	return elastic.Intent{
		Job: job, Kind: elastic.Resize, Step: elastic.Intended, To: 3,
		From: nodes.Placement{{Node: "gpu1", GPUs: 2}}, Target: nodes.Placement{{Node: "gpu1", GPUs: 4}, {Node: "gpu2", GPUs: 1}},
		AnyNodes: true, Restarts: 2, Request: "r-1", Checkpoint: "00000007", Cause: because(),
		Opened: day, Moved: day.Add(time.Second), AskedAt: day.Add(2), SavedAt: day.Add(3), RequeuedAt: day.Add(4),
		PendingAt: day.Add(5), ReleasedAt: day.Add(6), Fallbacks: 1,
	}
}

// IDs ascend, the caller's values are not changed, Advance replaces the whole intent, and an
// intent is found only by its ID and its job together.
func testIntents(t *testing.T, s Subject) {
	ctx := t.Context()
	given := []elastic.Intent{Intent(1), {Job: 2, Kind: elastic.Start, Step: elastic.Requeued}}
	got, err := s.Intend(ctx, given)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v %v", got, err)
	}
	if given[0].ID != 0 {
		t.Error("the caller's own intents were changed")
	}
	if got[0].ID < 1 || got[1].ID <= got[0].ID {
		t.Errorf("IDs %d, %d do not ascend from 1", got[0].ID, got[1].ID)
	}
	want := Intent(1)
	want.ID = got[0].ID
	equal(t, got[0], want, nil)
	open, err := s.again().Open(ctx)
	equal(t, open, got, err)

	got[0].Step, got[0].SavedAt, got[0].Checkpoint = elastic.Verified, day.Add(time.Hour), "00000008"
	equal(t, nil, nil, s.again().Advance(ctx, got[0]))
	open, err = s.again().Open(ctx)
	equal(t, open, got, err)

	for _, stranger := range []elastic.Intent{{ID: 999, Job: 1}, {ID: got[0].ID, Job: 2}} {
		if err := s.again().Advance(ctx, stranger); !errors.Is(err, journal.ErrNoIntent) {
			t.Errorf("advance of an intent that is not there: %v", err)
		}
	}
}

// A job has at most one open move. A call with several intents stores all or none, also if two
// of them are of one job.
func testOneOpen(t *testing.T, s Subject) {
	ctx := t.Context()
	first, err := s.Intend(ctx, []elastic.Intent{Intent(1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]elastic.Intent{{Intent(2), Intent(1)}, {Intent(3), Intent(3)}} {
		if got, err := s.Intend(ctx, bad); !errors.Is(err, journal.ErrIntentOpen) || got != nil {
			t.Errorf("second open move: %v %v", got, err)
		}
	}
	open, err := s.again().Open(ctx)
	equal(t, open, first, err) // all or none
	equal(t, nil, nil, s.again().Close(ctx, first[0], elastic.Done, nil, day))
	second, err := s.again().Intend(ctx, []elastic.Intent{Intent(1)})
	if err != nil || second[0].ID <= first[0].ID {
		t.Errorf("after closing: %v %v", second, err)
	}
}

// Written counts open and closed moves from the step on in which the incarnation is written, and
// returns the highest, not the last.
func testWritten(t *testing.T, s Subject) {
	ctx := t.Context()
	move := func(job elastic.JobID, to int, step elastic.Step, end bool) {
		t.Helper()
		in := Intent(job)
		in.To, in.Step = to, elastic.Intended
		got, err := s.Intend(ctx, []elastic.Intent{in})
		if err != nil {
			t.Fatal(err)
		}
		got[0].Step = step
		if end {
			equal(t, nil, nil, s.Close(ctx, got[0], elastic.Done, nil, day))
		} else {
			equal(t, nil, nil, s.Advance(ctx, got[0]))
		}
	}
	got, err := s.Written(ctx)
	equal(t, got, map[elastic.JobID]int{}, err)
	move(1, 3, elastic.Released, true)
	move(1, 4, elastic.Requeued, true)
	move(1, 2, elastic.Written, false)
	move(2, 7, elastic.Written, false)
	move(3, 1, elastic.Requeued, false)
	got, err = s.again().Written(ctx)
	equal(t, got, map[elastic.JobID]int{1: 3, 2: 7}, err)
}

// A closed intent cannot be advanced, and closing it again is no error.
func testClosing(t *testing.T, s Subject) {
	ctx := t.Context()
	got, err := s.Intend(ctx, []elastic.Intent{Intent(1), Intent(2)})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, nil, nil, s.Close(ctx, got[0], elastic.Abandoned, reason.GraceOver, day))
	equal(t, nil, nil, s.again().Close(ctx, got[0], elastic.Done, reason.PassAsked, day))
	open, err := s.again().Open(ctx)
	equal(t, open, got[1:], err)
	if err := s.again().Advance(ctx, got[0]); !errors.Is(err, journal.ErrNoIntent) {
		t.Errorf("advance after closing: %v", err)
	}
	if err := s.again().Close(ctx, elastic.Intent{ID: 77, Job: 1}, elastic.Done, nil, day); !errors.Is(err, journal.ErrNoIntent) {
		t.Errorf("closing what was never opened: %v", err)
	}
}

// Jobs are ordered by submission, then id. since excludes what ended at that time exactly.
func testJobs(t *testing.T, s Subject) {
	ctx := t.Context()
	late, early, twin, ended := Job("c", 3), Job("b", 2), Job("a", 1), Job("d", 4)
	late.Submitted = day.Add(time.Hour)
	ended.Ended = day.Add(time.Minute)
	all := []journal.JobRecord{late, early, twin, ended}
	equal(t, nil, nil, s.SaveJobs(ctx, all))
	got, err := s.again().Jobs(ctx, day)
	equal(t, got, []journal.JobRecord{twin, early, ended, late}, err)
	got, err = s.again().Jobs(ctx, ended.Ended)
	equal(t, got, []journal.JobRecord{twin, early, late}, err)

	early.State, early.Place, early.Done, early.Ended = "COMPLETED", nil, 10, day.Add(2*time.Minute)
	equal(t, nil, nil, s.again().SaveJobs(ctx, []journal.JobRecord{early}))
	got, err = s.again().Jobs(ctx, day.Add(time.Minute))
	equal(t, got, []journal.JobRecord{twin, early, late}, err)
	got, err = s.again().Jobs(ctx, time.Time{})
	equal(t, len(got), 4, err)
}

// Job returns a record with every field set.
func Job(token string, id elastic.JobID) journal.JobRecord {
	return journal.JobRecord{
		Token:    token,
		Identity: journal.Identity{ID: id, Name: "train; drop table jobs", Owner: elastic.Owner{User: "ann", UID: 4294967294}, SlurmUID: 4294967293, Partition: "gpu", Account: journal.Account{Name: "phys \"1\"", Known: true}},
		Tag: elastic.Tag{Own: true, For: "ann", Notices: elastic.Notices{Begin: true, Requeue: true, Mail: true, Webhook: true, To: "a@b.c"}, Deferred: true, Begin: day.Add(2 * time.Hour), SbatchBegin: true, Partition: "gpu", Spec: elastic.Spec{Token: token, Min: 1, Max: 8, Sizes: []int{1, 2, 4}, Total: 12.5, Unit: elastic.Epochs,
			Model: "resnet ☂", Signal: "USR2", Grace: time.Minute, CPUsPerGPU: 4, MemPerGPUMB: 1 << 40, AllowUneven: true,
			Habit: true, Again: true, Profile: []int{1, 4}, Script: "0123456789ab", Sweep: "cccccccccccccccccccccccccccccccc", Nodes: 2, Types: []string{"a100"}, Array: elastic.Array{Job: 101, Index: 3, Count: 16, Limit: 4, Open: true}, Deadline: day.Add(time.Hour), Soft: true},
			Incarnation: 3, Directive: elastic.Directive{Pin: 2, Hold: true}, Comment: "mine"},
		Life:     journal.Life{Submitted: day, FirstRun: day.Add(1), State: "RUNNING"},
		LastRun:  journal.LastRun{Place: nodes.Placement{{Node: "gpu1", GPUs: 2}}, Restarts: 3},
		Signs:    journal.Signs{Speaks: true, Deaf: 1, Done: 3.25, Offset: 1 << 40},
		Moved:    day.Add(2),
		Price:    elastic.Price{Save: 1, Drain: 2, Start: 3, Load: 4, Measured: 5},
		Promised: true,
		Barred:   true,
		Ending:   journal.Ending{How: journal.Failed, Code: 3, Signal: "9", Ran: true, Output: "/home/alice/x.out", Reason: "NonZeroExitCode", Nodes: []string{"gpu1"}, Limit: time.Hour, Declared: 1800.5, Had: 3601.25, Words: &checkpoint.LastWords{Why: "exit code 3", Lines: []string{"oh \"no\""}}},
	}
}

// segment returns a run with every field set.
func segment(token string, restarts int) journal.Segment {
	return journal.Segment{Token: token, Restarts: restarts, Incarnation: 1, Place: nodes.Placement{{Node: "gpu1", GPUs: 4}},
		Started: day, Ended: day.Add(time.Hour), DoneFrom: 1.5, DoneTo: 2.5, Seconds: 0.125, Cause: because(),
		Price: elastic.Price{Save: time.Second, Drain: 2, Start: 3, Load: 4, Measured: 1}}
}

// A segment is replaced by token and restarts.
func testSegments(t *testing.T, s Subject) {
	ctx := t.Context()
	running := segment("a", 2)
	running.Ended = time.Time{}
	equal(t, nil, nil, s.SaveSegments(ctx, []journal.Segment{running, segment("b", 0), segment("a", 0)}))
	got, err := s.again().Segments(ctx, "a")
	equal(t, got, []journal.Segment{segment("a", 0), running}, err)
	running.Ended, running.DoneTo = day.Add(2*time.Hour), 9
	equal(t, nil, nil, s.again().SaveSegments(ctx, []journal.Segment{running}))
	got, err = s.again().Segments(ctx, "a")
	equal(t, got, []journal.Segment{segment("a", 0), running}, err)
}

// complaint returns a complaint with every field set.
func complaint(node, gpu string, uid uint32) elastic.Complaint {
	return elastic.Complaint{Sighting: elastic.Sighting{Node: node, GPU: gpu, Label: "GPU 1 ☂", Job: 1 << 40, UID: uid, User: "ann",
		Unfit: "XID 79: 'fallen' off\x00 the bus"}, First: day, Last: day.Add(time.Hour), Muted: true, Confirmed: true}
}

// SaveHealth replaces all complaints, and Health returns a copy.
func testHealth(t *testing.T, s Subject) {
	ctx := t.Context()
	all := elastic.Health{complaint("gpu1", "0", 4294967294), complaint("gpu1", "GPU-1", 7), complaint("gpu1", "GPU-1", 8), complaint("gpu2", "0", 7)}
	all[2].Muted, all[3].Confirmed, all[3].Unfit = false, false, ""
	equal(t, nil, nil, s.SaveHealth(ctx, all))
	got, err := s.again().Health(ctx)
	equal(t, got, all, err)
	got[0].Node = "the caller's own"
	got, err = s.again().Health(ctx)
	equal(t, got, all, err)
	// The next save replaces all of it.
	equal(t, nil, nil, s.again().SaveHealth(ctx, all[1:2]))
	got, err = s.again().Health(ctx)
	equal(t, got, all[1:2], err)
	equal(t, nil, nil, s.again().SaveHealth(ctx, nil))
	got, err = s.again().Health(ctx)
	equal(t, got, nil, err)
}

// Answers are ordered by user, then key, whatever the order of saving.
func testAnswers(t *testing.T, s Subject) {
	ctx := t.Context()
	script := journal.Answer{UID: 7, Key: "script/0123456789ab", At: day.Add(1)}
	all := []journal.Answer{{UID: 7, Key: "model/it's ☂", At: day}, script, {UID: 4294967294, Key: script.Key, At: day}}
	equal(t, nil, nil, s.SaveAnswers(ctx, []journal.Answer{all[2], all[1], all[0]}))
	got, err := s.again().Answers(ctx)
	equal(t, got, all, err)
	// One with a zero time is deleted; the others stay.
	all[1].At = day.Add(time.Hour)
	equal(t, nil, nil, s.again().SaveAnswers(ctx, []journal.Answer{{UID: 7, Key: all[0].Key}, all[1], {UID: 8, Key: "never/there"}}))
	got, err = s.again().Answers(ctx)
	equal(t, got, all[1:], err)
}

// Credits are ordered by account, then user, whatever the order of saving. What is not a number is
// nothing.
func testCredits(t *testing.T, s Subject) {
	ctx := t.Context()
	of := func(account, user string, seconds float64) journal.Credit {
		return journal.Credit{CreditKey: journal.CreditKey{Account: account, User: user}, Seconds: seconds, At: day.Add(1)}
	}
	all := []journal.Credit{of("", "eve", 1), of("bio", "it's ☂", -1e17), of("phys", "ann", .25), of("phys", "bob", 7)}
	equal(t, nil, nil, s.SaveCredits(ctx, []journal.Credit{all[3], all[0], all[2], all[1], of("phys", "cat", math.NaN())}))
	got, err := s.again().Credits(ctx)
	equal(t, got, all, err)
	// One of 0 is deleted; the others stay.
	all[2].Seconds, all[2].At = -3, day.Add(time.Hour)
	equal(t, nil, nil, s.again().SaveCredits(ctx, []journal.Credit{of("", "eve", 0), all[2], of("phys", "bob", math.Inf(1)), of("never", "there", 0)}))
	got, err = s.again().Credits(ctx)
	equal(t, got, all[1:3], err)
}

// A call with a cancelled context changes nothing.
func testCancelled(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, err := range map[string]error{
		"SaveJobs":     s.SaveJobs(ctx, []journal.JobRecord{Job("a", 1)}),
		"SaveSegments": s.SaveSegments(ctx, []journal.Segment{{Token: "a"}}),
		"SaveHealth":   s.SaveHealth(ctx, elastic.Health{complaint("gpu1", "0", 7)}),
		"SaveAnswers":  s.SaveAnswers(ctx, []journal.Answer{{UID: 7, Key: "model/m", At: day}}),
		"SaveCredits":  s.SaveCredits(ctx, []journal.Credit{{CreditKey: journal.CreditKey{Account: "a"}, Seconds: 1}}),
		"AddSamples":   s.AddSamples(ctx, "m", []speed.Sample{sample(1, day)}),
		"Advance":      s.Advance(ctx, Intent(1)),
		"Close":        s.Close(ctx, Intent(1), elastic.Done, nil, day),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.Intend(ctx, []elastic.Intent{Intent(1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Intend: %v", err)
	}
	if _, err := s.Jobs(ctx, time.Time{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Jobs: %v", err)
	}
	testEmpty(t, s)
}

// equal fails unless err is nil and got is want.
func equal(t *testing.T, got, want any, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if isNil(got) && isNil(want) || reflect.DeepEqual(got, want) {
		return
	}
	t.Errorf("got\n%+v\nwant\n%+v", got, want)
}

func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Slice && r.Len() == 0
}
