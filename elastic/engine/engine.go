package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/execute"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/engine/watch"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/slurm"
)

// Config is what an Engine is made of.
type Config struct {
	Seams
	track.Rules
	Policy policy.Policy
	// Between, when set, is called before every effect of a cycle and between its queries.
	// It may call Direct and Meet.
	Between func()
	// Events receives the events in order; nil = they are dropped. It MUST NOT block.
	Events func(event.Event)
	// Deciding, when set, is called for each decision of a cycle, and MUST call decide once. A
	// caller with a clock can measure it.
	Deciding func(decide func())
}

// Seams are the interfaces to everything outside the engine. All are required unless noted.
type Seams struct {
	Slurm   slurm.Client
	Journal journal.Journal
	Samples journal.Samples
	Mailbox observe.Mailbox
	// Limiter returns the site's limits, which no plan exceeds; nil = there are none. It MUST
	// NOT block for long: see observe.ErrAsking.
	Limiter slurm.Limiter
	// Sharer returns the tree of accounts and shares, by which GPUs are divided if the site's
	// limits say that shares count; nil = it never is. It MUST NOT block for long: see
	// observe.ErrAsking.
	Sharer slurm.Sharer
	// Accountant returns how jobs ended that Slurm has purged; nil = that stays unknown. It
	// MUST NOT block for long: see observe.ErrAsking.
	Accountant slurm.Accountant
	// Accounts returns the uids of users, for confined jobs (Rules.Confined); nil = none is known. It
	// MUST NOT block.
	Accounts observe.Accounts
}

// Engine runs cycles. It is not safe for concurrent use, except Report, which any goroutine may
// call.
type Engine struct {
	cfg Config
	*watch.Watch
	blind  blindness
	report publish.Board
	sealed bool      // Last has a snapshot
	next   time.Time // when the next cycle is due

	foretold foretold // the last forecast
}

// blindness is the state of an outage: Slurm's answers fail or are suspicious.
type blindness struct {
	since time.Time
	why   string // "" = Slurm answers
	wait  time.Duration
}

// New returns an engine that has observed nothing yet.
func New(cfg Config) *Engine {
	if cfg.Events == nil {
		cfg.Events = func(event.Event) {}
	}
	e := &Engine{cfg: cfg, Watch: &watch.Watch{State: track.New(cfg.Rules, cfg.Samples, cfg.Events)}}
	e.wire()
	return e
}

// wire passes the seams to the packages that use them.
func (e *Engine) wire() {
	c := &e.cfg
	e.Observer.Slurm, e.Observer.Mail, e.Observer.Journal = c.Slurm, c.Mailbox, c.Journal
	e.Observer.Limiter, e.Observer.Sharer, e.Observer.Accountant, e.Observer.Between = c.Limiter, c.Sharer, c.Accountant, c.Between
	e.Observer.Accounts = c.Accounts
	e.State.HasLimiter, e.Shares.Rigid = c.Limiter != nil, c.Policy.RigidIn
	e.Shares.Own = c.Own
	e.Executor = execute.Executor{State: e.State, Slurm: c.Slurm, Journal: c.Journal, Samples: c.Samples, Mail: c.Mailbox, Between: c.Between}
	e.report.State, e.report.Policy = e.State, c.Policy
}

// Reconfigure changes the configuration. It MUST be called between two cycles.
func (e *Engine) Reconfigure(change func(*Config)) {
	change(&e.cfg)
	e.foretold, e.Learnt.Store, e.State.Rules = foretold{}, e.cfg.Samples, e.cfg.Rules
	e.wire()
	if e.Site.Known {
		e.Site = eligible.Read(e.Site.Limits, e.cfg.Edge) // the edge pools may have changed
	}
}

// Report returns what the last cycle observed and decided; nil before the first.
func (e *Engine) Report() *publish.Report { return e.report.Last() }

// Published is Report for the cycle's goroutine, which MUST NOT keep it beyond the next cycle: its
// memory is reused then.
func Published(e *Engine) *publish.Report { return e.report.Report.Load() }

// Took says how long the last cycle took, for its report: the engine has no clock. It MUST be called between two
// cycles.
func Took(e *Engine, took time.Duration) {
	e.report.Change(func(r *publish.Report) { r.Took = took })
}

// Lanes returns the lanes of sweeps as the last cycle saw them, whether other jobs wait for GPUs, and
// whether that is known. Any goroutine may call it.
func Lanes(e *Engine) (lanes []publish.Lane, waits, known bool) { return e.report.Lanes() }

