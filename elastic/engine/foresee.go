package engine

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// Outlook is what a forecast starts from. It shares nothing that a cycle changes, so it may be used in
// any goroutine.
type Outlook struct {
	Snapshot elastic.Snapshot
	Decide   func(elastic.Snapshot) elastic.Plan // as the cycle decides; pure
}

// Foresee returns the last snapshot as of the next cycle, and false before the first complete cycle. It MUST
// be called between two cycles.
func Foresee(e *Engine, now time.Time) (Outlook, bool) {
	if !e.sealed {
		return Outlook{}, false
	}
	s := e.Last.At(track.Later(e.next, now))
	s.Jobs, s.Nodes, s.Intents = slices.Clone(s.Jobs), slices.Clone(s.Nodes), slices.Clone(s.Intents)
	e.LookFor(&s, observe.Look{Jobs: e.Seen.Jobs, Nodes: e.Seen.Nodes}).Bar(&s) // a begin time may be past by then
	p := e.cfg.Policy
	return Outlook{Snapshot: s, Decide: func(s elastic.Snapshot) elastic.Plan { return decide(p, s) }}, true
}
