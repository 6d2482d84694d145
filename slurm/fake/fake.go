package fake

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Config describes the simulated cluster. The zero value of a field means the default in
// its comment.
type Config struct {
	Seed  uint64
	Start time.Time // start of the virtual clock; 2026-01-05 00:00 UTC
	Nodes []NodeConfig
	// Operators may change every user's jobs. "root" always may.
	Operators []string
	// Users gives uids; a user that is not listed gets a uid from 5000 on, in order of
	// first appearance.
	Users map[string]uint32

	Scheduling   time.Duration // from an event to the scheduler's pass; 100 ms
	Starting     time.Duration // from RUNNING to the script's first line; 200 ms
	Draining     time.Duration // from a kill to the end of COMPLETING; 300 ms
	Jitter       time.Duration // seeded random addition to each of the three; 0
	RequeueDelay time.Duration // begin time after a requeue; 121 s
	MinJobAge    time.Duration // how long an ended job is remembered; 300 s
	FirstID      slurm.JobID   // 1

	// PassDelay is the minimum time between two passes of the scheduler. Passes run only
	// when requested: a job whose begin time passes waits for the next request, or for
	// the Backfill (30 s). Slurm's default is 3 s. 0 = a pass runs at once, and at every
	// begin time.
	PassDelay, Backfill time.Duration

	// Priority returns a job's priority without its age factor, as priority/multifactor
	// would; nil = it falls from job to job, as with priority/basic. AgeWeight is
	// PriorityWeightAge: what a job gets that has waited for MaxAge (7 days), and in
	// proportion before. Age counts from the job's submit, or from its begin time if that
	// is later.
	Priority  func(id slurm.JobID, user, account string) int64
	AgeWeight int64
	MaxAge    time.Duration

	// Strict makes a job that waits for resources block all later jobs of its partition.
	// Otherwise everything that fits is started, in order of priority.
	Strict bool

	// Lingering keeps a requeued job counted on its nodes if its last node is lost while
	// it is COMPLETING, as in Slurm 20.11 and 22.05: Slurm sets no begin time for it, its
	// next run ends at once, and its GPUs stay counted as used.
	Lingering bool

	// Unseen, when set, is a rule of the site that no query shows: no job may start on
	// this many GPUs of these nodes, or of any nodes if none are named. A job that
	// requests it is accepted, and held as impossible when it would start.
	Unseen func(nodes []string, gpus int) bool

	// Accounting keeps how jobs ended, as slurmdbd does; see Session.Past.
	Accounting bool

	// Licenses are the cluster's, by name.
	Licenses map[string]int

	Faults Plan
	// Programs returns a new job's program; if it is nil or returns nil, the script's
	// "sleep" and "exit" lines are executed.
	Programs func(id slurm.JobID, s slurm.Submission) Program
	// Watch is called with every event as it is logged; it must not call back.
	Watch func(at time.Time, line string)
}

// NodeConfig is one node of the cluster.
type NodeConfig struct {
	Name       string
	GPUs       int
	GPUType    string
	Types      []slurm.OfType // set if it has several types: their GPUs add up to GPUs, in order of index
	CPUs       int            // 64
	MemoryMB   int64          // 256000
	Partitions []string
	Features   []string // active
}

// Grid returns n nodes gpu1 to gpuN with the same number of GPUs each, all in
// the partition "gpu".
func Grid(n, gpus int) []NodeConfig {
	out := make([]NodeConfig, n)
	for i := range out {
		out[i] = NodeConfig{Name: fmt.Sprintf("gpu%d", i+1), GPUs: gpus}
	}
	return out
}

// Fake is the simulated Slurm. Its methods may be called from any goroutine; Programs run
// inside Advance, with the lock held.
type Fake struct {
	mu     sync.Mutex
	cfg    Config
	rng    *rand.Rand
	now    time.Time
	events queue
	nodes  []*node
	jobs   []*job // in order of id, forgotten ones removed
	nextID slurm.JobID
	uids   map[string]uint32
	prio   int64 // of the next job; falls as in priority/basic

	downUntil time.Time // slurmctld does not answer before this
	saved     *memory   // what slurmctld last saved; nil = nothing
	deferred  []func()  // reports of the nodes, taken when slurmctld is back
	recover   func()    // called before that, if slurmctld was killed; nil = nothing
	passAt    time.Time // next scheduler pass, zero when none is due
	lastPass  time.Time
	counts    map[string]int
	log       []string
	held      []Allocation
	changes   []Change
	ends      []End
	past      []slurm.PastRun // in order of their end
	lastJobs  []slurm.Job     // the answer of the Jobs call before
	lastNodes []slurm.Node    // the answer of the Nodes call before
	limits    slurm.Limits
	shares    []slurm.Share     // set by SetShares; nil = see Shares
	states    map[string]string // of partitions, if one was set
}

