package forecast

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// Submission is a sweep that is tried as if its user submitted it at the moment of the snapshot. Its
// lanes are taken to be able to save, and to have no limits of the site.
type Submission struct {
	Name, User string
	UID        uint32
	Partition  string // "" = any
	Min, Max   int    // GPUs of a lane, at least 1
	Lanes      int    // at least 1
	Trials     int
	Each       float64 // seconds that a trial takes in a lane, above 0
}

// usualStart is what a start costs where no job's was measured.
const usualStart = 30 * time.Second

// In returns the snapshot with the lanes behind all other jobs, and their numbers, which no job has. The
// given snapshot is not changed.
func (c Submission) In(s elastic.Snapshot) (elastic.Snapshot, []elastic.JobID) {
	last, price := elastic.JobID(0), elastic.Price{Start: usualStart, Measured: 1}
	for i := range s.Jobs {
		last = max(last, s.Jobs[i].ID)
		if s.Jobs[i].Price.Measured > 0 {
			price = s.Jobs[i].Price
		}
	}
	const token = "submission" // no sweep has it: a token is of hex digits
	sweeps := map[string]elastic.Sweep{token: {Number: last + 1, Wants: min(c.Lanes, c.Trials), Bid: 1, Left: c.Trials, Each: c.Each}}
	maps.Copy(sweeps, s.Sweeps)
	s.Sweeps, s.Jobs = sweeps, slices.Clone(s.Jobs)
	var numbers []elastic.JobID
	for k := range min(c.Lanes, c.Trials) {
		id := last + 1 + elastic.JobID(k)
		numbers = append(numbers, id)
		s.Jobs = append(s.Jobs, elastic.Job{
			ID: id, Name: fmt.Sprintf("%s.%d", c.Name, k+1), User: c.User, UID: c.UID, Partition: c.Partition, Phase: elastic.Waiting, Submitted: s.Now,
			Spec: elastic.Spec{Min: c.Min, Max: c.Max, Sweep: token}, Speaks: true, Price: price,
		})
	}
	return s, numbers
}
