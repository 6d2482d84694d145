package store

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// story is what a daemon does with its store, in steps of one transaction each. After a crash
// the store must have its contents before or after the step.
type story struct {
	path  string
	s     *Store
	moves map[elastic.JobID]elastic.Intent
	notes []string // notices of the opening
	short bool     // only a start, on existing files
}

// never is a context that cannot be cancelled; see disktest.Watch.Do.
var never = context.Background()

func newStory(root string) *story {
	return &story{path: filepath.Join(root, "state", "sluice.db"), moves: map[elastic.JobID]elastic.Intent{}}
}

// steps returns the story. A failed step may be repeated.
func (y *story) steps() []func() error {
	if y.short {
		return []func() error{y.open, y.save(1, 3, false), y.health(2, 0), y.shutdown}
	}
	return []func() error{
		y.open,
		y.intend(1, 2), y.save(1, 8, false), y.health(3, 1), y.advance(1, elastic.Asked), y.history(1, 3), y.history(3, 1), y.speeds("m", 12),
		y.advance(1, elastic.Verified), y.intend(3), y.credits(5, 11), y.end(1), y.save(1, 4, true), y.prune, y.health(2, 4), y.advance(2, elastic.Requeued),
		y.save(20, 30, false), y.advance(3, elastic.Asked), y.end(2), y.speeds("n", 5),
		y.shutdown, y.open,
		y.advance(3, elastic.Released), y.credits(6, -3), y.save(5, 9, true), y.intend(1), y.history(5, 2), y.end(3), y.prune,
		y.shutdown,
	}
}

// open starts a daemon. Its log is folded into the database after a few pages, so that a short
// story covers that too.
func (y *story) open() error {
	s, notes, err := Open(never, y.path, noon)
	y.notes = append(y.notes, notes...)
	if err != nil {
		return err
	}
	y.s = s
	_, err = s.db.ExecContext(never, "PRAGMA wal_autocheckpoint = 14")
	return err
}

func (y *story) shutdown() error {
	s := y.s
	y.s = nil
	if s == nil { // a second try: only the first may fail
		return nil
	}
	return s.Shutdown()
}

func (y *story) intend(jobs ...elastic.JobID) func() error {
	return func() error {
		var ins []elastic.Intent
		for _, j := range jobs {
			ins = append(ins, contract.Intent(j))
		}
		out, err := y.s.Intend(never, ins)
		for _, in := range out {
			y.moves[in.Job] = in
		}
		return err
	}
}

func (y *story) advance(job elastic.JobID, step elastic.Step) func() error {
	return func() error {
		in := y.moves[job]
		in.Step = step
		return y.s.Advance(never, in)
	}
}

func (y *story) end(job elastic.JobID) func() error {
	return func() error { return y.s.Close(never, y.moves[job], elastic.Done, reason.MoveOver, noon) }
}

func (y *story) save(from, to int, ended bool) func() error {
	return func() error {
		var all []journal.JobRecord
		for n := from; n <= to; n++ {
			r := contract.Job("token"+strconv.Itoa(n), elastic.JobID(n))
			r.Done = float64(from) / 3
			if ended {
				r.Ended = noon.Add(time.Duration(n-3) * time.Hour)
			}
			all = append(all, r)
		}
		return y.s.SaveJobs(never, all)
	}
}

func (y *story) history(job, runs int) func() error {
	return func() error {
		var all []journal.Segment
		for n := range runs {
			all = append(all, journal.Segment{Token: "token" + strconv.Itoa(job), Restarts: n, Started: noon, DoneTo: float64(n) / 7, Cause: reason.UserAskedRequeue})
		}
		return y.s.SaveSegments(never, all)
	}
}

func (y *story) speeds(model string, count int) func() error {
	return func() error {
		var all []speed.Sample
		for n := range count {
			all = append(all, speed.Sample{Shape: speed.Shape{GPUs: n + 1, Nodes: 1}, Seconds: 1 / float64(n+1), Units: 1, At: noon.Add(time.Duration(n))})
		}
		return y.s.AddSamples(never, model, all)
	}
}

// health replaces the complaints about GPUs: of this many nodes, by a user that is or is not
// the previous one.
func (y *story) health(count, user int) func() error {
	return func() error {
		var all elastic.Health
		for n := range count {
			all = append(all, elastic.Complaint{Sighting: elastic.Sighting{Node: "gpu" + strconv.Itoa(n), GPU: "0", UID: uint32(1000 + user*n), Unfit: "XID 79"},
				First: noon, Last: noon.Add(time.Duration(user) * time.Minute), Muted: n == 1})
		}
		return y.s.SaveHealth(never, all)
	}
}

// credits saves so many credits of shares; of 0 every third.
func (y *story) credits(count, of int) func() error {
	return func() error {
		var all []journal.Credit
		for n := range count {
			all = append(all, journal.Credit{CreditKey: journal.CreditKey{Account: "phys", User: "u" + strconv.Itoa(n)}, Seconds: float64(of*(n%3)) / 7, At: noon})
		}
		return y.s.SaveCredits(never, all)
	}
}

func (y *story) prune() error { return y.s.Prune(never, noon) }

// dump returns everything in the store, for comparison; "" while it is closed.
func (y *story) dump() (string, error) {
	if y.s == nil {
		return "", nil
	}
	return dump(y.s)
}

func dump(s *Store) (string, error) {
	open, err1 := s.Open(never)
	jobs, err2 := s.Jobs(never, time.Time{})
	health, err3 := s.Health(never)
	credits, err4 := s.Credits(never)
	errs := []error{err1, err2, err3, err4}
	all := []any{open, jobs, health, credits}
	for _, token := range []string{"token1", "token3", "token5"} {
		runs, err := s.Segments(never, token)
		all, errs = append(all, runs), append(errs, err)
	}
	for _, model := range []string{"m", "n"} {
		samples, err := s.Samples(never, model, 1000)
		all, errs = append(all, samples), append(errs, err)
	}
	for _, of := range tables {
		total, err := readTally(never, s.db, of.name)
		if err == nil && of.id {
			all = append(all, total.last) // the next id
		}
		errs = append(errs, err)
	}
	raw, err := json.Marshal(all)
	return string(raw), errors.Join(append(errs, err)...)
}

// opened opens a store in a folder, dumps it, and closes it again.
func opened(root string) (said string, notices []string, err error) {
	y := newStory(root)
	if err := y.open(); err != nil {
		return "", y.notes, err
	}
	said, err = y.dump()
	return said, y.notes, errors.Join(err, y.s.Shutdown())
}

// campaign returns how many mutations to try where enumerating all would take too long:
// SLUICE_STORE_MUTATIONS, or usual.
func campaign(t *testing.T, usual int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("SLUICE_STORE_MUTATIONS"))
	if err != nil || n < 1 {
		return usual
	}
	return n
}

// counted prints a figure in the format of reports.
func counted(t *testing.T, name string, n int) {
	t.Helper()
	t.Logf("reliability: %s %d", name, n)
	if n == 0 {
		t.Errorf("%s: none; the test tests nothing", name)
	}
}