// Cycle observes the cluster once, decides, carries out moves and returns when to call it again.
// If observing or recording fails, no move is opened, and the next cycle starts from what it
// observes. An error of the save at the end comes after moves were carried out; the next cycle
// saves again.
func (e *Engine) Cycle(ctx context.Context, now time.Time) (wake time.Time, err error) {
	defer func() { e.due(wake) }()
	// 0. Load the journal, once.
	if err := e.Load(ctx, now); err != nil {
		return now.Add(e.cfg.Period), err
	}
	e.Rewind(now)
	e.Observer.Rewind(now)
	e.NoteAway(e.next, now)
	// 1. Observe: two queries, and the small files of the jobs that run.
	seen, err := e.Observe(ctx, now)
	if err != nil {
		return e.blinded(now, err), err
	}
	e.sighted(now)
	// 2. Fold: update the state from the observation.
	e.Fold(ctx, seen, now)
	// 3. Advance the open moves by as many steps as need no new observation.
	snap := e.Snapshot(seen, now)
	acted, stirred := e.Executor.Act(ctx, e.Open, snap, now)
	if stirred {
		snap = e.Snapshot(seen, now)
	}
	e.AskAhead(snap.Jobs, now)
	// 4. Decide from the snapshot alone, and again if nodes or limits were too old.
	plan := decideIn(&e.cfg, snap)
	snap, plan, waits, err := e.freshly(ctx, seen, snap, plan, now)
	if err != nil {
		return e.blinded(now, err), err
	}
	// 5. Record: every new move is in the journal BEFORE its first effect.
	opened, err := e.Executor.Record(ctx, plan, now)
	if err != nil {
		e.publish(snap, plan, now)
		return now.Add(e.cfg.Period), err
	}
	// 6. Act on the new moves.
	snap.Intents = e.Open
	more, _ := e.Executor.Act(ctx, opened, snap, now)
	acted = e.Executor.DoChores(ctx, plan.Contend, now) || more || acted
	// 7. Confirm: save what changed and publish the report.
	err = e.Executor.Save(ctx)
	e.publish(snap, plan, now)
	return e.wake(now, acted, waits || e.cfg.Policy.Measures(snap)), err
}

// publish replaces the report, and keeps the snapshot for the next cycle.
func (e *Engine) publish(snap elastic.Snapshot, plan elastic.Plan, now time.Time) {
	snap.Intents = slices.Clone(e.Open)
	e.Last, e.sealed = snap.Lent(), true
	e.report.Publish(snap, plan, now)
	e.ForgetOld(now)
}

// wake returns when the next cycle is due: after Transition while a move is open, half of that
// while a stopped job has to be released, and at most measurePeriod while a job's speed is being
// measured or moves wait for the site's limits.
func (e *Engine) wake(now time.Time, acted, waits bool) time.Time {
	switch {
	case slices.ContainsFunc(e.Open, stopped):
		return beforeSecond(now.Add(e.cfg.Transition / 2))
	case acted || len(e.Open) > 0 || e.Ending(now):
		return now.Add(e.cfg.Transition)
	case waits:
		return now.Add(min(e.cfg.Period, measurePeriod))
	}
	return e.NextTry(now, now.Add(e.cfg.Period))
}

// measurePeriod is the longest time between two cycles while a job's speed is being measured.
const measurePeriod = 5 * time.Second

// blinded records that the observation failed with err, and returns when to try again. The wait
// doubles up to Backoff.
func (e *Engine) blinded(now time.Time, err error) time.Time {
	if e.blind.why == "" {
		e.blind.since, e.blind.wait = now, e.cfg.Transition
		e.Tell(now, 0, "blind", err.Error())
	}
	e.blind.why = err.Error()
	e.NoteBlind()
	e.blind.wait = min(2*e.blind.wait, max(e.cfg.Backoff, e.cfg.Transition))
	e.report.Blind(e.blind.why, now.Sub(e.blind.since))
	return now.Add(e.blind.wait)
}

func (e *Engine) sighted(now time.Time) {
	if e.blind.why != "" {
		e.Tell(now, 0, "sighted", "Slurm answers again after "+now.Sub(e.blind.since).String())
		e.SeenAgain(now)
	}
	if e.Began.IsZero() {
		e.Began = now
	}
	e.blind.why = ""
}

// Happened makes the next cycle query the nodes too, because something may have changed in Slurm.
// It MUST be called between two cycles.
func (e *Engine) Happened() { e.Seen.Old = true }

// Whose returns whose job has that number, and false if none is known. It MUST be called on the engine's
// goroutine, as by Config.Events.
func Whose(e *Engine, id elastic.JobID) (journal.Identity, bool) {
	if js := e.ByID[id]; js != nil {
		return js.Rec.Identity, true
	}
	return journal.Identity{}, false
}
