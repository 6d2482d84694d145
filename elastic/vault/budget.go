package vault

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// What leaves with the bytes themselves: of a file its name, size, digest and state; of a part of a log the
// moment at which it was written.
const (
	fileOverhead = 64
	logOverhead  = 8
)

// ChangeCost is what it counts to tell that a file has changed since it left.
const ChangeCost int64 = 8

// FileCost is what a file of that size counts; the name counts once, when it leaves first.
func FileCost(name string, size int64, known bool) int64 {
	if known {
		return size
	}
	return size + NameCost(name)
}

// NameCost is what the name of a file counts.
func NameCost(name string) int64 { return int64(len(name)) + fileOverhead }

// LogCost is what a part of a log counts, of size bytes.
func LogCost(size int64) int64 { return size + logOverhead }

// Room returns the bytes that may still leave with a job of the user with these data sets: the least of
// what each data set leaves it. The job is "" before its submission. It is never negative.
func (s *State) Room(job, user string, sets []string, now time.Time) int64 {
	now = s.Now(now)
	room := MaxBytes
	counted := int64(0)
	if j := s.jobs[job]; j != nil {
		counted = j.Counted
	}
	for _, name := range sets {
		set := s.sets[name]
		if set == nil {
			return 0
		}
		room = min(room, set.Release.Job-counted, set.Release.User-s.window(set, user, now))
	}
	return max(0, room)
}

// Hold returns how many jobs of the user with these data sets can be submitted, each with that many bytes of numbers.
func (s *State) Hold(user string, sets []string, numbers int64, now time.Time) int64 {
	now = s.Now(now)
	jobs := MaxBytes
	for _, name := range sets {
		set := s.sets[name]
		if set == nil || numbers > set.Release.Job {
			return 0
		}
		if numbers > 0 {
			jobs = min(jobs, (set.Release.User-s.window(set, user, now))/numbers)
		}
	}
	return max(0, jobs)
}

// window is what the user's jobs count in the present window of the data set. Numbers leave at any time while
// a job runs, so they count until a window after its end.
func (s *State) window(set *Set, user string, now time.Time) int64 {
	of := s.uses[set.Name][user]
	if of == nil {
		return 0
	}
	since, total := now.Add(-set.Release.Window), int64(0)
	for _, u := range slices.Backward(of.parts) {
		if !u.at.After(since) {
			break // they are in order of time
		}
		total += u.cost
	}
	for _, j := range of.jobs {
		if j.State != wire.StateEnded || j.Ended.After(since) {
			total += j.Numbers
		}
	}
	return total
}

// Fits reports whether the cost still fits into all budgets of a job.
func (s *State) Fits(j *Job, cost int64, now time.Time) bool {
	return cost >= 0 && cost <= s.Room(j.ID, j.User, j.Sets, now)
}

// Decide says what becomes of a file of a job that has ended: wire.FileReleased if it may leave as far as
// kinds and reviews go, wire.FileKept, or wire.FileRefused. A review holds for the digest that was reviewed only.
func (s *State) Decide(j *Job, name, digest string) string {
	known := j.Files[name]
	state := wire.FileReleased
	for _, of := range j.Sets {
		set, order := s.sets[of], known.Ordered(of, digest)
		switch {
		case set == nil || order == wire.Refuse:
			return wire.FileRefused
		case order != wire.Allow && !set.Releases(name):
			state = wire.FileKept
		}
	}
	return state
}

// MayLeave reports whether Decide lets any content of that name leave now.
func (s *State) MayLeave(j *Job, name string) bool {
	known, allowed := j.Files[name], ""
	for _, of := range j.Sets {
		set := s.sets[of]
		switch {
		case set == nil:
			return false
		case set.Releases(name):
		case known == nil || known.Orders[of].Order != wire.Allow || allowed != "" && allowed != known.Orders[of].Digest:
			return false
		default:
			allowed = known.Orders[of].Digest
		}
	}
	return true
}

// Set returns the data set of that name; nil if there is none. The caller MUST NOT change it.
func (s *State) Set(name string) *Set { return s.sets[name] }

// Sets returns all data sets by name.
func (s *State) Sets() []*Set {
	var all []*Set
	for _, set := range s.sets {
		all = append(all, set)
	}
	slices.SortFunc(all, func(a, b *Set) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Jobs returns all jobs in the order of their submission. The caller MUST NOT change them.
func (s *State) Jobs() []*Job { return s.list }

// Job returns the job of that ID; nil if there is none.
func (s *State) Job(id string) *Job { return s.jobs[id] }

// Numbered returns the newest job that has this number in Slurm; nil if there is none.
func (s *State) Numbered(number int64) *Job { return s.byID[number] }

// Taken returns the data set of another owner whose folder is, contains or lies in this one; nil if
// there is none.
func (s *State) Taken(folder, owner string) *Set {
	for _, set := range s.Sets() {
		if set.Owner != owner && Overlaps(set.Path, folder) {
			return set
		}
	}
	return nil
}

// Uses returns what each user did with a data set, by name of the user.
func (s *State) Uses(set string, now time.Time) []wire.Use {
	of := map[string]*wire.Use{}
	for _, j := range s.list {
		if !slices.Contains(j.Sets, set) {
			continue
		}
		u := of[j.User]
		if u == nil {
			u = &wire.Use{User: j.User, Window: s.window(s.sets[set], j.User, s.Now(now))}
			of[j.User] = u
		}
		u.Jobs++
		u.Released += j.Counted
		if Open(j.Network) && j.Number > 0 { // what was never started sent nothing
			u.Open++
		}
		u.Last = j.Submitted
	}
	var all []wire.Use
	for _, u := range of {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b wire.Use) int { return strings.Compare(a.User, b.User) })
	return all
}

// Concerns reports whether an entry is about the data set.
func (s *State) Concerns(e Entry, set string) bool {
	if e.Set == set || slices.Contains(e.Sets, set) {
		return true
	}
	j := s.jobs[e.Job]
	return e.Set == "" && j != nil && slices.Contains(j.Sets, set)
}
