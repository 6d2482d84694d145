package offcycle

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

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
	UID         uint32
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
type Sweeps struct {
	paths SweepPaths
	live  func() Live
	now   func() time.Time
	// Changed, if not nil, is called when a user paused, resumed or ended a sweep: a decision is due.
	Changed func()

	tell func(token string, err error) // logs what is wrong with a sweep, once; nil = it works again

	mu     sync.Mutex
	known  map[string]*kept
	busy   int
	byUser map[uint32]int
}

// SweepPaths are the directories in which sweeps are kept.
type SweepPaths struct {
	Jobs, Outbox string
	Record       string // of the daemon: a file for each sweep
}

// kept is one sweep. While busy is set only the goroutine that works on it uses book and files.
type kept struct {
	token string
	uid   uint32
	busy  bool
	seen  time.Time // when Slurm last had a lane of it
	said  string
	files *files

	standing Standing
}

// Standing is what the policies know of a sweep.
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
}

// NewSweeps returns the keeper of all sweeps. live reports the lanes, and is called in one goroutine.
func NewSweeps(paths SweepPaths, live func() Live, now func() time.Time, tell func(string, error)) *Sweeps {
	return &Sweeps{paths: paths, live: live, now: now, tell: tell, known: map[string]*kept{}, byUser: map[uint32]int{}}
}

// Run looks after all sweeps, once per tick, until ctx ends.
func (s *Sweeps) Run(ctx context.Context, ticks <-chan time.Time) error {
	var pruned time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
			s.Look()
		}
		if now := s.now(); now.Sub(pruned) > 24*time.Hour {
			pruned = now
			s.prune(now)
		}
	}
}

// Look begins a step for each sweep that has lanes, unless its last step is still under way.
func (s *Sweeps) Look() {
	live := s.live()
	if !live.Known {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes := map[string][]LaneJob{}
	for _, l := range live.Lanes {
		if sweep.ValidToken(l.Sweep) {
			lanes[l.Sweep] = append(lanes[l.Sweep], l)
		}
	}
	now := s.now()
	for token, of := range lanes {
		k := s.known[token]
		if k == nil {
			k = &kept{token: token, uid: of[0].UID}
			s.known[token] = k
		}
		k.seen = now
	}
	for token, k := range s.known {
		switch {
		case k.busy || s.busy >= mostSweeps || s.byUser[k.uid] >= mostPerUser:
			continue
		case now.Sub(k.seen) > forgottenAfter:
			delete(s.known, token)
			go k.forget(s.paths) // it may hang
			continue
		}
		k.busy = true
		s.busy++
		s.byUser[k.uid]++
		go s.step(k, lanes[token], live.Idle)
	}
}

// forget ends the work for a sweep that has no lanes any more. Its record stays: a lane may come back.
func (k *kept) forget(paths SweepPaths) {
	k.files.close()
	_ = os.RemoveAll(filepath.Join(paths.Outbox, k.token)) // what is left there is a number
}

// recordFor is how long the record of a sweep is kept after its last entry.
const recordFor = 90 * 24 * time.Hour

// prune removes old records.
func (s *Sweeps) prune(now time.Time) {
	entries, _ := os.ReadDir(s.paths.Record) // there may be none yet
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > recordFor {
			_ = os.Remove(filepath.Join(s.paths.Record, e.Name())) // tried again tomorrow
		}
	}
}

// step does one step for a sweep. Any part of it may hang.
func (s *Sweeps) step(k *kept, lanes []LaneJob, idle bool) {
	if k.files == nil {
		k.files = newFiles(s.paths, k.token, k.uid)
	}
	standing, err := k.files.step(lanes, idle, s.now())
	s.mu.Lock()
	defer s.mu.Unlock()
	k.busy = false
	s.busy--
	s.byUser[k.uid]--
	said := ""
	if err != nil {
		said = err.Error()
		k.files.close()
		k.files = nil // what was decided and not recorded is forgotten
	} else {
		if old := k.standing; s.Changed != nil && (old.Paused != standing.Paused || old.Over != standing.Over) {
			s.Changed()
		}
		k.standing = standing
	}
	if said != k.said && s.tell != nil {
		s.tell(k.token, err)
	}
	k.said = said
}

// Standings returns what is known of each sweep, by token.
func (s *Sweeps) Standings() map[string]Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]Standing, len(s.known))
	for token, k := range s.known {
		if k.standing.Metric != "" {
			out[token] = k.standing
		}
	}
	return out
}

// Settle waits until no step is under way, at most so long; for tests and the end of the daemon.
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
