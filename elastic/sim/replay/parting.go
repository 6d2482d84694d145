package replay

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
)

// AccountResult is one account's part, with its sub-accounts. GPU-seconds count from round to
// round, those of restarts too.
type AccountResult struct {
	share.Account
	Jobs int
	JCT  time.Duration // mean; 0 without jobs
	// Used and Deserved are GPU-seconds while not everybody could have what it wanted: what it
	// had, and what its shares gave it then.
	Used, Deserved float64
	// Borrowed are the GPU-seconds that it had beyond its own part of the cluster (share.Account,
	// Own), Lent those of its own part that it did not have and others of the same parent had
	// beyond theirs.
	Borrowed, Lent float64
}

// parting is the division of the GPUs by shares, and what came of it.
type parting struct {
	tree     *share.Tree
	credit   *share.Ledger
	at       time.Duration // of the last division
	claims   claim.Claims
	accounts []AccountResult
	up       []int          // the parent's index of each account; -1 = none
	index    map[string]int // of accounts by name
}

func newParting(cfg Config) *parting {
	halfLife := cfg.HalfLife
	if halfLife == 0 {
		halfLife = share.DefaultHalfLife
	}
	p := &parting{tree: cfg.Shares, credit: share.NewLedger(halfLife), index: map[string]int{}}
	for i, a := range cfg.Shares.Accounts() {
		up := -1
		if a.Parent != "" {
			up = p.index[a.Parent]
		}
		p.index[a.Name] = i
		p.accounts, p.up = append(p.accounts, AccountResult{Account: a}), append(p.up, up)
	}
	return p
}

// divide makes the shares the caps of the next decision.
func (p *parting) divide(s *elastic.Snapshot, now time.Duration, rigid func(partitions string) bool) (err error) {
	p.credit.Pass(now - p.at)
	p.at = now
	s.Caps = nil
	if p.claims, err = claim.Of(p.tree, s, p.credit, rigid, nil); err == nil {
		s.Caps = p.claims.Caps()
	}
	return err
}

// book books what everybody has until the next decision.
func (p *parting) book(s *elastic.Snapshot, d time.Duration) {
	has := make(map[elastic.JobID]int, len(s.Jobs))
	for i := range s.Jobs {
		has[s.Jobs[i].ID] = s.Jobs[i].GPUs()
	}
	had := make([]float64, len(p.accounts))
	contended := p.claims.Contended()
	for _, c := range p.claims.Each {
		n := 0.0
		for _, id := range c.Jobs {
			n += float64(has[id])
		}
		if contended {
			p.credit.Book(c.Account, c.User, c.Deserved.Fair, n, d)
		}
		for i := p.index[c.Account]; i >= 0; i = p.up[i] {
			if had[i] += n; contended {
				p.accounts[i].Used += n * d.Seconds()
				p.accounts[i].Deserved += c.Deserved.Fair * d.Seconds()
			}
		}
	}
	p.lend(had, d)
}

// lend books what accounts have beyond their own part, and whose parts that is.
func (p *parting) lend(had []float64, d time.Duration) {
	borrowed, lent := share.Lend(p.tree.Accounts(), float64(p.claims.Capacity), had)
	for i := range p.accounts {
		p.accounts[i].Borrowed += borrowed[i] * d.Seconds()
		p.accounts[i].Lent += lent[i] * d.Seconds()
	}
}

// result adds what came of the jobs.
func (p *parting) result(jobs []JobResult) []AccountResult {
	sums := make([]time.Duration, len(p.accounts))
	for _, j := range jobs {
		for i := p.index[j.Account]; i >= 0; i = p.up[i] {
			p.accounts[i].Jobs++
			sums[i] += j.JCT()
		}
	}
	out := slices.Clone(p.accounts)
	for i := range out {
		if out[i].Jobs > 0 {
			out[i].JCT = sums[i] / time.Duration(out[i].Jobs)
		}
	}
	return out
}
