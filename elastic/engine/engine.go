package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/learn"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/slurm"
)

// Config is what an Engine is made of. All seams are required.
type Config struct {
	Slurm   slurm.Client
	Journal Journal
	Samples Samples
	Mailbox Mailbox
	Policy  policy.Policy
	Limits  elastic.Limits
	// Limiter tells the site's limits, which every plan keeps; nil = there are none. It must
	// not block for long: see ErrAsking.
	Limiter slurm.Limiter
	// Accountant tells how jobs ended that Slurm has forgotten; nil = nobody does. It must
	// not block for long: see ErrAsking.
	Accountant slurm.Accountant
	// Health bounds what runners' words about unfit GPUs can do; zero = nothing.
	Health elastic.HealthRules
	// Price is assumed for a job whose moves were not measured yet.
	Price elastic.Price
	// Period is the time between two cycles in peace, Transition while a job is
	// between two sizes, Backoff the longest time while Slurm does not answer.
	Period, Transition, Backoff time.Duration
	// ShareSpeeds lets the jobs of different users that name one model learn from each
	// other; else every user's jobs learn from that user's alone.
	ShareSpeeds bool
	// Listen believes a runner that says its run is over, and looks at Slurm at once: where
	// no epilog of slurmctld's tells.
	Listen bool
	// Proven takes every job for one that answers requests, as simulated programs do: it
	// may start above its minimum.
	Proven bool
	// Edge names the partitions that are edge pools.
	Edge map[string]bool
	// By is this daemon's name, which its requests carry: up to 32 letters and digits, and no
	// other daemon's; "" = none.
	By string
	// Mine tells which jobs this engine looks after; nil = every tagged one.
	Mine func(slurm.Job) bool
	// Between, when set, is called before every effect of a cycle and between its queries:
	// there Direct and Meet may be called.
	Between func()
	// Events receives what happened, in order; nil drops it. It must not block.
	Events func(Event)
}

// Engine runs cycles. Its methods are called from one goroutine, except Report,
// which any may call.
type Engine struct {
	cfg     Config
	loaded  bool
	jobs    map[string]*jobState // by token
	byID    known
	order   []*jobState // see ordered; nil = not known
	open    openMoves
	units   map[string]elastic.Unit // by token: what programs of jobs submitted without a unit report in
	learnt  *learn.Memory
	renamed bool // a job is of another model than it was
	health  elastic.Health
	kept    elastic.Health // as the journal has it
	answers map[answerKey]time.Time
	unsaved map[answerKey]time.Time // of answers, what the journal does not have; zero = forgotten
	lengths histories
	lost    lostNodes
	away    time.Time // when Slurm last answered again after it had not for a while
	began   time.Time // when Slurm first answered in this life; zero = not yet
	blind   struct {
		since time.Time
		why   string
		wait  time.Duration
	}
	strange struct { // why tagged jobs are left alone, in the last look and in this
		before, now map[slurm.JobID]string
	}
	seen struct { // the last look
		jobs   []slurm.Job
		nodes  []slurm.Node
		old    bool    // the nodes were used a second time, or may have changed since
		around *around // what samples ask of both; nil = nobody asked yet
	}
	limits   limitsSeen
	accounts accounts
	ground   *eligible.Ground // what the refusals there are were judged by; nil = there are none
	last     elastic.Snapshot
	next     time.Time // when the next cycle is due
	ahead    time.Time // the latest time that the clock has shown
	sealed   bool      // last holds a snapshot
	stores   int       // how often speeds were stored
	told     int       // events so far
	report   published

	foretold foretold // the last forecast that somebody asked for
}

// openMoves are the moves that have not been closed.
type openMoves []elastic.Intent

// known are the jobs on record by number. Of two that had the same it is the later one.
type known map[elastic.JobID]*jobState

// lazyCurve is a curve as doubted, kept because it remembers its answers.
type lazyCurve struct {
	from, curve *speed.Curve
	idle        float64
	at          speed.Shape
}

// New returns an engine that has looked at nothing yet.
func New(cfg Config) *Engine {
	if cfg.Events == nil {
		cfg.Events = func(Event) {}
	}
	return &Engine{
		cfg:     cfg,
		jobs:    map[string]*jobState{},
		byID:    known{},
		units:   map[string]elastic.Unit{},
		learnt:  learn.New(cfg.Samples),
		lengths: histories{},
		lost:    lostNodes{},
		answers: map[answerKey]time.Time{},
		unsaved: map[answerKey]time.Time{},
	}
}

// Reconfigure changes policy, limits and pace between two cycles.
func (e *Engine) Reconfigure(change func(*Config)) {
	change(&e.cfg)
	e.foretold, e.learnt.Store = foretold{}, e.cfg.Samples
	if e.limits.Known {
		e.limits.Site = eligible.Read(e.limits.Limits, e.cfg.Edge) // which partitions are edge pools may be others
	}
}

