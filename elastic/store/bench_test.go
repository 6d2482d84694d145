package store

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// large makes the store of a busy site: 100,000 samples, 10,000 jobs, their 40,000 runs and
// 20,000 moves.
func large(b *testing.B) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "state", "sluice.db")
	s, _, err := Open(never, path, noon)
	if err != nil {
		b.Fatal(err)
	}
	var jobs []journal.JobRecord
	var runs []journal.Segment
	var moves []elastic.Intent
	for n := range 10000 {
		jobs = append(jobs, contract.Job(fmt.Sprint("token", n), elastic.JobID(n+1)))
		for k := range 4 {
			runs = append(runs, journal.Segment{Token: jobs[n].Token, Restarts: k, Started: noon, Cause: reason.UserAskedRequeue, Place: jobs[n].Place})
		}
		moves = append(moves, contract.Intent(elastic.JobID(2*n)), contract.Intent(elastic.JobID(2*n+1)))
	}
	_, err = s.Intend(never, moves)
	for _, e := range []error{err, s.SaveJobs(never, jobs), s.SaveSegments(never, runs)} {
		if e != nil {
			b.Fatal(e)
		}
	}
	for m := range 25 {
		var all []speed.Sample
		for n := range 4000 {
			all = append(all, speed.Sample{Shape: speed.Shape{GPUs: n%64 + 1, Nodes: 1}, Seconds: 1 / float64(n+1), Units: 1, At: noon})
		}
		if err := s.AddSamples(never, fmt.Sprint("model", m), all); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Shutdown(); err != nil {
		b.Fatal(err)
	}
	return path
}

// Everything in the store is checked at every start, before sluiced decides anything.
func BenchmarkOpenLarge(b *testing.B) {
	path := large(b)
	for b.Loop() {
		s, _, err := Open(never, path, noon)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Shutdown(); err != nil {
			b.Fatal(err)
		}
	}
}

// The additional work of the first start after an upgrade from schema 2.
func BenchmarkSealLarge(b *testing.B) {
	s, _, err := Open(never, large(b), noon)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Shutdown()
	for b.Loop() {
		tx, err := s.db.BeginTx(never, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := seal(never, tx, tables, true); err != nil {
			b.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			b.Fatal(err)
		}
	}
}