// New returns a cluster with idle nodes and no jobs. It panics on a cluster without nodes
// or with two nodes of the same name: that is a mistake in the test.
func New(cfg Config) *Fake {
	cfg = cfg.withDefaults()
	f := &Fake{
		cfg:    cfg,
		rng:    rand.New(rand.NewPCG(cfg.Seed, 0x51)),
		now:    cfg.Start,
		nextID: cfg.FirstID,
		uids:   map[string]uint32{"root": 0},
		prio:   4_294_901_760,
		counts: map[string]int{},
		states: map[string]string{},
	}
	for user, uid := range cfg.Users {
		f.uids[user] = uid
	}
	f.addNodes(cfg.Nodes)
	for _, fault := range cfg.Faults {
		if fault.On != "" {
			continue
		}
		if fault.Kind == Forget {
			f.plan(fault)
			continue
		}
		f.events.push(cfg.Start.Add(fault.At), func() { f.strike(fault, nil) })
	}
	return f
}

// plan prepares the faults that kill slurmctld: its saved state is as old as the fault
// says.
func (f *Fake) plan(fault Fault) {
	var saved *memory
	at := f.cfg.Start.Add(fault.At)
	f.events.push(at.Add(-fault.For), func() { saved = f.remember() })
	f.events.push(at, func() { f.forgetSince(saved) })
}

func (c Config) withDefaults() Config {
	if c.Start.IsZero() {
		c.Start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	}
	if c.FirstID == 0 {
		c.FirstID = 1
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.Scheduling, 100 * time.Millisecond},
		{&c.Starting, 200 * time.Millisecond},
		{&c.Draining, 300 * time.Millisecond},
		{&c.RequeueDelay, 121 * time.Second},
		{&c.MinJobAge, 300 * time.Second},
		{&c.Backfill, 30 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c
}

// Now returns the virtual time.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Advance moves the virtual clock by d and carries out everything due in that time, in
// order of time, then of scheduling.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance(f.now.Add(d))
}

// AdvanceTo moves the virtual clock to t; an earlier t changes nothing.
func (f *Fake) AdvanceTo(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance(t)
}

// Next returns when the next planned event is due, and false when none is.
func (f *Fake) Next() (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events.next()
}

func (f *Fake) advance(to time.Time) {
	for {
		at, ok := f.events.next()
		if !ok || at.After(to) {
			break
		}
		do := f.events.pop()
		if at.After(f.now) {
			f.now = at
		}
		do()
	}
	if to.After(f.now) {
		f.now = to
	}
}

// At schedules do for the virtual time t (in the next Advance if t has passed). do runs
// with the lock held: it may use Runs and the caller's own state, not the Fake or its
// Sessions.
func (f *Fake) At(t time.Time, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events.push(t, do)
}

// Do runs do with the lock held and the present time, for a caller that keeps its own
// state under the same lock.
func (f *Fake) Do(do func(now time.Time)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.now)
}

// after schedules do for d from now; the lock is held.
func (f *Fake) after(d time.Duration, do func()) *event {
	return f.events.push(f.now.Add(d), do)
}

// jittered returns d plus a seeded random part of Config.Jitter.
func (f *Fake) jittered(d time.Duration) time.Duration {
	if f.cfg.Jitter <= 0 {
		return d
	}
	return d + time.Duration(f.rng.Int64N(int64(f.cfg.Jitter)))
}

// UID returns the uid of a user that Config.Users lists or that has had a Session.
func (f *Fake) UID(user string) (uid uint32, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uid, known = f.uids[user]
	return uid, known
}

func (f *Fake) uid(user string) uint32 {
	id, ok := f.uids[user]
	if !ok {
		id = 5000
		for _, used := range f.uids {
			id = max(id, used+1)
		}
		f.uids[user] = id
	}
	return id
}

func (f *Fake) find(id slurm.JobID) *job {
	for _, j := range f.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}
