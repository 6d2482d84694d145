package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/slurm"
)

// errSuspicious marks an answer that is legal but not believed.
var errSuspicious = errors.New("suspicious answer from Slurm")

// view is one look at the world.
type view struct {
	jobs  []slurm.Job
	nodes []slurm.Node
	old   bool // nodes are those of the last look
}

type runnerWord struct {
	word checkpoint.Runner
	ok   bool
}

// load fetches what the journal remembers, once, before anything is observed.
func (e *Engine) load(ctx context.Context, now time.Time) error {
	if e.loaded {
		return nil
	}
	records, err := e.cfg.Journal.Jobs(ctx, now.Add(-EndedMemory))
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	open, err := e.cfg.Journal.Open(ctx)
	if err != nil {
		return fmt.Errorf("reading the journal's open moves: %w", err)
	}
	for _, in := range open {
		if err := in.Known(); err != nil {
			return fmt.Errorf("reading the journal's open moves: %w; nothing is started or moved until the newer sluice runs again", err)
		}
	}
	written, err := e.cfg.Journal.Written(ctx)
	if err != nil {
		return fmt.Errorf("reading the journal's moves: %w", err)
	}
	if e.kept, err = e.cfg.Journal.Health(ctx); err != nil {
		return fmt.Errorf("reading what the journal knows of nodes' GPUs: %w", err)
	}
	e.health = e.kept
	answers, err := e.cfg.Journal.Answers(ctx)
	if err != nil {
		return fmt.Errorf("reading which scripts and models have answered: %w", err)
	}
	if err := e.recallLengths(ctx, now); err != nil {
		return err
	}
	for _, a := range answers {
		e.answers[answerKey{a.UID, a.Key}] = a.At
	}
	for _, r := range records {
		js := &jobState{rec: r}
		if n := written[r.ID]; n > r.Tag.Incarnation { // an earlier life ended before it kept the record
			js.rec.Tag.Incarnation, js.dirty = n, true
		}
		e.remember(js)
		if !r.Ended.IsZero() {
			e.hearLast(js)
		}
		if js.forgotten() {
			e.askAgain(now)
		}
	}
	e.open, e.loaded = open, true
	perhapsAsked(e.open, now)
	e.perhapsHolding(now)
	for _, in := range open {
		e.event(now, in.Job, "taken", takenUp(in), fieldsOfTaken(in))
	}
	return nil
}

// EndedMemory is how long ended jobs stay in the report.
const EndedMemory = 24 * time.Hour

func (e *Engine) remember(js *jobState) {
	js.tells.problem = map[string]string{}
	e.jobs[js.rec.Token], e.order = js, nil
	if old := e.byID[js.rec.ID]; old == nil || old.rec.Submitted.Before(js.rec.Submitted) {
		e.byID[js.rec.ID] = js
	}
}

// observe asks Slurm twice and reads what the jobs wrote.
func (e *Engine) observe(ctx context.Context, now time.Time) (view, error) {
	jobs, err := e.cfg.Slurm.Jobs(ctx)
	if err != nil {
		return view{}, err
	}
	e.between()
	// Asked second, so that GPUs a job of the first answer has left show free.
	inventory, old, err := e.inventoryFor(ctx, jobs)
	if err != nil {
		return view{}, err
	}
	e.lost.note(inventory, now)
	v := view{jobs: jobs, nodes: inventory, old: old}
	e.match(v, now)
	e.lookAtLimits(ctx, jobs, now)
	if err := e.lookForMissing(ctx, now); err != nil {
		return view{}, err
	}
	e.lookUpForgotten(ctx, now)
	e.readSplits(ctx, now)
	e.readMail(now)
	return v, nil
}

// inventoryFor asks for the nodes, or takes those of the last look: in peace, when
// no job changed and none is between two sizes, every second look does without.
// Each of Slurm's queries also loads all partitions, so this spares a quarter of
// what an idle daemon costs slurmctld. No move is ever opened on an old view.
func (e *Engine) inventoryFor(ctx context.Context, jobs []slurm.Job) (_ []slurm.Node, old bool, err error) {
	same := slices.EqualFunc(jobs, e.seen.jobs, alike)
	e.seen.jobs, e.seen.around = jobs, nil
	if same && len(e.open) == 0 && len(e.seen.nodes) > 0 && !e.seen.old {
		e.seen.old = true
		return e.seen.nodes, true, nil
	}
	fresh, err := e.askNodes(ctx)
	return fresh, false, err
}

// Happened says that something did, in Slurm perhaps: the next look asks for the nodes, too.
// It is called between two cycles.
func (e *Engine) Happened() { e.seen.old = true }

// askNodes asks Slurm for the nodes. An empty answer is never "nothing there": a
// cluster has nodes.
func (e *Engine) askNodes(ctx context.Context) ([]slurm.Node, error) {
	fresh, err := e.cfg.Slurm.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	if len(fresh) == 0 {
		return nil, fmt.Errorf("%w: no nodes at all", errSuspicious)
	}
	e.seen.nodes, e.seen.old, e.seen.around = fresh, false, nil
	return fresh, nil
}

