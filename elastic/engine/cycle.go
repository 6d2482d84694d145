package engine

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/track"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// observe asks Slurm twice and reads what the jobs wrote. Each part of what is read is taken in
// before the next, for what is read next depends on it.
func (e *Engine) observe(ctx context.Context, now time.Time) (seen observe.Look, err error) {
	if seen, err = e.lookAtCluster(ctx); err != nil {
		return observe.Look{}, err
	}
	e.Lost.Note(seen.Nodes, now)
	e.Match(seen.Jobs, e.eyes.Owners(e.Claims(seen.Jobs)), now)
	e.askLimits(ctx, e.LimitsOld(seen.Jobs), now)
	if err := e.lookForMissing(ctx, now); err != nil {
		return observe.Look{}, err
	}
	e.lookUpForgotten(ctx, now)
	placeless := e.Placeless(now)
	track.HeardSplits(placeless, e.eyes.Details(ctx, track.IdsOf(placeless)))
	writing := e.Writing()
	e.HeardRunners(writing, e.eyes.Words(track.BoxesOf(writing)), now)
	e.readProgress(writing, now)
	e.TellUnread(now)
	return seen, nil
}

// lookAtCluster asks for jobs, and for nodes unless those of the look before serve.
func (e *Engine) lookAtCluster(ctx context.Context) (observe.Look, error) {
	jobs, err := e.eyes.Slurm.Jobs(ctx)
	if err != nil {
		return observe.Look{}, err
	}
	observe.LetIn(e.eyes.Between)
	if e.SawJobs(jobs) {
		return observe.Look{Jobs: jobs, Nodes: e.Seen.Nodes, Old: true}, nil
	}
	// Asked second, so that GPUs a job of the first answer has left show free.
	nodes, err := e.eyes.Nodes(ctx)
	if err != nil {
		return observe.Look{}, err
	}
	e.SawNodes(nodes)
	return observe.Look{Jobs: jobs, Nodes: nodes}, nil
}

// foldAll brings what is known up to what was seen.
func (e *Engine) foldAll(ctx context.Context, seen observe.Look, now time.Time) {
	histories := e.eyes.Histories(ctx, track.TokensOf(e.Ordered(), e.WantsHistory))
	ends := e.Ends(now)
	words := map[string]observe.Word{}
	for i, w := range e.eyes.WordsNow(track.BoxesOf(ends)) {
		words[ends[i].Rec.Token] = w
	}
	e.Fold(histories, words, now)
	for _, js := range ends {
		_ = e.hands.Mail.Forget(js.Rec.Token) // swept again by nobody: the folder is small and harmless
	}
	e.FoldAnswers(now)
	e.Reconsider(seen)
	e.HearGPUs(now)
	e.Learnt.Foresee(e.LivingKeys(), now)
}

// Happened says that something did, in Slurm perhaps: the next look asks for the nodes, too.
// It is called between two cycles.
func (e *Engine) Happened() { e.Seen.Old = true }
