package vault

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// Attempt is a call that the fence of a job denied.
type Attempt struct {
	Call    string    `json:"call"`
	Process string    `json:"process,omitempty"` // name of the process; "" = several, not known, or not told
	Count   int64     `json:"count"`             // over the job's life
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// denials is the number of calls.
func denials(all []Attempt) int64 {
	total := int64(0)
	for _, a := range all {
		total += min(a.Count, math.MaxInt64-total)
	}
	return total
}

// Attempt returns the entry about calls of a job that its fence denied, as its nodes counted them; ok is false if
// there is nothing to record. With exact the record gets every change. Else it gets what is new, and then each
// doubling, so that a program that makes many calls fills no disk.
// If the data sets of the job have several owners, the record gets them once it has ended, ordered by call, without
// names of processes, counts rounded down to a power of two and times to the hour: the program chooses all of these, and
// one owner could be told another's data by them.
func (s *State) Attempt(j *Job, counted []Attempt, uncounted string, exact bool) (e Entry, ok bool) {
	if s.Owners(j) > 1 {
		if j.State != wire.StateEnded {
			return e, false
		}
		counted = coarse(counted)
	}
	before, now := denials(j.Attempts), denials(counted)
	switch {
	case now < before: // a node's file was lost
		return e, false
	case uncounted != j.Uncounted || len(counted) > len(j.Attempts):
	case now == before || !exact && now/2 < before:
		return e, false
	}
	if now == 0 && uncounted == "" {
		return e, false
	}
	return Entry{Event: Attempted, By: j.User, Job: j.ID, JobID: j.Number, Attempts: counted, Uncounted: uncounted}, true
}

// Owners is how many owners the data sets of a job have.
func (s *State) Owners(j *Job) int {
	var all []string
	for _, name := range j.Sets {
		if set := s.sets[name]; set != nil && !slices.Contains(all, set.Owner) {
			all = append(all, set.Owner)
		}
	}
	return len(all)
}

// coarse is what every owner may know.
func coarse(counted []Attempt) []Attempt {
	var out []Attempt
	for _, a := range counted {
		a.Process = ""
		i := slices.IndexFunc(out, func(o Attempt) bool { return o.Call == a.Call })
		if i < 0 {
			out = append(out, a)
			continue
		}
		o := &out[i]
		o.Count += min(a.Count, math.MaxInt64-o.Count)
		if a.First.Before(o.First) {
			o.First = a.First
		}
		if a.Last.After(o.Last) {
			o.Last = a.Last
		}
	}
	for i := range out {
		out[i].Count = 1 << (bits.Len64(uint64(out[i].Count)) - 1)
		out[i].First, out[i].Last = out[i].First.Truncate(time.Hour), out[i].Last.Truncate(time.Hour)
	}
	slices.SortFunc(out, func(a, b Attempt) int { return strings.Compare(a.Call, b.Call) })
	return out
}

func (j *Job) applyAttempts(e Entry) error {
	bad := slices.ContainsFunc(e.Attempts, func(a Attempt) bool { return a.Count < 1 || a.Call == "" })
	if bad || denials(e.Attempts) < denials(j.Attempts) {
		return fmt.Errorf("the denied calls of the job %q cannot become fewer", e.Job)
	}
	j.Attempts, j.Uncounted = e.Attempts, e.Uncounted
	return nil
}
