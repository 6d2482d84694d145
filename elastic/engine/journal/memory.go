package journal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/learn"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// MaxSamples bounds the samples of one key that are stored and used: the newest ones.
const MaxSamples = learn.MaxSamples

// MaxSeries bounds the series of samples that are stored per owner (see Owner): those with the newest
// samples. A model has up to 3: seconds per epoch, per step, and step times. The bound is needed
// because users can write any model name into a job's comment.
const MaxSeries = 600

// Owner returns the prefix of all keys that count together for MaxSeries: those of one user's models,
// or of all models if users share speeds. It is "" for the series of a single job, which is
// deleted with the job.
//
//	user:1000/model:bert/epoch    user:1000/model:
//	model:bert/epoch              model:
//	job:TOKEN/step                ""
func Owner(key string) string {
	if user, _, ok := strings.Cut(key, "/model:"); ok && strings.HasPrefix(user, "user:") {
		return user + "/model:"
	}
	if strings.HasPrefix(key, "model:") {
		return "model:"
	}
	return ""
}

// Memory is a Journal and Samples in memory, for simulation, dry runs and tests.
// It behaves as the store does, except that it does not survive. The zero value
// is empty and ready; it must not be copied after first use.
//
// All methods are safe for concurrent use. Fail is called with the lock held, so that it MUST NOT
// call the Memory; it MUST be set while no call is under way. Nothing is pruned: closed moves stay,
// as they do in the store until Prune.
type Memory struct {
	// Fail, when set, is called before every write with the method's name. If it returns an
	// error, the write fails with it and changes nothing.
	Fail func(op string) error

	mu       sync.Mutex
	last     int64 // the highest intent ID given
	intents  map[int64]elastic.Intent
	closed   map[int64]bool
	jobs     map[string]JobRecord
	segments map[string]map[int]Segment
	samples  map[string][]speed.Sample
	health   elastic.Health
	answers  map[AnswerKey]time.Time
	credits  map[CreditKey]Credit
}

// Copy returns an independent journal with the same contents. Fail is not copied. Its cost grows
// with what is stored, but the lists inside are shared, which no method changes in place.
func (m *Memory) Copy() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Memory{
		last: m.last, intents: maps.Clone(m.intents), closed: maps.Clone(m.closed), jobs: maps.Clone(m.jobs),
		samples: maps.Clone(m.samples), health: slices.Clone(m.health), answers: maps.Clone(m.answers),
		credits: maps.Clone(m.credits),
	}
	if m.segments != nil {
		c.segments = map[string]map[int]Segment{}
	}
	for token, of := range m.segments {
		c.segments[token] = maps.Clone(of)
	}
	return c
}

// write runs change under the lock, unless ctx has ended or Fail returns an error. change MUST
// check everything BEFORE it changes anything: there is no way back.
func (m *Memory) write(ctx context.Context, op string, change func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.Fail != nil {
		if err := m.Fail(op); err != nil {
			return err
		}
	}
	if m.jobs == nil {
		m.intents, m.closed = map[int64]elastic.Intent{}, map[int64]bool{}
		m.jobs, m.segments = map[string]JobRecord{}, map[string]map[int]Segment{}
		m.samples, m.answers = map[string][]speed.Sample{}, map[AnswerKey]time.Time{}
		m.credits = map[CreditKey]Credit{}
	}
	return change()
}

