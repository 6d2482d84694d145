package engine

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// observe asks Slurm twice and reads what the jobs wrote. Each part of what is read is taken in
// before the next, for what is read next depends on it.
func (e *Engine) observe(ctx context.Context, now time.Time) (seen observe.Look, err error) {
	if seen, err = e.lookAtCluster(ctx); err != nil {
		return observe.Look{}, err
	}
	e.lost.note(seen.Nodes, now)
	e.match(seen.Jobs, e.eyes.Owners(e.claims(seen.Jobs)), now)
	e.askLimits(ctx, e.limitsOld(seen.Jobs), now)
	if err := e.lookForMissing(ctx, now); err != nil {
		return observe.Look{}, err
	}
	e.lookUpForgotten(ctx, now)
	placeless := e.placeless(now)
	heardSplits(placeless, e.eyes.Details(ctx, idsOf(placeless)))
	writing := e.writing()
	e.heardRunners(writing, e.eyes.Words(boxesOf(writing)), now)
	e.readProgress(writing, now)
	e.tellUnread(now)
	return seen, nil
}

// lookAtCluster asks for jobs, and for nodes unless those of the look before serve.
func (e *Engine) lookAtCluster(ctx context.Context) (observe.Look, error) {
	jobs, err := e.eyes.Slurm.Jobs(ctx)
	if err != nil {
		return observe.Look{}, err
	}
	letIn(e.eyes.Between)
	if e.sawJobs(jobs) {
		return observe.Look{Jobs: jobs, Nodes: e.seen.nodes, Old: true}, nil
	}
	// Asked second, so that GPUs a job of the first answer has left show free.
	nodes, err := e.eyes.Nodes(ctx)
	if err != nil {
		return observe.Look{}, err
	}
	e.sawNodes(nodes)
	return observe.Look{Jobs: jobs, Nodes: nodes}, nil
}

// foldAll brings what is known up to what was seen.
func (e *Engine) foldAll(ctx context.Context, seen observe.Look, now time.Time) {
	histories := e.eyes.Histories(ctx, tokensOf(e.ordered(), e.wantsHistory))
	ends := e.ends(now)
	words := map[string]observe.Word{}
	for i, w := range e.eyes.WordsNow(boxesOf(ends)) {
		words[ends[i].rec.Token] = w
	}
	e.fold(histories, words, now)
	for _, js := range ends {
		_ = e.hands.mail.Forget(js.rec.Token) // swept again by nobody: the folder is small and harmless
	}
	e.foldAnswers(now)
	e.reconsider(seen)
	e.hear(now)
	e.learnt.Foresee(e.livingKeys(), now)
}

// Happened says that something did, in Slurm perhaps: the next look asks for the nodes, too.
// It is called between two cycles.
func (e *Engine) Happened() { e.seen.old = true }
