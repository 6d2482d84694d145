package offcycle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Bounds of the work for sweeps.
const (
	mostSweeps     = 32 // sweeps whose folders are read at once
	mostPerUser    = 4  // of one user: a file system that hangs delays its user's sweeps only
	forgottenAfter = 10 * time.Minute
)

// LaneJob is a job that is a lane of a sweep, as the last cycle saw it.
type LaneJob struct {
	Sweep, Lane string // tokens
	Owner       uint32 // whose sweep it is
	SlurmUID    uint32 // whose files it has
	Job         int64
	// Waits: its last run, if there was one, is certainly over. Restarts is Slurm's count then, and
	// that of its next run.
	Ended, Waits bool
	Restarts     int
}

// Live are the lanes that Slurm has.
type Live struct {
	Known bool // false: Slurm does not answer, and nothing is certain
	Lanes []LaneJob
	Idle  bool // GPUs would idle: nothing waits for them
}

// Sweeps keeps the sweeps: it reads what their lanes write, decides with package keeper, records
// that, and tells the lanes. It reads and writes files only, each sweep in a goroutine of its own.
// Slurm is not asked anything.
//
// Run and Look are for one goroutine; any may call Standings, Shown, Digest and Settle. Of each sweep one
// step, or Digest, is under way at a time. A step that hangs holds its own sweep up, and counts against its user
// (mostPerUser) and all (mostSweeps): other sweeps of that user wait then, others' go on.
type Sweeps struct {
	paths SweepPaths
	live  func() Live
	now   func() time.Time
	// Changed, if not nil, is called when a user paused, resumed or ended a sweep: a decision
	// is due. The lock is held then: it MUST NOT call Sweeps, and MUST NOT wait.
	Changed func()

	pruning atomic.Bool

	tell func(token string, err error) // logs what is wrong with a sweep, once; nil = it works again

	mu     sync.Mutex
	known  map[owned]*kept
	busy   int
	looked time.Time // when the lanes were last asked for because of the time alone
	byUser map[uint32]int
	// digests is when the next digest of a user's sweeps may begin; see Digest.
	digests map[uint32]time.Time
}

// SweepPaths are the directories in which sweeps are kept.
//
// Jobs has the folders that users own, Outbox those that the daemon writes for them, each named by
// a token. Record is made when it is needed, and MUST be readable by the daemon alone: it has what
// was decided, before it takes effect.
type SweepPaths struct {
	Jobs, Outbox string
	Record       string // of the daemon: a file for each sweep
}

// owned names a sweep: its token, and the users of the jobs that say so. A token is public, and anybody's job
// may name it: only the user who owns the sweep's folder gets an answer.
type owned struct {
	token string
	owner uint32 // whose sweep it is
	slurm uint32 // whose files they are, which Slurm shows; another one for confined jobs only
}

// kept is one sweep. While busy is set only the goroutine that set it uses files. The other
// fields are under the lock of Sweeps. standing is of the last step that succeeded; said is its
// error as it was logged, "" if there was none.
type kept struct {
	owned
	busy  bool
	seen  time.Time // when Slurm last had a lane of it
	due   time.Time // when its next step may begin
	said  string
	files *files
	// rested, if not nil, is closed once busy is not set any more.
	rested chan struct{}

	standing Standing
	shown    Shown // of the same step
}

// Standing is what the policies know of a sweep. The zero value is that of a sweep of which no step
// has succeeded.
type Standing struct {
	Number int64
	Metric string
	Paused bool // its user paused it: its lanes give their GPUs back
	Over   bool
	Wants  int // lanes that it can use now
	Level  int
	Gap    float64 // mean gap among its best results, by which the level was found
	Trials int     // that are done
	Bid    float64 // what a GPU-second more is worth to it
	// Ended trials are done or paused, and took Each seconds on average; Left are still to end. Each is 0
	// also where trials are jobs of their own: these are foreseen as any job is.
	Ended, Left int
	Each        float64

	Lanes map[string]LaneTrial // by token; not changed once it is here
	// Needless are tokens of its lanes that wait in Slurm although it is over, which is recorded; not changed once it is here.
	Needless []string
}

// NewSweeps returns the keeper of all sweeps. live reports the lanes, and is called in one
// goroutine. now is the clock, and is called from several goroutines. tell may be nil; else it is
// called with the lock held, so that it MUST NOT call Sweeps and MUST NOT wait.
func NewSweeps(paths SweepPaths, live func() Live, now func() time.Time, tell func(string, error)) *Sweeps {
	return &Sweeps{paths: paths, live: live, now: now, tell: tell, known: map[owned]*kept{}, byUser: map[uint32]int{}, digests: map[uint32]time.Time{}}
}

// Run looks after all sweeps, once per tick, until ctx ends. Steps that are under way then are not
// waited for: see Settle. It returns nil.
func (s *Sweeps) Run(ctx context.Context, ticks <-chan time.Time) error {
	var pruned time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
			s.Look()
		}
		if now := s.now(); now.Sub(pruned) > 24*time.Hour && s.pruning.CompareAndSwap(false, true) {
			pruned = now
			go func() { // a user's folder may hang
				defer s.pruning.Store(false)
				s.Prune(now)
			}()
		}
	}
}