// Intend stores new intents, all or none, and assigns ascending IDs. It returns ErrIntentOpen if a
// job already has an open intent.
func (m *Memory) Intend(ctx context.Context, ins []elastic.Intent) ([]elastic.Intent, error) {
	out := make([]elastic.Intent, len(ins))
	err := m.write(ctx, "Intend", func() error {
		busy := map[elastic.JobID]bool{}
		for id, in := range m.intents {
			busy[in.Job] = busy[in.Job] || !m.closed[id]
		}
		for i, in := range ins {
			if busy[in.Job] {
				return fmt.Errorf("job %d: %w", in.Job, ErrIntentOpen)
			}
			busy[in.Job] = true
			out[i] = NormalIntent(in)
			out[i].ID = m.last + int64(i) + 1
		}
		for _, in := range out {
			m.intents[in.ID] = in
		}
		m.last += int64(len(out))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = NormalIntent(out[i])
	}
	return out, nil
}

// Advance replaces an open intent; ErrNoIntent if none has that ID and job.
func (m *Memory) Advance(ctx context.Context, in elastic.Intent) error {
	return m.write(ctx, "Advance", func() error {
		if old, ok := m.intents[in.ID]; !ok || m.closed[in.ID] || old.Job != in.Job {
			return fmt.Errorf("job %d, intent %d: %w", in.Job, in.ID, ErrNoIntent)
		}
		m.intents[in.ID] = NormalIntent(in)
		return nil
	})
}

// Close ends an intent. A second call changes nothing.
func (m *Memory) Close(ctx context.Context, in elastic.Intent, _ elastic.Outcome, _ reason.Reason, _ time.Time) error {
	return m.write(ctx, "Close", func() error {
		if old, ok := m.intents[in.ID]; !ok || old.Job != in.Job {
			return fmt.Errorf("job %d, intent %d: %w", in.Job, in.ID, ErrNoIntent)
		}
		if !m.closed[in.ID] {
			m.intents[in.ID], m.closed[in.ID] = NormalIntent(in), true
		}
		return nil
	})
}

// Open returns the open intents in order of ID.
func (m *Memory) Open(ctx context.Context) ([]elastic.Intent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []elastic.Intent
	for _, id := range slices.Sorted(maps.Keys(m.intents)) {
		if !m.closed[id] {
			out = append(out, NormalIntent(m.intents[id]))
		}
	}
	return out, ctx.Err()
}

// Written returns the highest incarnation that each job's moves have written.
func (m *Memory) Written(ctx context.Context) (map[elastic.JobID]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[elastic.JobID]int{}
	for _, in := range m.intents {
		if in.Step >= elastic.Written {
			out[in.Job] = max(out[in.Job], in.To)
		}
	}
	return out, ctx.Err()
}

// SaveJobs inserts or replaces records by token.
func (m *Memory) SaveJobs(ctx context.Context, records []JobRecord) error {
	return m.write(ctx, "SaveJobs", func() error {
		for _, r := range records {
			m.jobs[r.Token] = NormalJob(r)
		}
		return nil
	})
}

// Jobs returns the records that have not ended or ended after since.
func (m *Memory) Jobs(ctx context.Context, since time.Time) ([]JobRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []JobRecord
	for _, r := range m.jobs {
		if r.Ended.IsZero() || r.Ended.After(since) {
			out = append(out, NormalJob(r))
		}
	}
	slices.SortFunc(out, func(a, b JobRecord) int {
		return cmp.Or(a.Submitted.Compare(b.Submitted), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Token, b.Token))
	})
	return out, ctx.Err()
}

// SaveSegments inserts or replaces segments by token and restarts.
func (m *Memory) SaveSegments(ctx context.Context, segments []Segment) error {
	return m.write(ctx, "SaveSegments", func() error {
		for _, s := range segments {
			if m.segments[s.Token] == nil {
				m.segments[s.Token] = map[int]Segment{}
			}
			m.segments[s.Token][s.Restarts] = NormalSegment(s)
		}
		return nil
	})
}

// Segments returns the job's segments in order of restarts.
func (m *Memory) Segments(ctx context.Context, token string) ([]Segment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Segment
	for _, restarts := range slices.Sorted(maps.Keys(m.segments[token])) {
		out = append(out, NormalSegment(m.segments[token][restarts]))
	}
	return out, ctx.Err()
}

// SaveHealth replaces what is said against the GPUs of nodes.
func (m *Memory) SaveHealth(ctx context.Context, h elastic.Health) error {
	return m.write(ctx, "SaveHealth", func() error {
		m.health = NormalHealth(h)
		return nil
	})
}

// Health returns what SaveHealth was given.
func (m *Memory) Health(ctx context.Context) (elastic.Health, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return normalList(m.health), ctx.Err()
}

// AddSamples appends samples and deletes all but the newest MaxSamples of the model.
func (m *Memory) AddSamples(ctx context.Context, model string, samples []speed.Sample) error {
	return m.write(ctx, "AddSamples", func() error {
		all := slices.Clone(m.samples[model])
		for _, s := range samples {
			all = append(all, NormalSample(s))
		}
		slices.SortStableFunc(all, func(a, b speed.Sample) int { return a.At.Compare(b.At) })
		m.samples[model] = all[max(0, len(all)-MaxSamples):]
		m.forgetSeries(Owner(model))
		return nil
	})
}