// Report returns what the last cycle saw and decided; nil before the first.
func (e *Engine) Report() *Report { return e.report.take() }

// Cycle looks at the world once, moves what has to move and returns when to come
// again. An error means that nothing was decided in this cycle; running jobs
// keep their size, and the next cycle starts from what it sees.
func (e *Engine) Cycle(ctx context.Context, now time.Time) (wake time.Time, err error) {
	defer func() { e.due(wake) }()
	// 0. Remember: journal to memory, once.
	if err := e.load(ctx, now); err != nil {
		return now.Add(e.cfg.Period), err
	}
	e.rewind(now)
	e.noteAway(now)
	// 1. Observe: two queries, and the small files of the jobs that run.
	view, err := e.observe(ctx, now)
	if err != nil {
		return e.blinded(now, err), err
	}
	e.sighted(now)
	// 2. Fold: what was known and what was seen make a snapshot.
	e.fold(ctx, view, now)
	e.foldAnswers(now)
	e.reconsider(view)
	e.hear(now)
	e.learnt.Foresee(e.livingKeys(), now)
	snap := e.picture(view, now)
	// 3. Go on with the moves under way: as many steps as need no new look.
	acted, stirred := e.act(ctx, e.open, snap, now)
	if stirred {
		snap = e.picture(view, now)
	}
	// 4. Decide: pure, from the snapshot alone.
	plan := e.decide(snap)
	if view.old && len(plan.Open) > 0 {
		if view.nodes, err = e.askNodes(ctx); err != nil {
			return e.blinded(now, err), err
		}
		snap = e.picture(view, now)
		plan = e.decide(snap)
	}
	snap, plan, waits := e.byFreshLimits(ctx, view, snap, plan, now) // nor on old limits
	// 5. Record: every new move stands in the journal before its first effect.
	opened, err := e.record(ctx, plan, now)
	if err != nil {
		e.publish(snap, plan, now)
		return now.Add(e.cfg.Period), err
	}
	// 6. Act on the new moves.
	snap.Intents = e.open
	more, _ := e.act(ctx, opened, snap, now)
	acted = e.tidy(ctx, now) || more || acted
	// 7. Confirm: what became of it is durable, published, and looked at again.
	err = e.save(ctx)
	e.publish(snap, plan, now)
	return e.wake(now, acted, waits || e.cfg.Policy.Measures(snap)), err
}

// wake returns when to look again: soon while anything is between two sizes, and before
// long while a job is measured, which waits at a size until it is known, or moves wait.
func (e *Engine) wake(now time.Time, acted, waits bool) time.Time {
	switch {
	case slices.ContainsFunc(e.open, stopped):
		return beforeSecond(now.Add(e.cfg.Transition / 2))
	case acted || len(e.open) > 0 || e.ending(now):
		return now.Add(e.cfg.Transition)
	case waits:
		return now.Add(min(e.cfg.Period, measurePeriod))
	}
	return e.nextTry(now, now.Add(e.cfg.Period))
}

// measurePeriod is the longest time between two looks while a job is measured.
const measurePeriod = 5 * time.Second

// blinded notes that Slurm cannot be seen; nothing is changed meanwhile.
func (e *Engine) blinded(now time.Time, err error) time.Time {
	if e.blind.why == "" {
		e.blind.since, e.blind.wait = now, e.cfg.Transition
		e.event(now, 0, "blind", err.Error())
	}
	e.blind.why = err.Error()
	e.blind.wait = min(2*e.blind.wait, max(e.cfg.Backoff, e.cfg.Transition))
	e.publishBlind(now)
	return now.Add(e.blind.wait)
}

func (e *Engine) sighted(now time.Time) {
	if e.blind.why != "" {
		e.event(now, 0, "sighted", "Slurm answers again after "+now.Sub(e.blind.since).String())
		for _, js := range e.jobs {
			atLeast(&js.shown.placeless, now) // it could not be asked
		}
		e.away = now
	}
	if e.began.IsZero() {
		e.began = now
	}
	e.blind.why = ""
}

// couldNot tells that an action failed.
func (e *Engine) couldNot(a elastic.Action, job elastic.JobID, err error, now time.Time) {
	e.told++
	e.cfg.Events(Event{At: now, Job: job, Kind: "problem", Text: fmt.Sprintf("could not %s: %v", a, err), Err: err})
}

// event tells what happened: to people, and to programs in fields.
func (e *Engine) event(at time.Time, job elastic.JobID, kind, text string, fields ...Fields) {
	e.told++
	said := Event{At: at, Job: job, Kind: kind, Text: text}
	for _, f := range fields {
		said.Fields = f
	}
	e.cfg.Events(said)
}
