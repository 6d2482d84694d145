package track

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// files is a mailbox of jobs that write the given number of lines between two cycles. It counts what
// was read.
type files struct {
	observe.Mailbox
	writes map[string]int
	size   map[string]int64
	shrink map[string]bool
	read   map[string]int
	asked  map[string]int
}

func (f *files) Progress(token string, _ uint32, offset int64) (lines []checkpoint.Progress, next int64, bad []error, err error) {
	const line = 100 // bytes
	f.asked[token]++
	if f.shrink[token] && offset > 0 {
		offset, bad = 0, []error{fmt.Errorf("progress.jsonl: %w", checkpoint.ErrShortened)}
	}
	for next = offset; next+line <= f.size[token] && len(lines) < 2000; next += line {
		lines = append(lines, checkpoint.Progress{Event: "progress", Done: float64(next / line), Seconds: 1, GPUs: 1})
	}
	f.read[token] += len(lines)
	return lines, next, bad, nil
}

// stored counts the samples that are stored, by key.
type stored struct {
	*journal.Memory
	samples map[string]int
	calls   int
}

func (s *stored) AddSamples(ctx context.Context, key string, samples []speed.Sample) error {
	s.samples[key] += len(samples)
	s.calls++
	return s.Memory.AddSamples(ctx, key, samples)
}

// flooded is a state with jobs of users. They are suspended, so that their reported speed is not
// checked against the clock.
func flooded(jobs map[string]uint32, writes func(token string) int) (*State, *files, *stored) {
	f := &files{writes: map[string]int{}, size: map[string]int64{}, shrink: map[string]bool{}, read: map[string]int{}, asked: map[string]int{}}
	s := &stored{Memory: new(journal.Memory), samples: map[string]int{}}
	e := New(Rules{}, s, func(event.Event) {})
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for token, uid := range jobs {
		id := elastic.JobID(len(e.Jobs) + 1)
		js := &Job{Shown: shown{Seen: true, Slurm: slurm.Job{ID: slurm.JobID(id), State: slurm.Suspended}}, Rec: journal.JobRecord{
			Token:    token,
			Identity: journal.Identity{ID: id, Owner: elastic.Owner{UID: uid}, SlurmUID: uid},
			Life:     journal.Life{Submitted: noon, FirstRun: noon},
			LastRun:  journal.LastRun{Place: nodes.Placement{{Node: "n1", GPUs: 1}}},
		}}
		e.Remember(js)
		f.writes[token] = writes(token)
	}
	return e, f, s
}

// cycle lets the jobs write, and reads and stores the lines.
func (f *files) cycle(t *testing.T, st *State, s *stored, now time.Time) {
	t.Helper()
	for token, n := range f.writes {
		f.size[token] += int64(100 * n)
	}
	eyes := observe.Observer{Mail: f}
	jobs, wanted := Readings(st.Ordered(), now)
	st.HeardLines(jobs, eyes.Progress(wanted), now)
	for _, of := range st.UnsavedSpeeds() {
		if err := s.AddSamples(t.Context(), of.Key, of.Samples()); err != nil {
			t.Fatal(err)
		}
		st.SavedSpeeds(of)
	}
}

// TestAFloodOfLinesIsBounded: 20 jobs of a user write 2,000 lines each between two cycles. No cycle
// reads more than two budgets or stores more than a few samples of each job; every file gets its
// turn; and all lines of another user's job are read in every cycle.
func TestAFloodOfLinesIsBounded(t *testing.T) {
	jobs := map[string]uint32{"honest": 2}
	for n := range 20 {
		jobs[fmt.Sprintf("flood%02d", n)] = 1
	}
	e, f, s := flooded(jobs, func(token string) int {
		if token == "honest" {
			return 3
		}
		return 2000
	})
	now, before, was := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), 0, 0
	for cycle := 1; cycle <= 40; cycle++ {
		now = now.Add(30 * time.Second)
		f.cycle(t, e, s, now)
		lines, samples := 0, 0
		for token, uid := range jobs {
			if uid == 1 {
				lines += f.read[token]
				samples += s.samples["job:"+token+"/epoch"]
			}
		}
		if lines-before > 2*observe.LinesPerUser || samples-was > samplesPerRead*keysPerUser {
			t.Fatalf("cycle %d read %d lines of one user and stored %d samples", cycle, lines-before, samples-was)
		}
		before, was = lines, samples
		if f.read["honest"] != 3*cycle || s.samples["job:honest/epoch"] != 3*cycle {
			t.Fatalf("cycle %d: %d of the other user's %d lines were read, %d samples stored", cycle, f.read["honest"], 3*cycle, s.samples["job:honest/epoch"])
		}
	}
	for token := range jobs {
		if f.read[token] == 0 || s.samples["job:"+token+"/epoch"] == 0 {
			t.Errorf("%s: %d lines read, %d samples stored in 40 cycles", token, f.read[token], s.samples["job:"+token+"/epoch"])
		}
	}
}

// TestManyJobsOfAUserAreStoredInTurn: if a user has more jobs without a model than are stored in a cycle,
// each is stored after a few cycles, and nothing is lost.
func TestManyJobsOfAUserAreStoredInTurn(t *testing.T) {
	jobs := map[string]uint32{}
	for n := range 100 {
		jobs[fmt.Sprintf("job%03d", n)] = 1
	}
	e, f, s := flooded(jobs, func(string) int { return 1 })
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for cycle := range 14 {
		before := s.calls
		now = now.Add(30 * time.Second)
		if f.cycle(t, e, s, now); s.calls-before > keysPerUser {
			t.Fatalf("cycle %d: %d transactions", cycle, s.calls-before)
		}
	}
	for token := range jobs {
		if n := s.samples["job:"+token+"/epoch"]; n < 14-100/keysPerUser-1 {
			t.Errorf("%s: %d of 14 samples are stored", token, n)
		}
	}
}

// TestAShortenedFileIsReadEverLessOften: a file that becomes shorter before every cycle is read from its
// start, at growing intervals; other files are not affected.
func TestAShortenedFileIsReadEverLessOften(t *testing.T) {
	e, f, s := flooded(map[string]uint32{"short": 1, "honest": 1}, func(string) int { return 1 })
	f.shrink["short"] = true
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for range 1000 { // 8 hours
		now = now.Add(30 * time.Second)
		f.cycle(t, e, s, now)
	}
	if f.asked["short"] > 20 || f.asked["short"] < 8 || f.asked["honest"] != 1000 {
		t.Errorf("read %d times, the other %d times", f.asked["short"], f.asked["honest"])
	}
}
