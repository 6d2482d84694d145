package watch

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/event"
)

// askShares reads Slurm's tree of shares if it counts and a query is due. If it cannot be read the last
// one stands. It is called AFTER the limits were read, which say whether shares count. It reads
// nothing if the site has a tree of its own (Shares.Own), which wins over Slurm's. A failed query
// does not fail the observation.
func (w *Watch) askShares(ctx context.Context, now time.Time) {
	if !w.SharesWanted() || w.Shares.Own != nil {
		return
	}
	tree, read, err := w.Observer.SiteShares(ctx, now)
	if !read && err == nil {
		return
	}
	switch failed, mended := w.Shares.TookShares(tree, err, now); {
	case failed && w.Shares.Tree == nil:
		w.Tell(now, 0, "problem", "the tree of shares cannot be read; until then GPUs are not divided by shares: "+w.Shares.Why, event.Fields{Problem: event.ProblemShares})
	case failed:
		w.Tell(now, 0, "problem", "the tree of shares cannot be read; that of "+w.Shares.Read.Format(time.TimeOnly)+" stands: "+w.Shares.Why, event.Fields{Problem: event.ProblemShares})
	case mended:
		w.Tell(now, 0, "shares", "the tree of shares can be read again")
	}
}