// alike reports whether a job stands as it stood, but for the passing of time.
func alike(a, b slurm.Job) bool {
	return a.ID == b.ID && a.State == b.State && a.Completing == b.Completing && a.Held == b.Held &&
		a.Reason == b.Reason && a.GPUs == b.GPUs && a.Restarts == b.Restarts && a.Comment == b.Comment &&
		a.Partition == b.Partition && a.Dependency == b.Dependency && a.Eligible.Equal(b.Eligible) && slices.Equal(a.Nodes, b.Nodes) &&
		a.Constraint == b.Constraint && slices.Equal(a.ExcNodes, b.ExcNodes)
}

// match joins Slurm's jobs to what is remembered and adopts new ones.
func (e *Engine) match(v view, now time.Time) {
	for _, js := range e.jobs {
		js.shown.seen = false
	}
	e.strange.before, e.strange.now = e.strange.now, map[slurm.JobID]string{}
	for _, sj := range v.jobs {
		if !e.mine(sj) || sj.Array || sj.Het {
			continue
		}
		if !elastic.Tagged(sj.Comment) {
			e.disowned(sj, now)
			continue
		}
		tag, err := e.tagOf(sj)
		if err != nil {
			e.unreadable(sj, err, now)
			continue
		}
		e.take(sj, tag, now)
	}
}

// tagOf reads the job's comment, unless it is the one that was read the last time.
func (e *Engine) tagOf(sj slurm.Job) (elastic.Tag, error) {
	js := e.byID[elastic.JobID(sj.ID)]
	if js != nil && js.shown.comment == sj.Comment {
		return js.shown.commented, nil
	}
	tag, err := elastic.ParseTag(sj.Comment)
	if js != nil && err == nil {
		js.shown.comment, js.shown.commented = sj.Comment, tag
	}
	return tag, err
}

// take joins one tagged job to its record. A token belongs to one job and one
// user; a second claimant is left alone.
func (e *Engine) take(sj slurm.Job, tag elastic.Tag, now time.Time) {
	if known := e.byID[elastic.JobID(sj.ID)]; known != nil && known.is(sj) && known.rec.Token != tag.Spec.Token {
		e.rewritten(known, sj, now)
		return
	}
	js := e.jobs[tag.Spec.Token]
	if js == nil {
		if sj.State.Ended() {
			return // over before sluice ever saw it
		}
		if why := e.squats(sj, tag); why != "" {
			e.leave(sj, now, why)
			return
		}
		js = e.adopt(sj, tag, now)
	}
	if js.rec.ID != elastic.JobID(sj.ID) || js.rec.UID != sj.UID {
		e.leave(sj, now, fmt.Sprintf("its comment carries the token of job %d; left alone", js.rec.ID))
		return
	}
	// Orders come through sluice, and were durable before their caller was told:
	// the record knows better than a comment not yet written.
	if tag.Directive != js.rec.Tag.Directive {
		tag.Directive, js.told = js.rec.Tag.Directive, true
	}
	// Never back: slurmctld may have carried an older change out late, or forgotten this one.
	if tag.Incarnation < js.rec.Tag.Incarnation {
		tag.Incarnation, js.told = js.rec.Tag.Incarnation, true
	}
	if tag.Spec.Array.Open && !js.rec.Tag.Spec.Array.Open {
		tag.Spec.Array.Open, js.told = false, true
	}
	e.livesAgain(js, sj, now)
	js.shown.waited = phaseOf(js.shown.slurm) == elastic.Held
	js.shown.seen, js.shown.disown, js.shown.slurm = true, false, sj
	delete(js.tells.problem, "comment")
	js.rec.Name, js.rec.Partition = sj.Name, eligible.PartitionsOf(js.rec.Partition, tag.Partition, sj)
	if !sameTag(js.rec.Tag, tag) {
		e.renamed = e.renamed || tag.Spec.Model != js.rec.Tag.Spec.Model
		js.rec.Tag, js.dirty = tag, true
	}
}

// livesAgain takes back the end of a job that its user requeued while Slurm remembers it.
func (e *Engine) livesAgain(js *jobState, sj slurm.Job, now time.Time) {
	if js.rec.Ended.IsZero() || sj.State.Ended() || sj.Completing {
		return
	}
	js.rec.Ended, js.rec.Deaf, js.over.words, js.dirty = time.Time{}, 0, nil, true
	js.over.noticed = time.Time{}
	js.over.exit, js.rec.Ending = nil, Ending{}
	e.event(now, js.rec.ID, "adopted", "lives again: its user requeued it")
}

// sameTag reports whether two tags are written alike.
func sameTag(a, b elastic.Tag) bool { return a.Equal(b) || a.String() == b.String() }

