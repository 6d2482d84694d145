package story

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Outcome is the result of a scenario.
type Outcome struct {
	Broken    []string       // violated invariants, one line each; nil = none
	Simulated time.Duration  // from the first moment to the last
	Effects   int            // of the daemon's
	Runs      int            // of elastic jobs
	Moves     int            // opened
	Happened  map[string]int // number of acts and faults by kind
	// Struck has, for each kill that took place, whether its effect was the first of a cycle.
	Struck []bool
}

// Kind returns the first violation without its numbers, to distinguish failures; "" = none.
func (o Outcome) Kind() string {
	if len(o.Broken) == 0 {
		return ""
	}
	line, _, _ := strings.Cut(o.Broken[0], "\n")
	words := strings.FieldsFunc(line, func(r rune) bool { return !unicode.IsLetter(r) })
	return strings.Join(words[:min(len(words), 6)], " ")
}

// play is a scenario that is being played.
type play struct {
	ctx    context.Context
	s      Story
	w      *world.World
	d      *daemon
	onDisk bool
	log    *strings.Builder // nil = no log

	jobs                    []*world.Trainer // nil before they are submitted
	handed                  []time.Duration
	cancelled, held, killed map[int]bool
	left, torn, stranded    map[int]bool         // jobs whose tag was removed, whose tag is unreadable, whose processes are gone
	adopted                 map[slurm.JobID]bool // jobs whose record the journal has
	adopting                []slurm.JobID        // jobs whose record it gets at the end of this cycle
	insisting               int                  // number of actions that wait for slurmctld
	rules                   []*rule              // the administrators' rules in force
	shut                    bool                 // the partition accepts no jobs
	letting                 bool                 // all holds have been released (letGo),
	lettings                int                  // and how often
	begin                   time.Time
	plan                    fake.Plan
	last                    time.Duration // time of the last planned act or fault
	out                     Outcome
}

// remembered is how long Slurm keeps a job that has ended.
const remembered = 5 * time.Minute

// spare is how long jobs may take after the last planned act.
const spare = 12 * time.Hour

// Play plays the scenario and returns its result. Scenarios with Disk have their journal on a shelf
// made by shelves, others in memory. log, unless nil, gets the log.
func Play(ctx context.Context, s Story, shelves Shelves, log *strings.Builder) Outcome {
	p := &play{
		ctx: ctx, s: s, log: log, jobs: make([]*world.Trainer, len(s.Jobs)), handed: make([]time.Duration, len(s.Jobs)),
		cancelled: map[int]bool{}, held: map[int]bool{}, killed: map[int]bool{}, left: map[int]bool{}, torn: map[int]bool{}, stranded: map[int]bool{},
		adopted: map[slurm.JobID]bool{},
		out:     Outcome{Happened: map[string]int{}},
	}
	if err := p.set(shelves); err != nil {
		p.broken("%v", err)
		return p.out
	}
	defer func() {
		if err := p.d.shelf.Remove(); err != nil {
			p.broken("%v", err)
		}
	}()
	p.run()
	p.judge()
	p.count()
	return p.out
}

// set prepares everything before the start.
func (p *play) set(shelves Shelves) error {
	s := p.s
	var err error
	if p.plan, err = s.plan(); err != nil {
		return err
	}
	p.last = p.end()
	if _, err := policy.ByName(s.Policy); err != nil && s.Policy != "turns" {
		return err
	}
	kept := &records.Records{Blind: p.blind(), Uncounted: p.uncounted()}
	for _, w := range s.Windows {
		kept.Blocked = max(kept.Blocked, w.Hold)
	}
	cfg := world.Config{Records: kept, User: s.Personal, Fake: fake.Config{
		Seed: s.Seed, Nodes: s.grid(), Jitter: s.Jitter, Draining: s.Draining, Faults: p.plan,
		MinJobAge: remembered, Accounting: true, Lingering: s.Seed%2 == 0, // every second Slurm behaves as an old release
	}}
	if s.Personal {
		cfg.Account = "alice"
	}
	shelf, err := InMemory(s)
	if s.Disk && shelves != nil {
		shelf, err = shelves(s)
		_, inMemory := shelf.(*memory)
		p.onDisk = !inMemory
	}
	if err != nil {
		return err
	}
	if folder := shelf.Folder(); folder != "" {
		cfg.Series = func(job slurm.JobID, token string) (world.Series, error) { return keep(folder, job, token) }
	}
	p.w = world.New(cfg)
	p.begin = p.w.Now()
	p.d = &daemon{play: p, shelf: shelf, kills: map[int]Kill{}, strikes: map[int][]Act{}, refused: map[int]int{}}
	for _, k := range s.Kills {
		p.d.kills[k.Effect] = k
	}
	p.w.Mail.Fault = p.mail
	if s.has(ruleIsSet) || s.has(reserved) {
		p.enforce()
	}
	p.arrange()
	return nil
}

// edgePool is the partition of the nodes at the edge.
const edgePool = "lab"

// blind returns the longest time for which slurmctld or sluiced are down in all.
func (p *play) blind() (d time.Duration) {
	for _, f := range p.plan {
		if f.Kind == fake.Down {
			d += f.For
		}
	}
	for _, a := range p.s.Acts {
		if strings.HasPrefix(a.What, "daemon") {
			d += a.For
		}
	}
	return d
}

// uncounted reports whether incarnations may be lost in both places: comments are broken, and the
// store is lost, damaged or an older copy.
func (p *play) uncounted() bool {
	if !p.s.has("user breaks the comment") && !p.s.has("user removes the comment") {
		return false
	}
	return p.replaced()
}

