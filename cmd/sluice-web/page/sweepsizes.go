package page

import (
	"slices"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// laneSizes are the runs of a user's jobs, by job: the GPUs that a lane had at a time.
type laneSizes map[int64][]wire.Segment

// at is the number of GPUs that a lane had; 0 = not known.
func (l laneSizes) at(job int64, t time.Time) int {
	for _, r := range slices.Backward(l[job]) {
		if r.Started.IsZero() || r.Started.After(t) {
			continue
		}
		if !r.Ended.IsZero() && t.After(r.Ended.Add(sizeSlack)) {
			return 0
		}
		return r.GPUs
	}
	return 0
}

// Bounds of sweepSizes.
const (
	sizesFor  = 15 * time.Second // an answer counts for so long: pages that follow ask often
	sizesKept = 16
	sizeSlack = time.Minute // clocks differ, and a run's end is seen late
)

// sweepSizes are the sizes of the lanes of the sweeps that were looked at last.
type sweepSizes struct {
	mu  sync.Mutex
	all map[sizesKey]sizesKnown
}

type sizesKey struct {
	viewer, user string
	sweep        int64
}

type sizesKnown struct {
	at    time.Time
	sizes laneSizes
}

// of returns the runs of its user's jobs since a sweep was submitted; nil if they are not known.
func (s *sweepSizes) of(v *visit, row sweepRow) laneSizes {
	key, since := sizesKey{v.viewer.Name, row.User, row.Number}, row.Created
	s.mu.Lock()
	was, known := s.all[key]
	s.mu.Unlock()
	if age := v.now.Sub(was.at); known && age >= 0 && age < sizesFor {
		return was.sizes
	}
	out := laneSizes{}
	if oldest := v.now.AddDate(0, 0, -360); since.Before(oldest) { // no longer range is answered
		since = oldest
	}
	q := client.PastQuery{Of: wire.OfJobs, From: since.Add(-time.Minute), User: row.User, Limit: wire.PastRowsMost}
	for range 40 { // a page may have few rows of this user, or none; its context bounds the time
		past, err := v.daemon.Past(v.Context(), q)
		if err != nil {
			break // the curves have no colours then
		}
		for _, j := range past.Jobs {
			out[j.JobID] = j.Runs
		}
		if q.Cursor = past.Next; q.Cursor == "" {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= sizesKept {
		s.all = map[sizesKey]sizesKnown{}
	}
	s.all[key] = sizesKnown{v.now, out}
	return out
}
