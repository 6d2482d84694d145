package engine

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// observe asks Slurm twice and reads what the jobs wrote. Each part of what is read is taken in
// before the next, for what is read next depends on it.
func (e *Engine) observe(ctx context.Context, now time.Time) (seen look, err error) {
	if seen, err = e.lookAtCluster(ctx); err != nil {
		return look{}, err
	}
	e.lost.note(seen.nodes, now)
	e.match(seen.jobs, e.eyes.owners(e.claims(seen.jobs)), now)
	e.askLimits(ctx, e.limitsOld(seen.jobs), now)
	if err := e.lookForMissing(ctx, now); err != nil {
		return look{}, err
	}
	e.lookUpForgotten(ctx, now)
	placeless := e.placeless(now)
	heardSplits(placeless, e.eyes.details(ctx, idsOf(placeless)))
	writing := e.writing()
	e.heardRunners(writing, e.eyes.words(boxesOf(writing)), now)
	e.readProgress(writing, now)
	e.tellUnread(now)
	return seen, nil
}

// lookAtCluster asks for jobs, and for nodes unless those of the look before serve.
func (e *Engine) lookAtCluster(ctx context.Context) (look, error) {
	jobs, err := e.eyes.slurm.Jobs(ctx)
	if err != nil {
		return look{}, err
	}
	letIn(e.eyes.between)
	if e.sawJobs(jobs) {
		return look{jobs: jobs, nodes: e.seen.nodes, old: true}, nil
	}
	// Asked second, so that GPUs a job of the first answer has left show free.
	nodes, err := e.eyes.askNodes(ctx)
	if err != nil {
		return look{}, err
	}
	e.sawNodes(nodes)
	return look{jobs: jobs, nodes: nodes}, nil
}

// foldAll brings what is known up to what was seen.
func (e *Engine) foldAll(ctx context.Context, seen look, now time.Time) {
	histories := e.eyes.histories(ctx, tokensOf(e.ordered(), e.wantsHistory))
	ends := e.ends(now)
	words := map[string]word{}
	for i, w := range e.eyes.wordsNow(boxesOf(ends)) {
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

// idsOf are the numbers of jobs.
func idsOf(jobs []*jobState) []slurm.JobID {
	out := make([]slurm.JobID, len(jobs))
	for i, js := range jobs {
		out[i] = slurm.JobID(js.rec.ID)
	}
	return out
}

// Happened says that something did, in Slurm perhaps: the next look asks for the nodes, too.
// It is called between two cycles.
func (e *Engine) Happened() { e.seen.old = true }