// replaced reports whether the store is lost, damaged or an older copy at some time.
func (p *play) replaced() bool {
	return slices.ContainsFunc(p.s.Acts, func(a Act) bool {
		return strings.HasPrefix(a.What, "store ") || a.What == "copy is put back" || a.What == "journal is lost"
	})
}

// mail is called before every operation on the files between daemon and jobs.
func (p *play) mail(op, _ string) error {
	if op == "runner" || op == "progress" {
		return p.d.refuses("jobs")
	}
	return p.d.refuses("outbox")
}

// arrange plans all acts.
func (p *play) arrange() {
	for i := range p.s.Jobs {
		p.w.At(p.s.Jobs[i].At, func() { p.handIn(func() { p.submit(i) }) })
	}
	for _, a := range p.s.Acts {
		switch {
		case a.Effect > 0:
			p.d.strikes[a.Effect] = append(p.d.strikes[a.Effect], a)
		case a.What == "ordinary" || a.What == atTheEdge || a.What == "stranger":
			p.w.At(a.At, func() { p.handIn(func() { p.do(a) }) })
		case a.Node != "" && a.What != reserved || p.ownAct(a.What):
			p.w.At(a.At, func() { p.do(a) })
		default:
			p.w.At(a.At, func() { p.insist(func() { p.do(a) }) })
		}
	}
	p.w.At(p.last, func() { p.insist(p.letGo) })
}

// ownAct reports whether the act needs no slurmctld.
func (p *play) ownAct(what string) bool {
	return strings.HasPrefix(what, "daemon") || strings.HasPrefix(what, "clock") || strings.HasPrefix(what, "journal") ||
		strings.HasPrefix(what, "copy") || strings.HasPrefix(what, "second") || strings.HasPrefix(what, "store") || strings.HasPrefix(what, "configuration") ||
		strings.HasPrefix(what, "checkpoint") || strings.HasPrefix(what, "progress") || strings.HasPrefix(what, "runner") || what == "power fails" || what == "late word" || what == "strands"
}

// end returns the time of the last planned act or fault.
func (p *play) end() time.Duration {
	end := 20 * time.Minute
	for _, j := range p.s.Jobs {
		end = max(end, j.At)
	}
	for _, a := range p.s.Acts {
		if end = max(end, a.At); !strings.HasPrefix(a.What, "clock") {
			end = max(end, a.At+a.For)
		}
	}
	for _, w := range p.s.Windows {
		end = max(end, w.At+w.For)
	}
	for _, f := range p.plan {
		if f.On == "" {
			end = max(end, f.At)
		}
	}
	return end + 5*time.Minute
}

// run lets time pass until every job that can end has ended.
func (p *play) run() {
	over := func() bool { return p.now() > p.last && p.over() }
	for calm := false; !calm; { // an outage of two days may begin near the end
		began := p.w.Now()
		if err := p.w.DriveUntil(p.ctx, p.d, p.last+spare, over); err != nil {
			p.broken("%v", err)
			return
		}
		calm = over() || !p.blindSince(began) || p.now() > 30*24*time.Hour
	}
	p.w.Advance(10 * time.Second)
}

// blindSince reports whether slurmctld was down at some time since at.
func (p *play) blindSince(at time.Time) bool {
	_, err := p.w.User("root").Jobs(p.ctx)
	return err != nil || p.w.Slurm.DownUntil().After(at)
}

// over reports whether all jobs that can end have ended.
func (p *play) over() bool {
	for i, job := range p.jobs {
		if job == nil || !p.exempt(i) && !job.Ended() {
			return false
		}
	}
	return true
}

// exempt reports whether the job need not complete, nor even end.
func (p *play) exempt(i int) bool {
	return behaviour(p.s.Jobs[i].Manner).odd || p.forgotten(i) || p.unmanaged(i) && p.stranded[i] // no daemon requeues it
}

// unmanaged reports whether sluice does not manage the job because it has no tag.
func (p *play) unmanaged(i int) bool {
	return p.left[i] || p.torn[i] && (p.replaced() || !p.adopted[p.jobs[i].ID()])
}

// now returns the time since the start.
func (p *play) now() time.Duration { return p.w.Now().Sub(p.begin) }

func (p *play) user(a Act) *fake.Session { return p.w.User(p.s.Jobs[a.Job].User) }

func (p *play) broken(format string, args ...any) {
	p.out.Broken = append(p.out.Broken, fmt.Sprintf(format, args...))
}

func (p *play) did(what string) { p.out.Happened[what]++ }

func (p *play) note(format string, args ...any) {
	if p.log != nil {
		fmt.Fprintf(p.log, "%9.1f -- %s\n", p.now().Seconds(), fmt.Sprintf(format, args...))
	}
}

// starts records the start of an engine, and its store's notices.
func (p *play) starts(notices []string) {
	p.w.Records.Starts(p.w.Now(), notices...)
	p.note("sluiced starts %q", notices)
}

// event records an event of the engine, with the true time.
func (p *play) event(e event.Event) {
	_ = p.d.refuses("log") // it may block, but never loses a line
	e.At = p.w.Now()
	p.w.Records.Event(e)
	switch e.Kind {
	case "open":
		p.out.Moves++
	case "adopted":
		p.adopting = append(p.adopting, slurm.JobID(e.Job))
	}
	p.note("job %d %s: %s", e.Job, e.Kind, e.Text)
}

// keepsAdopted notes after a cycle that the journal has the records of the jobs that were adopted in it.
func (p *play) keepsAdopted() {
	for _, id := range p.adopting {
		p.adopted[id] = true
	}
	p.adopting = nil
}

// secondEvent is event for a second daemon's engine.
func (p *play) secondEvent(e event.Event) {
	e.At = p.w.Now()
	p.w.Records.SecondEvent(e)
	p.note("second: job %d %s: %s", e.Job, e.Kind, e.Text)
}