// Look begins a step for each sweep that has lanes, unless its last step is still under way.
//
// It does not wait for steps, only for live. If Slurm does not answer nothing is done: a lane that
// is missing from an old report would count as gone. A sweep without lanes is looked at for 10 min
// more, and then forgotten; its next lane finds all of it again in its record.
//
// A sweep is due twice a second, and more often while one of its lanes is about to want a trial
// (pace). So most calls do nothing, and do not even ask for the lanes.
func (s *Sweeps) Look() {
	if !s.anyDue() {
		return
	}
	live := s.live()
	if !live.Known {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes := map[owned][]LaneJob{}
	for _, l := range live.Lanes {
		if sweep.ValidToken(l.Sweep) {
			name := owned{l.Sweep, l.Owner, l.SlurmUID}
			lanes[name] = append(lanes[name], l)
		}
	}
	now := s.now()
	for name := range lanes {
		k := s.known[name]
		if k == nil {
			k = &kept{owned: name}
			s.known[name] = k
		}
		k.seen = now
	}
	for name, k := range s.known {
		switch {
		case k.busy || now.Before(k.due) || s.busy >= mostSweeps || s.byUser[k.owner] >= mostPerUser:
			continue
		case now.Sub(k.seen) > forgottenAfter:
			delete(s.known, name)
			go k.forget(s.paths) // it may hang
			continue
		}
		k.busy = true
		s.busy++
		s.byUser[k.owner]++
		go s.step(k, lanes[name], live.Idle)
	}
}

// anyDue reports whether there may be something to do: a sweep is due, or a new one may have come.
func (s *Sweeps) anyDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if d := now.Sub(s.looked); d < 0 || d >= lookEvery {
		s.looked = now
		return true
	}
	for _, k := range s.known {
		if !k.busy && !now.Before(k.due) {
			return true
		}
	}
	return false
}

// forget ends the work for a sweep that has no lanes any more. Its record stays: a lane may come
// back. No step of it may be under way.
func (k *kept) forget(paths SweepPaths) {
	k.files.close()
	if k.standing.Metric == "" {
		return // nothing was written for it: the token may be another user's
	}
	_ = os.RemoveAll(filepath.Join(paths.Outbox, k.token)) // what is left there is a number
}

// recordFor is how long the record of a sweep is kept after its last entry.
const recordFor = 90 * 24 * time.Hour

// Prune removes old records. The age is that of the file, which each entry makes new. The record of
// a sweep that has lanes stays, and so does that of one that its user paused: it may go on after
// months. It may hang where a user's folder does.
func (s *Sweeps) Prune(now time.Time) {
	entries, _ := os.ReadDir(s.paths.Record) // there may be none yet
	for _, e := range entries {
		token := strings.TrimSuffix(e.Name(), ".jsonl")
		if info, err := e.Info(); err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) <= recordFor || s.paused(token) {
			continue
		}
		s.mu.Lock()
		if !s.has(token) { // else it is open
			_ = os.Remove(filepath.Join(s.paths.Record, e.Name())) // tried again tomorrow
		}
		s.mu.Unlock()
	}
}

// has reports whether there are lanes that name a sweep. The lock is held.
func (s *Sweeps) has(token string) bool {
	for name := range s.known {
		if name.token == token {
			return true
		}
	}
	return false
}

// paused reports whether a sweep is one that its user paused.
func (s *Sweeps) paused(token string) bool {
	base, err := checkpoint.OpenDir(s.paths.Jobs)
	if err != nil || !sweep.ValidToken(token) {
		return false
	}
	defer base.Close()
	dir, err := base.Sub(token)
	if err != nil {
		return false
	}
	defer dir.Close()
	text, err := dir.Read(sweep.File, sweep.MaxFile)
	if err != nil {
		return false
	}
	sw, err := sweep.Parse(text)
	return err == nil && sw.State == sweep.Paused
}

// step does one step for a sweep. Any part of it may hang.
//
// After an error everything read is dropped, and the next step begins with the record: what was
// decided in memory and not recorded MUST NOT be built upon. An error is told once, until it
// changes; the standing stays that of the last good step.
func (s *Sweeps) step(k *kept, lanes []LaneJob, idle bool) {
	if k.files == nil {
		k.files = newFiles(s.paths, k.token, k.slurm)
	}
	began := s.now()
	standing, err := k.files.step(lanes, idle, began)
	shown := Shown{}
	if err == nil {
		shown = k.files.show(standing, began)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.rest()
	now := s.now()
	k.due = began.Add(k.files.pace.next(now, now.Sub(began), len(s.known)))
	s.busy--
	s.byUser[k.owner]--
	said := ""
	if err != nil {
		said = err.Error()
		if !errors.As(err, new(tooMuch)) { // reading it all again would not mend that
			k.files.close()
			k.files = nil // what was decided and not recorded is forgotten
		}
	} else {
		if old := k.standing; s.Changed != nil && (old.Paused != standing.Paused || old.Over != standing.Over) {
			s.Changed()
		}
		k.standing, k.shown = standing, shown
	}
	if said != k.said && s.tell != nil {
		s.tell(k.token, err)
	}
	k.said = said
}

// Standings returns what is known of each sweep, by token. Sweeps of which no step has succeeded
// are not in it. The map is the caller's.
func (s *Sweeps) Standings() map[string]Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]Standing, len(s.known))
	for name, k := range s.known {
		if k.standing.Metric != "" { // of two users' only one owns the folder
			out[name.token] = k.standing
		}
	}
	return out
}

// Settle waits until no step is under way, at most so long; for tests and the end of the daemon. It
// reports whether that came about before ctx ended. It begins no step and stops none, so that Run
// MUST have returned, or it may not be true for long.
func (s *Sweeps) Settle(ctx context.Context) bool {
	for {
		s.mu.Lock()
		busy := s.busy
		s.mu.Unlock()
		if busy == 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Millisecond):
		}
	}
}
