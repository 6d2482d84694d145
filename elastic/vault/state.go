package vault

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// Job is a confined job.
type Job struct {
	ID, User, Script string
	Sets             []string
	Network          string     // as in fence.json
	Task             *wire.Task // of an array, as in its entry; nil = a single job
	Digest, Bundle   string     // SHA-256 of the script and of the tar of the code
	Number           int64      // Slurm's; 0 = not known
	Submitted        time.Time
	State            string // as wire.Job
	Counted          int64  // bytes in the budgets, with Numbers
	Numbers          int64  // bytes of progress that leave while it runs
	Ended            time.Time
	Log, LogRaw      int64 // bytes of the log that left, and that were read for it
	Files            map[string]*File
	Attempts         []Attempt // denied calls as the record has them
	Uncounted        string    // why some were not counted
}

// File is a file of a job of which something left: itself, or its name.
type File struct {
	Name, Digest string
	Size         int64
	State        string           // as wire.File
	Changed      bool             // its user was told that it has other content since it left
	Orders       map[string]Order // by data set: the last one of its owner
}

// Order is an owner's order of a review, wire.Allow or wire.Refuse. It holds for content of that digest, and for no other.
type Order struct {
	Digest, Order string
	Size          int64 // of that content, in bytes
}

// SizeOf returns the bytes of the content with that digest that the owner of a data set decides about.
func (f *File) SizeOf(set, digest string) int64 {
	if f.Digest == digest {
		return f.Size
	}
	return f.Orders[set].Size
}

// Ordered returns what the owner of a data set ordered about content of that digest; "" = nothing, and the owner has to.
func (f *File) Ordered(set, digest string) string {
	if f == nil || f.Orders[set].Digest != digest {
		return ""
	}
	return f.Orders[set].Order
}

// use is what counts in the window of a user of a data set: what left from a time to another, as if it had left last.
type use struct {
	from, at time.Time
	cost     int64
}

// steps is the number of uses into which a window is divided at least. There are at most twice as many.
const steps = 1000

// uses is what a user did with a data set.
type uses struct {
	parts []use // logs and files of the present window, in order of time
	jobs  []*Job
}

// State is what the record says.
type State struct {
	sets map[string]*Set
	jobs map[string]*Job
	byID map[int64]*Job
	list []*Job                      // in order of submission
	uses map[string]map[string]*uses // by data set and user
	last time.Time
}

// NewState returns the state of an empty record.
func NewState() *State {
	return &State{sets: map[string]*Set{}, jobs: map[string]*Job{}, byID: map[int64]*Job{}, uses: map[string]map[string]*uses{}}
}

// Now is the time of an entry that is made now: no earlier than the last one, so that a clock
// that was set back opens no window again.
func (s *State) Now(now time.Time) time.Time {
	if now.Before(s.last) {
		return s.last
	}
	return now
}

// Apply takes an entry into the state. The error says that the entry contradicts those before it; the state
// is then unchanged.
func (s *State) Apply(e Entry) error {
	var err error
	switch e.Event {
	case Added, Granted, Revoked:
		err = s.applySet(e)
	case Submitted:
		err = s.applySubmitted(e)
	case Denied, Repaired:
	case Started, Refused, Ended, Told, Released, Changed, Logged, Reviewed, Shown, Cancelled, Attempted:
		err = s.applyJob(e)
	default:
		err = fmt.Errorf("the event %q is not known", e.Event)
	}
	if err != nil {
		return fmt.Errorf("entry %d of the record: %w", e.N, err)
	}
	s.last = s.Now(e.Time)
	return nil
}

func (s *State) applySet(e Entry) error {
	set, known := s.sets[e.Set]
	switch {
	case e.Event == Added && known:
		return fmt.Errorf("the data set %q was added already", e.Set)
	case e.Event == Added:
		release, err := ParseRelease(e.Release)
		if err != nil {
			return err
		}
		added := Set{Name: e.Set, Owner: e.By, Path: e.Path, Readers: e.Readers, Release: release, Nodes: e.Nodes, Kinds: e.Kinds}
		if err := added.Check(); err != nil {
			return err
		}
		s.sets[e.Set] = &added
	case !known:
		return fmt.Errorf("there is no data set %q", e.Set)
	case e.Event == Granted:
		for _, r := range e.Readers {
			if !slices.Contains(set.Readers, r) {
				set.Readers = append(set.Readers, r)
			}
		}
	default:
		set.Readers = slices.DeleteFunc(set.Readers, func(r string) bool { return slices.Contains(e.Readers, r) })
	}
	return nil
}

