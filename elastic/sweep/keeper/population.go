package keeper

import (
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/search"
)

// population is the method that replaces trials by copies of others.
const population = "pbt"

// replace marks the members of a population that fell behind, if a trial is left for each to take its
// place: one that lost without that would be paused for good.
func (s *step) replace() {
	room := s.plan.Sweep.Trials - len(s.Trials) - len(s.Unreplaced())
	for _, t := range s.Trials {
		if t.State == book.Running && t.Rung > 0 {
			room--
		}
	}
	for _, l := range search.Losers(s.plan.Problem, s.history()) {
		if room <= 0 {
			return
		}
		if s.lost(s.Trials[l.Trial], sweep.Lost{Rung: l.Epoch, Rank: l.Place, Of: l.Of}) {
			room--
		}
	}
}

// origin is from where a trial goes on as the searchers see it: its curve begins after the checkpoint
// that its lane found.
func origin(t *book.Trial) search.Origin {
	o := search.Origin{From: t.From, Epoch: t.FromEpoch, Replaces: t.Replaces}
	if t.Copied != nil {
		o.Epoch = int(t.Copied.Epoch)
	}
	return o
}

// inherit gives a copy that had nothing left to do what its parent has reached, so that it does not
// count as one that failed.
func (s *step) inherit(t *book.Trial, o *search.Observation) {
	if parent := s.Trial(t.From); t.State == book.Done && len(t.Curve) == 0 && parent != nil {
		if last, ok := parent.Last(); ok {
			o.Curve = []search.Measure{{Epoch: int(last.Epoch), Value: last.Value}}
		}
	}
}
