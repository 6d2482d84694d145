package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Daemon is the name under which the engine's client appears in logs and causes, and
// Second that of a second daemon's beside it.
const Daemon, Second = "sluiced", "sluiced2"

// ours reports whether a daemon did it.
func ours(by string) bool { return by == Daemon || by == Second }

// Config describes a world.
type Config struct {
	// Fake is the cluster. Programs is set by the world.
	Fake fake.Config
	// Account is the one the engine's client acts as, made an operator. "" =
	// "sluice". In user mode name the jobs' user here; he is then no operator.
	Account string
	User    bool // user mode: Account gets no rights over other users
	// Records, when set, are kept, and Check has them audited.
	Records Records
	// Series keeps the checkpoints of the job with that number and token; nil = they are
	// names. What it cannot do Check reports.
	Series func(job slurm.JobID, token string) (Series, error)
	// Notice is how long a runner takes to see a changed file; 0 = 250 ms.
	Notice time.Duration
}

// Records are what a world leaves for an audit: package records keeps and judges them.
// A simulation for users has none, and so does not link the audit.
type Records interface {
	// Begin is called once, by New, BEFORE anything happens.
	Begin(nodes []fake.NodeConfig)
	// Watch is told every line of the fake's log.
	Watch(at time.Time, line string)
	// Starts notes that an engine begins its life. notices are what its store said then.
	Starts(at time.Time, notices ...string)
	// SecondStarts is Starts of a second daemon beside the first.
	SecondStarts(at time.Time, notices ...string)
	// Event notes what the engine said, SecondEvent what a second daemon's did.
	Event(event.Event)
	SecondEvent(event.Event)
	// Findings are the promises that the records show to be broken. liar reports whether a
	// job's own word means nothing.
	Findings(liar func(job int64) bool) []Finding
}

// World is a fake Slurm with jobs that train. Its methods are for one goroutine.
type World struct {
	Slurm  *fake.Fake
	Client *fake.Session // what the engine uses
	Mail   *Mailbox
	// Records are Config's. What runs an engine in the world MUST hand its events on.
	Records Records

	// Utilisation, when set, says what share of time a job's GPUs are busy; negative =
	// not known. With it, or once a GPU breaks, runners speak of their GPUs.
	Utilisation func(*Trainer) float64
	// MIG: what Slurm counts as GPUs are slices of some, and runners say so.
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

// New returns a world at rest.
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

// fault notes what the world itself could not do.
func (w *World) fault(err error) {
	if err != nil {
		w.faults = append(w.faults, err)
	}
}

// Now returns the virtual time.
func (w *World) Now() time.Time { return w.Slurm.Now() }

// Advance lets virtual time pass.
func (w *World) Advance(d time.Duration) { w.Slurm.Advance(d) }

// User returns a user's own hands: calls the plan of faults leaves alone.
func (w *World) User(name string) *fake.Session { return w.Slurm.As(name).Steady() }

// Submit hands in an elastic job as its user, as "sluice submit" does: held,
// requeueable and tagged. It panics when Slurm refuses, which is a mistake in
// the test.
func (w *World) Submit(j Job) *Trainer {
	t := w.trainer(j)
	tag := elastic.Tag{Spec: t.Job.Spec, Own: j.Own}
	args := []string{"--hold", "--requeue", "--open-mode=append", "--job-name=" + t.Job.Name,
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

// firstSize is what the job asks for while it is held: its minimum, as far as
// one node has it.
func firstSize(w *World, s elastic.Spec) int {
	most := 1
	for _, n := range w.cfg.Fake.Nodes {
		most = max(most, n.GPUs)
	}
	return min(s.Min, most)
}

// Ordinary hands in a job sluice has nothing to do with; args are further ones of sbatch.
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

// Trainers returns the jobs handed in so far, in order.
func (w *World) Trainers() []*Trainer { return append([]*Trainer(nil), w.trainers...) }

// token draws a job's token from the world's seed.
func (w *World) token() string {
	return fmt.Sprintf("%016x%016x", w.rng.Uint64(), w.rng.Uint64())
}

// At plans something a person or a script does at a time after the start.
func (w *World) At(after time.Duration, do func()) {
	w.plan = put(w.plan, planned{w.begin.Add(after), do})
}
