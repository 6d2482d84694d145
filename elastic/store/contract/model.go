package contract

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// testValues stores unusual values and expects them back unchanged or made safe.
func testValues(t *testing.T, s Subject) {
	ctx := t.Context()
	zone := time.FixedZone("east", 3*3600)
	wild := journal.JobRecord{
		Token:    "w",
		Identity: journal.Identity{Name: "a\x00b\n\"'", Owner: elastic.Owner{User: "日本"}, Account: journal.Account{Name: "not known"}},
		Life:     journal.Life{Submitted: day.In(zone), Ended: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
		LastRun:  journal.LastRun{Place: nodes.Placement{}},
		Signs:    journal.Signs{Done: math.NaN()},
		Moved:    time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC),
	}
	wild.Tag.Spec.Total = math.Inf(1)
	equal(t, nil, nil, s.SaveJobs(ctx, []journal.JobRecord{wild}))
	want := journal.JobRecord{Token: "w", Life: journal.Life{Submitted: day}, Identity: journal.Identity{Name: wild.Name, Owner: wild.Owner}}
	got, err := s.again().Jobs(ctx, day)
	equal(t, got, []journal.JobRecord{want}, err)

	segment := journal.Segment{Token: "w", DoneTo: math.Inf(-1), Seconds: math.NaN(), Started: day.In(zone)}
	equal(t, nil, nil, s.again().SaveSegments(ctx, []journal.Segment{segment}))
	segments, err := s.again().Segments(ctx, "w")
	equal(t, segments, []journal.Segment{{Token: "w", Started: day}}, err)

	equal(t, nil, nil, s.again().AddSamples(ctx, "m", []speed.Sample{{Seconds: math.NaN(), At: time.Unix(0, 0)}}))
	samples, err := s.again().Samples(ctx, "m", 1)
	equal(t, samples, []speed.Sample{{At: time.Unix(0, 0).UTC()}}, err)

	// Arguments and results belong to the caller.
	in, err := s.again().Intend(ctx, []elastic.Intent{Intent(5)})
	if err != nil {
		t.Fatal(err)
	}
	in[0].Target[0].GPUs = 99
	open, err := s.again().Open(ctx)
	if err != nil || open[0].Target[0].GPUs == 99 {
		t.Errorf("%v: a list is shared with the caller: %v", err, open)
	}
}

// testModel runs random histories on the subject and on journal.Memory, with restarts, and
// compares the answers.
func testModel(t *testing.T, s Subject) {
	base := elastic.JobID(0)
	rapid.Check(t, func(r *rapid.T) {
		base += 1000 // every history has its own jobs
		twin := &pair{r: r, model: &journal.Memory{}, subject: s.again(), base: base}
		twin.skip()
		for range rapid.IntRange(1, 25).Draw(r, "length") {
			twin.step()
			if rapid.IntRange(0, 9).Draw(r, "restart") == 0 {
				twin.subject = s.again()
			}
			twin.compare()
		}
		twin.closeAll()
	})
}

// pair is one history on two journals. IDs differ between them, so intents are matched by job.
type pair struct {
	r              *rapid.T
	model, subject Both
	base           elastic.JobID
}

// skip checks that no earlier history left a move open.
func (p *pair) skip() {
	if open, err := p.subject.Open(p.r.Context()); err != nil || len(open) > 0 {
		p.r.Fatalf("%v: left open: %v", err, open)
	}
}

// step makes one random call on both. Few jobs are used, so that calls often meet an open move.
func (p *pair) step() {
	ctx, job := p.r.Context(), p.base+elastic.JobID(rapid.IntRange(0, 3).Draw(p.r, "job"))
	switch rapid.IntRange(0, 3).Draw(p.r, "op") {
	case 0:
		ins := []elastic.Intent{Intent(job), Intent(job + elastic.JobID(rapid.IntRange(0, 1).Draw(p.r, "more")))}
		_, e1 := p.model.Intend(ctx, ins)
		_, e2 := p.subject.Intend(ctx, ins)
		p.same(e1, e2)
	case 1:
		a, b := p.find(p.model, job), p.find(p.subject, job)
		a.Step = elastic.Step(rapid.IntRange(1, 7).Draw(p.r, "step"))
		b.Step = a.Step
		p.same(p.model.Advance(ctx, a), p.subject.Advance(ctx, b))
	case 2:
		a, b := p.find(p.model, job), p.find(p.subject, job)
		p.same(p.model.Close(ctx, a, elastic.Done, reason.MoveOver, day), p.subject.Close(ctx, b, elastic.Done, reason.MoveOver, day))
	case 3:
		record := Job(string(rune('a'+job-p.base)), job)
		record.Done = rapid.Float64().Draw(p.r, "done")
		if rapid.Bool().Draw(p.r, "ended") {
			record.Ended = day.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(p.r, "end")))
		}
		record.Tag.Comment = rapid.String().Draw(p.r, "comment")
		record.Account.Known = rapid.Bool().Draw(p.r, "account known")
		p.same(p.model.SaveJobs(ctx, []journal.JobRecord{record}), p.subject.SaveJobs(ctx, []journal.JobRecord{record}))
	}
}

// find returns the job's open intent, or one that does not exist.
func (p *pair) find(b Both, job elastic.JobID) elastic.Intent {
	open, err := b.Open(p.r.Context())
	if err != nil {
		p.r.Fatal(err)
	}
	for _, in := range open {
		if in.Job == job {
			return in
		}
	}
	in := Intent(job)
	in.ID = 1 << 40
	return in
}

// same fails unless both errors are of the same kind; their texts may differ.
func (p *pair) same(a, b error) {
	for _, kind := range []error{journal.ErrIntentOpen, journal.ErrNoIntent} {
		if errors.Is(a, kind) != errors.Is(b, kind) {
			p.r.Fatalf("model says %v, subject %v", a, b)
		}
	}
	if (a == nil) != (b == nil) {
		p.r.Fatalf("model says %v, subject %v", a, b)
	}
}

// compare fails unless both have the same open moves and jobs.
func (p *pair) compare() {
	ctx := p.r.Context()
	a, err1 := p.model.Open(ctx)
	b, err2 := p.subject.Open(ctx)
	p.same(err1, err2)
	for i := range a {
		a[i].ID = 0
	}
	for i := range b {
		b[i].ID = 0
	}
	if !reflect.DeepEqual(a, b) {
		p.r.Fatalf("open moves\n%+v\nwant\n%+v", b, a)
	}
	since := day.Add(5e8)
	want, err1 := p.model.Jobs(ctx, since)
	got, err2 := p.subject.Jobs(ctx, since)
	p.same(err1, err2)
	got = p.own(got)
	if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
		p.r.Fatalf("jobs\n%+v\nwant\n%+v", got, want)
	}
}

// own removes the jobs of earlier histories.
func (p *pair) own(all []journal.JobRecord) []journal.JobRecord {
	var out []journal.JobRecord
	for _, r := range all {
		if r.ID >= p.base {
			out = append(out, r)
		}
	}
	return out
}

// closeAll closes all moves, for the next history on the same subject.
func (p *pair) closeAll() {
	open, err := p.subject.Open(p.r.Context())
	if err != nil {
		p.r.Fatal(err)
	}
	for _, in := range open {
		if err := p.subject.Close(p.r.Context(), in, elastic.Lost, reason.MoveOver, day); err != nil {
			p.r.Fatal(err)
		}
	}
}
