package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// SharesPeriod is the time between two queries for the tree of shares, and how long an answer to one
// may take before it counts as failed.
const SharesPeriod = time.Minute

// sharesAsked is the state of the queries for the tree of shares.
type sharesAsked struct {
	asked time.Time // when the last query began; zero = there was none
	late  time.Time // when the query began that has not been answered; zero = none
}

// ErrNoShares: Slurm shows no tree although shares count. Without slurmdbd there is none.
var ErrNoShares = errors.New("Slurm shows no accounts with shares: see sshare -al, which needs slurmdbd")

// SiteShares queries the tree of shares, at most once in SharesPeriod. read is false if no query was
// due or it has not been answered yet; err is why there is no tree.
func (o *Observer) SiteShares(ctx context.Context, now time.Time) (tree []slurm.Share, read bool, err error) {
	a := &o.shares
	if o.Sharer == nil || a.late.IsZero() && !a.asked.IsZero() && now.Sub(a.asked) < SharesPeriod {
		return nil, false, nil
	}
	tree, err = o.Sharer.Shares(ctx)
	if errors.Is(err, ErrAsking) {
		if a.late.IsZero() {
			a.late = now
		}
		if waits := now.Sub(a.late); waits >= SharesPeriod { // counts as failed; the query continues
			return nil, false, fmt.Errorf("Slurm has not answered for %s", waits.Round(time.Second))
		}
		return nil, false, nil
	}
	a.asked, a.late = now, time.Time{}
	if err == nil && len(tree) == 0 {
		err = ErrNoShares
	}
	return tree, err == nil, err
}