func (s *State) applySubmitted(e Entry) error {
	if _, known := s.jobs[e.Job]; known || e.Job == "" || len(e.Sets) == 0 || e.By == "" {
		return fmt.Errorf("the job %q cannot be submitted", e.Job)
	}
	for i, name := range e.Sets {
		if s.sets[name] == nil || slices.Contains(e.Sets[:i], name) {
			return fmt.Errorf("there is no data set %q, or it is named twice", name)
		}
	}
	j := &Job{ID: e.Job, User: e.By, Script: e.Script, Sets: e.Sets, Network: e.Network, Task: e.Task, Digest: e.Digest, Bundle: e.Bundle, Submitted: e.Time, State: wire.StateSubmitted,
		Counted: e.Cost, Numbers: e.Cost, Files: map[string]*File{}}
	s.jobs[e.Job], s.list = j, append(s.list, j)
	for _, name := range j.Sets {
		of := s.uses[name]
		if of == nil {
			of = map[string]*uses{}
			s.uses[name] = of
		}
		if of[j.User] == nil {
			of[j.User] = &uses{}
		}
		of[j.User].jobs = append(of[j.User].jobs, j)
	}
	return nil
}

// count adds the cost of an entry to the budgets of its job.
func (s *State) count(j *Job, e Entry) {
	j.Counted += e.Cost
	now := s.Now(e.Time)
	for _, name := range j.Sets {
		of, window := s.uses[name][j.User], s.sets[name].Release.Window
		of.parts = slices.Delete(of.parts, 0, past(of.parts, now.Add(-window)))
		if n := len(of.parts); n > 0 && now.Sub(of.parts[n-1].from) < window/steps {
			of.parts[n-1].at = now
			of.parts[n-1].cost += e.Cost
			continue
		}
		of.parts = append(of.parts, use{now, now, e.Cost})
	}
}

// past is how many uses, which are in order of time, count no more: time never goes back (Now).
func past(parts []use, since time.Time) int {
	n := 0
	for n < len(parts) && !parts[n].at.After(since) {
		n++
	}
	return n
}

func (s *State) applyJob(e Entry) error {
	j := s.jobs[e.Job]
	if j == nil {
		return fmt.Errorf("there is no job %q", e.Job)
	}
	if e.Cost != 0 && j.State != wire.StateStarted && j.State != wire.StateEnded {
		return fmt.Errorf("nothing of the job %q can leave: it was not started", e.Job)
	}
	file := j.Files[e.File]
	switch e.Event {
	case Started: // also of a job that seemed to have ended, and was requeued
		if e.JobID <= 0 || j.State == wire.StateRefused || j.State == wire.StateStarted || j.Number != 0 && j.Number != e.JobID {
			return fmt.Errorf("the job %q cannot start", e.Job)
		}
		j.Number, j.State, j.Ended = e.JobID, wire.StateStarted, time.Time{}
		s.byID[e.JobID] = j // a number that Slurm uses again is the newer job's
	case Refused:
		if j.State != wire.StateSubmitted {
			return fmt.Errorf("the job %q cannot be refused", e.Job)
		}
		j.State, j.Counted, j.Numbers = wire.StateRefused, 0, 0 // nothing of it ever ran
	case Ended: // also of a job that Slurm was never seen to have
		if j.State != wire.StateStarted && j.State != wire.StateSubmitted {
			return fmt.Errorf("the job %q cannot end", e.Job)
		}
		j.State, j.Ended = wire.StateEnded, s.Now(e.Time)
	case Attempted:
		return j.applyAttempts(e)
	case Logged:
		j.Log, j.LogRaw = j.Log+e.Size, j.LogRaw+e.Raw
		s.count(j, e)
	case Told, Released:
		if file != nil && file.State == wire.FileReleased {
			return fmt.Errorf("the file %q of the job %q was released already", e.File, e.Job)
		}
		if file == nil {
			file = &File{Name: e.File, Orders: map[string]Order{}}
			j.Files[e.File] = file
		}
		file.Size, file.Digest, file.State = e.Size, e.Digest, e.State
		if e.Event == Released {
			file.State = wire.FileReleased
		}
		s.count(j, e)
	case Changed:
		if file == nil || file.State != wire.FileReleased || file.Changed {
			return fmt.Errorf("the file %q of the job %q cannot have changed since it left", e.File, e.Job)
		}
		file.Changed = true
		s.count(j, e)
	case Shown:
		if file == nil || !slices.Contains(j.Sets, e.Set) || s.Owners(j) != 1 {
			return fmt.Errorf("the file %q of the job %q cannot be shown", e.File, e.Job)
		}
	case Reviewed:
		if file == nil || e.Digest == "" || !slices.Contains(j.Sets, e.Set) || e.State != wire.Allow && e.State != wire.Refuse {
			return fmt.Errorf("the file %q of the job %q cannot be reviewed", e.File, e.Job)
		}
		file.Orders[e.Set] = Order{e.Digest, e.State, file.SizeOf(e.Set, e.Digest)}
	}
	return nil
}
