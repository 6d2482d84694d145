package watch

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/execute"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/slurm"
)

// Watch observes the cluster and updates the state. It belongs to one goroutine. The zero value with
// a State, an Observer and an Executor is ready for Load.
type Watch struct {
	*track.State
	Observer observe.Observer
	Executor execute.Executor // for what must be recorded before the next query
	Loaded   bool             // the journal has been read
}

// Observe queries Slurm for jobs and nodes and reads the files of jobs. The state is updated from
// each part before the next is read, since what to read next depends on it. On an error the returned
// look is empty, and what was learned before the error stays in the state: it is true, only
// incomplete.
//
// Why the parts come in this order:
//
//   - the end of an outage is noted BEFORE Lost.Note, which forgets nodes by the time that has passed;
//   - which job has a number, and which failed job the store lost, is settled BEFORE jobs are matched, and
//     folders of unknown ones are asked for;
//   - jobs are matched BEFORE limits are read, since a job that waits for a limit makes them due;
//   - the uid of the service account is known BEFORE those of the users that its jobs name, and both
//     BEFORE jobs are matched, which decides whose they are;
//   - missing jobs are looked up BEFORE accounting is asked about forgotten ones, which it may add to;
//   - placements are known BEFORE progress is read, since a speed belongs to a placement;
//   - runners are heard BEFORE progress is read: a line counts for the present run by the runner's
//     count of restarts.
func (w *Watch) Observe(ctx context.Context, now time.Time) (seen observe.Look, err error) {
	if seen, err = w.lookAtCluster(ctx); err != nil {
		return observe.Look{}, err
	}
	track.EndOutage(w.State, now)
	w.Lost.Note(seen.Nodes, now)
	doubts := track.Doubts(w.State, seen.Jobs)
	track.SettleDoubts(doubts, w.Observer.Words(track.BoxesOfDoubts(doubts)), now)
	w.settleUnrecorded(seen.Jobs, now)
	w.AskOwners(seen.Jobs, now)
	w.Match(seen.Jobs, w.Observer.CheckFolders(w.Claims(seen.Jobs)), now)
	w.AskLimits(ctx, w.LimitsOld(seen.Jobs), now)
	w.askShares(ctx, now)
	if err := w.lookForMissing(ctx, now); err != nil {
		return observe.Look{}, err
	}
	w.lookUpForgotten(ctx, now)
	placeless := w.Placeless(now)
	track.HeardSplits(placeless, w.Observer.Details(ctx, track.IdsOf(placeless)))
	writing := w.Writing()
	w.HeardRunners(writing, w.Observer.Words(track.BoxesOf(writing)), now)
	w.ReadProgress(writing, now)
	w.TellUnread(now)
	return seen, nil
}

// settleUnrecorded reads the folders of failed jobs that the store lost, and settles which of them are taken up.
func (w *Watch) settleUnrecorded(jobs []slurm.Job, now time.Time) {
	lost := track.Unrecorded(w.State, jobs, now)
	track.SettleUnrecorded(w.State, lost, w.Observer.WordsNow(track.BoxesOfUnrecorded(w.State, lost)))
}

// AskOwners reads the uids by which the owners of confined jobs are known. See track.OwnersWanted.
func (w *Watch) AskOwners(jobs []slurm.Job, now time.Time) {
	var account observe.Account
	name := w.Rules.Confined
	if name != "" {
		account = w.Observer.Named(name)[name]
	}
	track.SawAccount(w.State, name, account, now)
	track.SawOwners(w.State, w.Observer.Named(track.OwnersWanted(w.State, jobs)...))
}

// lookAtCluster queries the jobs, and the nodes unless those of the last observation can be reused.
// Between the two queries users' requests are let in. The returned Nodes are those of the state,
// which nobody changes.
func (w *Watch) lookAtCluster(ctx context.Context) (observe.Look, error) {
	jobs, err := w.Observer.Slurm.Jobs(ctx)
	if err != nil {
		return observe.Look{}, err
	}
	observe.LetIn(w.Observer.Between)
	if w.SawJobs(jobs) {
		return observe.Look{Jobs: jobs, Nodes: w.Seen.Nodes, Old: true}, nil
	}
	// AFTER the jobs, so that the GPUs of a job that ends in between show as free.
	nodes, err := w.Observer.Nodes(ctx)
	if err != nil {
		return observe.Look{}, err
	}
	w.SawNodes(nodes)
	return observe.Look{Jobs: jobs, Nodes: nodes}, nil
}

// Fold updates the state from a complete observation. seen MUST be what Observe returned without an
// error for the same now. The last status of a job that ends is read here, AFTER Slurm showed the
// end: a status read before it may lack the exit. The folder's requests are removed AFTER that. What
// jobs answered, and what they were refused, is judged AFTER State.Fold, which says which jobs have
// ended. Predictions come last, since they use the samples of this look.
func (w *Watch) Fold(ctx context.Context, seen observe.Look, now time.Time) {
	histories := w.Observer.Histories(ctx, track.TokensOf(w.Ordered(), w.WantsHistory))
	ends := w.Ends(now)
	words := map[string]observe.Word{}
	for i, last := range w.Observer.WordsNow(track.BoxesOf(ends)) {
		words[ends[i].Rec.Token] = last
	}
	w.State.Fold(histories, words, now)
	for _, js := range ends {
		w.Executor.ForgetFolder(js)
	}
	w.FoldAnswers(now)
	w.Reconsider(seen, now)
	w.HearGPUs(now)
	w.Learnt.Foresee(w.LivingKeys(), now)
}