func (e *Engine) adopt(sj slurm.Job, tag elastic.Tag, now time.Time) *jobState {
	js := &jobState{dirty: true, rec: JobRecord{
		Token: tag.Spec.Token, ID: elastic.JobID(sj.ID), Name: sj.Name, User: sj.User, UID: sj.UID,
		Partition: sj.Partition, Tag: tag, Submitted: sj.Submit, Price: e.cfg.Price,
		Restarts: -1,
	}}
	if js.rec.Submitted.IsZero() {
		js.rec.Submitted = now
	}
	e.remember(js)
	e.event(now, js.rec.ID, "adopted", fmt.Sprintf("%s of %s, %s", sj.Name, sj.User, tag), Fields{Token: tag.Spec.Token})
	return js
}

// disowned notes a job whose tag its user took away.
func (e *Engine) disowned(sj slurm.Job, now time.Time) {
	js := e.byID[elastic.JobID(sj.ID)]
	if js == nil || js.rec.UID != sj.UID || !js.rec.Ended.IsZero() {
		return
	}
	if !js.shown.disown {
		e.event(now, js.rec.ID, "problem", "its sluice comment was removed; left alone from now on", Fields{Problem: ProblemUntagged})
	}
	js.shown.seen, js.shown.disown, js.shown.slurm = true, true, sj
	js.tells.problem["comment"] = "the sluice comment was removed; the job is left alone"
}

// unreadable notes a comment that claims to be sluice's and cannot be read. A
// known job goes on with the spec it had.
func (e *Engine) unreadable(sj slurm.Job, err error, now time.Time) {
	js := e.byID[elastic.JobID(sj.ID)]
	if js == nil || js.rec.UID != sj.UID || !js.rec.Ended.IsZero() {
		e.leave(sj, now, "its comment cannot be read: "+err.Error(), Fields{Problem: ProblemUnreadable})
		return
	}
	js.shown.seen, js.shown.disown, js.shown.slurm = true, false, sj
	js.tells.problem["comment"] = "the job's comment cannot be read (" + err.Error() + "); its last good one stands"
}

// atLeast keeps a record that is an older copy from giving an incarnation again that the
// job's comment shows.
func (js *jobState) atLeast(comment string) {
	if tag, err := elastic.ParseTag(comment); err == nil && tag.Incarnation > js.rec.Tag.Incarnation {
		js.rec.Tag.Incarnation, js.dirty = tag.Incarnation, true
	}
}

func (e *Engine) ended(js *jobState, state string, now time.Time) {
	if !js.rec.Ended.IsZero() {
		return
	}
	js.rec.Ended, js.rec.State, js.dirty = js.endedAt(now), state, true
	js.over.noticed = now
	e.hadRun(js, now)
	e.hearLast(js)
	js.runs.end(js.endOfRun(now))
	js.rec.Ending = js.ending()
	js.tookInAll(now)
	e.lengths.note(js.rec)
	e.event(now, js.rec.ID, "ended", state+": "+js.ending().String(), Fields{State: state})
}

// readMail reads the runners' words and the new progress lines of jobs that
// run, or that ended since the last look.
func (e *Engine) readMail(now time.Time) {
	var begun []*jobState
	for _, js := range e.ordered() {
		if !js.shown.seen || js.shown.disown || !js.rec.Ended.IsZero() {
			continue
		}
		if js.idle() {
			continue
		}
		e.readRunner(js, now)
		e.tellRun(js, now)
		begun = append(begun, js)
	}
	e.readProgressOf(begun, now)
	e.tellUnread(now)
}

func (e *Engine) readRunner(js *jobState, now time.Time) {
	word, ok, err := e.cfg.Mailbox.Runner(js.rec.Token, js.rec.UID)
	if !js.mail.answersBy(err) {
		js.lateWord(now)
		return
	}
	if err != nil {
		js.tells.problem["runner"] = err.Error()
		js.mail.runner, js.mail.quiet = runnerWord{}, quiet{}
		return
	}
	delete(js.tells.problem, "runner")
	js.mail.runner = runnerWord{word: word, ok: ok && current(word, js.shown.slurm)}
	js.noteBeat(now)
	if a := word.Answer; js.mail.runner.ok && a != nil && a.Checkpoint != "" {
		js.mail.kept = a
	}
	if js.mail.runner.ok && word.Note != "" {
		js.tells.problem["note"] = word.Note
	} else {
		delete(js.tells.problem, "note")
	}
	js.retrace()
}

// current reports whether the runner's word is about the present run. A
// controller that lost its last minutes shows fewer restarts than there were,
// and the runner, who was there, is right; a word from before the run's start is
// of an earlier one.
func current(word checkpoint.Runner, sj slurm.Job) bool {
	return word.Restarts >= sj.Restarts && !word.Beat.Before(sj.Start)
}

// restarts is the number of the present run, from who knows best.
func (js *jobState) restarts() int {
	if js.mail.runner.ok {
		return js.mail.runner.word.Restarts
	}
	return js.shown.slurm.Restarts
}
