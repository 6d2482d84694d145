package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Daemon is the name of the engine's client in logs and causes, and Second that of a second daemon's
// client.
const Daemon, Second = "sluiced", "sluiced2"

// ours reports whether the name is a daemon's.
func ours(by string) bool { return by == Daemon || by == Second }

// Config describes a world.
type Config struct {
	// Fake is the cluster. Programs is set by the world.
	Fake fake.Config
	// Account is the user of the engine's client, an operator; "" = "sluice". In user mode it
	// is the jobs' user, without operator rights.
	Account string
	User    bool // user mode: Account gets no rights over other users
	// Records, when set, are written, and Check audits them.
	Records Records
	// Series stores the checkpoints of the job with that number and token; nil = checkpoints
	// are names. Check reports its failures.
	Series func(job slurm.JobID, token string) (Series, error)
	// Notice is how long a runner takes to see a changed file; 0 = 250 ms.
	Notice time.Duration
}

// Records are a world's logs for an audit; package records implements them. Simulations for users
// have none and so do not link the audit.
type Records interface {
	// Begin is called once, by New, BEFORE anything happens.
	Begin(nodes []fake.NodeConfig)
	// Watch is called with every line of the fake's log.
	Watch(at time.Time, line string)
	// Starts records the start of an engine, with the notices of its store.
	Starts(at time.Time, notices ...string)
	// SecondStarts is Starts of a second daemon beside the first.
	SecondStarts(at time.Time, notices ...string)
	// Event records an event of the engine, SecondEvent one of a second daemon's.
	Event(event.Event)
	SecondEvent(event.Event)
	// Findings returns the violations that the records show. liar reports whether a job's own
	// reports are false.
	Findings(liar func(job int64) bool) []Finding
}

// World is a fake Slurm with jobs that train. Its methods are for one goroutine.
type World struct {
	Slurm  *fake.Fake
	Client *fake.Session // what the engine uses
	Mail   *Mailbox
	// Records are Config's. A test that runs an engine MUST pass its events on.
	Records Records

	// Utilisation, when set, returns the share of time that a job's GPUs are busy; negative =
	// unknown. With it, or once a GPU is unfit, runners report on their GPUs.
	Utilisation func(*Trainer) float64
	// MIG: what Slurm counts as GPUs are MIG slices, and runners report that.
	MIG bool

	cfg      Config
	unfit    map[string]map[int]string // by node and GPU
	rng      *rand.Rand
	trainers []*Trainer // in order of submit
	byToken  map[string]*Trainer
	pending  *Trainer  // being submitted
	plan     []planned // in order of time
	faults   []error   // of the world itself
	begin    time.Time
}

// New returns a world at its start time.
func New(cfg Config) *World {
	if cfg.Account == "" {
		cfg.Account = "sluice"
	}
	if cfg.Notice == 0 {
		cfg.Notice = 250 * time.Millisecond
	}
	w := &World{cfg: cfg, byToken: map[string]*Trainer{}, rng: rand.New(rand.NewPCG(cfg.Fake.Seed, 0x7701d))}
	fc := cfg.Fake
	if !cfg.User {
		fc.Operators = append(append([]string(nil), fc.Operators...), cfg.Account)
	}
	fc.Programs = func(id slurm.JobID, _ slurm.Submission) fake.Program {
		if t := w.pending; t != nil {
			t.id = id
			if cfg.Series != nil {
				var err error
				t.series, err = cfg.Series(id, t.Token)
				w.fault(err)
			}
			return t
		}
		return nil
	}
	if cfg.Records != nil {
		w.Records = cfg.Records
		w.Records.Begin(fc.Nodes)
		fc.Watch = w.Records.Watch
	}
	w.Slurm = fake.New(fc)
	w.begin = w.Slurm.Now()
	w.Client = w.Slurm.As(cfg.Account).Named(Daemon)
	w.Mail = &Mailbox{w: w, boxes: map[string]*box{}}
	return w
}

// fault records a failure of the world itself.
func (w *World) fault(err error) {
	if err != nil {
		w.faults = append(w.faults, err)
	}
}

// Now returns the virtual time.
func (w *World) Now() time.Time { return w.Slurm.Now() }

// Advance lets virtual time pass.
func (w *World) Advance(d time.Duration) { w.Slurm.Advance(d) }

// User returns a session of a user, without injected faults.
func (w *World) User(name string) *fake.Session { return w.Slurm.As(name).Steady() }

// Account returns the uid of a user that the fake knows: the world is the engine's directory of users.
func (w *World) Account(name string) observe.Account {
	uid, known := w.Slurm.UID(name)
	return observe.Account{UID: uid, OK: known}
}

// Submit submits an elastic job as its user, as "sluice submit" does: deferred, requeueable and tagged.
// It panics if Slurm refuses, which is a mistake in the test.
func (w *World) Submit(j Job) *Trainer {
	t := w.trainer(j)
	tag, waits := elastic.Tag{Spec: t.Job.Spec, Own: j.Own, For: j.For, Deferred: !j.Older, Notices: j.Notices}, "--begin=now+2hours"
	if tag.SbatchBegin = slices.ContainsFunc(j.Args, func(a string) bool { return strings.HasPrefix(a, "--begin=") }); j.Older {
		waits = "--hold"
	}
	args := []string{waits, "--requeue", "--open-mode=append", "--job-name=" + t.Job.Name,
		"--comment=" + tag.String(), "--nodes=1-1", "--ntasks=1", fmt.Sprintf("--gpus-per-node=%d", firstSize(w, t.Job.Spec))}
	if j.Limit > 0 {
		args = append(args, fmt.Sprintf("--time=%d", int(j.Limit.Minutes())))
	}
	args = append(args, j.Args...)
	w.pending = t
	_, _, err := w.User(t.Job.User).Submit(context.Background(), slurm.Submission{Args: args})
	w.pending = nil
	if err != nil {
		panic(fmt.Sprintf("world: %v", err))
	}
	w.trainers = append(w.trainers, t)
	w.byToken[t.Token] = t
	return t
}

// firstSize returns the GPUs that the job requests while it waits: its minimum, as far as one node
// has that many.
func firstSize(w *World, s elastic.Spec) int {
	most := 1
	for _, n := range w.cfg.Fake.Nodes {
		most = max(most, n.GPUs)
	}
	return min(s.Min, most)
}

// Ordinary submits a job that sluice does not manage; args are further options of sbatch.
func (w *World) Ordinary(user string, nodes, gpus int, runs time.Duration, args ...string) slurm.JobID {
	id, _, err := w.User(user).Submit(context.Background(), slurm.Submission{
		Args:  append([]string{"--job-name=ordinary", fmt.Sprintf("--nodes=%d", nodes), fmt.Sprintf("--gpus=%d", gpus)}, args...),
		Stdin: fmt.Appendf(nil, "#!/bin/sh\nsleep %g\n", runs.Seconds()),
	})
	if err != nil {
		panic(fmt.Sprintf("world: %v", err))
	}
	return id
}

// Trainers returns the jobs submitted so far, in order.
func (w *World) Trainers() []*Trainer { return append([]*Trainer(nil), w.trainers...) }

// token draws a job's token from the world's seed.
func (w *World) token() string {
	return fmt.Sprintf("%016x%016x", w.rng.Uint64(), w.rng.Uint64())
}

// At plans an action of a user or an administrator at a time after the start.
func (w *World) At(after time.Duration, do func()) {
	w.plan = put(w.plan, planned{w.begin.Add(after), do})
}