// forgetSeries deletes an owner's series beyond MaxSeries, those with the oldest samples first.
func (m *Memory) forgetSeries(owner string) {
	if owner == "" || len(m.samples) <= MaxSeries {
		return
	}
	var of []string
	for key := range m.samples {
		if strings.HasPrefix(key, owner) {
			of = append(of, key)
		}
	}
	slices.SortFunc(of, func(a, b string) int {
		return cmp.Or(newestOf(m.samples[b]).Compare(newestOf(m.samples[a])), cmp.Compare(b, a))
	})
	for _, key := range of[min(len(of), MaxSeries):] {
		delete(m.samples, key)
	}
}

// newestOf returns the time of the newest sample. samples MUST be in order of time.
func newestOf(samples []speed.Sample) time.Time {
	if len(samples) == 0 {
		return time.Time{}
	}
	return samples[len(samples)-1].At
}

// Samples returns the newest samples of a model, oldest first.
func (m *Memory) Samples(ctx context.Context, model string, limit int) ([]speed.Sample, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.samples[model]
	return slices.Clone(all[max(0, len(all)-max(limit, 0)):]), ctx.Err()
}

// NormalIntent returns the intent as a Journal returns it: times in UTC and without monotonic
// clock, empty lists nil, lists copied. Implementations MUST apply it to what they store and what
// they return, so that a caller that changes a list does not change the journal.
func NormalIntent(in elastic.Intent) elastic.Intent {
	in.From, in.Target, in.Cause = normalList(in.From), normalList(in.Target), reason.Normal(in.Cause)
	for _, t := range in.Times() {
		*t = normalTime(*t)
	}
	return in
}

// NormalJob is NormalIntent for records.
func NormalJob(r JobRecord) JobRecord {
	r.Place, r.Tag.Spec.Sizes = normalList(r.Place), normalList(r.Tag.Spec.Sizes)
	r.Tag.Spec.Types, r.Ending.Nodes = normalList(r.Tag.Spec.Types), normalList(r.Ending.Nodes)
	for _, t := range []*time.Time{&r.Submitted, &r.FirstRun, &r.Ended, &r.Moved, &r.Tag.Spec.Deadline} {
		*t = normalTime(*t)
	}
	r.Done, r.Tag.Spec.Total = finite(r.Done), finite(r.Tag.Spec.Total)
	r.Ending.Declared, r.Ending.Had = finite(r.Ending.Declared), finite(r.Ending.Had)
	if !r.Account.Known {
		r.Account = Account{}
	}
	return r
}

// NormalSegment is NormalIntent for segments.
func NormalSegment(s Segment) Segment {
	s.Cause = reason.Normal(s.Cause)
	s.Place = normalList(s.Place)
	s.Started, s.Ended = normalTime(s.Started), normalTime(s.Ended)
	s.DoneFrom, s.DoneTo, s.Seconds = finite(s.DoneFrom), finite(s.DoneTo), finite(s.Seconds)
	return s
}

// NormalSample is NormalIntent for samples.
func NormalSample(s speed.Sample) speed.Sample {
	s.At, s.Seconds, s.Units = normalTime(s.At), finite(s.Seconds), finite(s.Units)
	return s
}

// NormalHealth is NormalIntent for complaints about GPUs.
func NormalHealth(h elastic.Health) elastic.Health {
	h = normalList(h)
	for i := range h {
		h[i].First, h[i].Last = normalTime(h[i].First), normalTime(h[i].Last)
	}
	return h
}

// normalList returns a copy; nil for an empty list, so that a list that was read equals the one
// that was stored.
func normalList[S ~[]E, E any](list S) S {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}

// normalTime returns t in UTC. Times that nanoseconds since 1970 cannot represent (before 1678,
// after 2261) become zero, which means unknown.
func normalTime(t time.Time) time.Time {
	if t.Year() < 1678 || t.Year() > 2261 {
		return time.Time{}
	}
	return t.Round(0).UTC()
}

// finite replaces NaN and infinities, which a program may report, by 0. JSON and SQLite cannot
// represent NaN, and an infinite amount of work is meaningless.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
