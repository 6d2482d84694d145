package track

import (
	"reflect"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/slurm"
)

// Shares is what is known of the site's shares, and what users had beyond theirs.
type Shares struct {
	// Own is the site's own tree, which wins over Slurm's; nil = there is none.
	Own  *share.Own
	List []slurm.Share // as Slurm showed it last; not changed
	Tree *share.Tree   // of List; nil = none was read yet
	Read time.Time     // when List was read
	Why  string        // why it could not be read last; "" = it could
	Last claim.Claims  // the division of the last snapshot; zero = nothing was divided
	// Rigid reports whether running jobs of these partitions are never resized, as their policy
	// says; nil = none.
	Rigid func(partitions string) bool
	// undivided is why the GPUs could not be divided, as it was last told.
	undivided string
	books
}

// books is what users had less than they deserved while GPUs were wanted by others, and negative
// what they had beyond (share.Ledger).
type books struct {
	credit *share.Ledger
	upTo   time.Time // until when it is booked; zero = not begun
	kept   creditsKept
}

// bookMost bounds the time that is booked at once: a clock may be set ahead, and after an outage
// nobody knows what jobs had.
const bookMost = time.Hour

// SharesWanted reports whether GPUs are divided by shares, as soon as a tree is known.
func (cl *Cluster) SharesWanted() bool { return cl.Shares.Own != nil || cl.Site.FairShare.Weight > 0 }

// TookShares takes a tree that was read, or the error. failed is true for the first failure after a
// success, mended for the first success after a failure. The last tree stands while none can be read.
// An unchanged list is not parsed again. list MUST NOT be changed afterwards.
func (sh *Shares) TookShares(list []slurm.Share, err error, now time.Time) (failed, mended bool) {
	tree := sh.Tree
	if err == nil && (tree == nil || !reflect.DeepEqual(sh.List, list)) {
		tree, err = eligible.TreeOf(list)
	}
	before := sh.Why
	if err != nil {
		sh.Why = err.Error()
		return before == "", false
	}
	sh.List, sh.Tree, sh.Read, sh.Why = list, tree, now, ""
	return false, before != ""
}

// divide divides the GPUs of a snapshot by shares, if these count, with the site's rules for QOS. The
// division stays in Last for the books and for readers. It MUST come AFTER book, which books by the
// division before, and appends to s.Caps. After an error nothing is divided, and nothing is booked
// for the time until the next division.
func (cl *Cluster) divide(s *elastic.Snapshot, qos map[string]share.QOS) (err error) {
	sh := &cl.Shares
	tree := sh.InForce()
	if sh.Last = (claim.Claims{}); tree == nil || !cl.SharesWanted() {
		return nil
	}
	sh.Last, err = eligible.Reclaim(s, cl.Site, tree, sh.credit, sh.Rigid, qos)
	return err
}

// halfLife returns the half-life of what users had: Slurm's if fair share counts there, else its
// default.
func (cl *Cluster) halfLife() time.Duration {
	if cl.Site.FairShare.Weight > 0 {
		return cl.Site.FairShare.HalfLife
	}
	return share.DefaultHalfLife
}

// book books what users had since the last call by the last division. It MUST be called BEFORE the
// next division. Only while not everybody has what it wants does anybody have less than it deserves.
func (sh *Shares) book(halfLife time.Duration, now time.Time) {
	if sh.credit == nil {
		sh.credit = share.NewLedger(halfLife)
	}
	sh.credit.Decay(halfLife)
	since := now.Sub(sh.upTo)
	if sh.upTo.IsZero() || since < 0 { // the first time, or the clock was set back
		since = 0
	}
	sh.upTo = now
	sh.credit.Pass(since)
	if !sh.Last.Contended() {
		return
	}
	for _, c := range sh.Last.Each {
		if c.Scavenger { // nobody is kept from anything by it
			continue
		}
		sh.credit.Book(c.Account, c.User, c.Deserved.Fair, c.Worth, min(since, bookMost))
	}
}
