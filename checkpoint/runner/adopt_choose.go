package runner

import (
	"maps"
	"time"
)

// sights records the program's own checkpoints by path. Its methods get the time as an
// argument and have no side effects.
type sights map[string]*sight

type sight struct {
	sighting
	since   time.Time // unchanged since
	settled bool      // in this state it need not be examined again
}

// update adds the result of a look.
func (s sights) update(found []sighting, now time.Time) {
	there := make(map[string]bool, len(found))
	for _, f := range found {
		there[f.path] = true
		known := s[f.path]
		if known == nil || known.print != f.print || known.marked != f.marked {
			s[f.path] = &sight{sighting: f, since: now}
		}
	}
	maps.DeleteFunc(s, func(p string, _ *sight) bool { return !there[p] })
}

// seed records checkpoints from before the job, which are not adopted.
func (s sights) seed(found []sighting, now time.Time) {
	s.update(found, now)
	for _, f := range found {
		s[f.path].settled = true
	}
}

func (s sights) settle(p string) {
	if known := s[p]; known != nil {
		known.settled = true
	}
}

// again makes a checkpoint be examined afresh.
func (s sights) again(p string, now time.Time) {
	if known := s[p]; known != nil {
		known.since = now
	}
}

// known are the checkpoints that need not be examined again unless their print changes: a
// checkpoint with a number is written once, and one without may be rewritten inside
// without a visible change at its top.
func (s sights) known() map[string]sighting {
	out := map[string]sighting{}
	for p, c := range s {
		if c.settled && (c.number >= 0 || c.tree.Plain) {
			out[p] = c.sighting
		}
	}
	return out
}

// coming returns the newest checkpoint with a marker that was not adopted yet, complete
// or not.
func (s sights) coming() (sighting, bool) {
	var best *sight
	for _, c := range s {
		if !c.settled && c.marked && (best == nil || c.newer(best.sighting)) {
			best = c
		}
	}
	if best == nil {
		return sighting{}, false
	}
	return best.sighting, true
}

// choose returns the newest complete checkpoint that was not adopted yet.
func (s sights) choose(h *habit, now time.Time) (sighting, bool) {
	var best *sight
	for _, c := range s {
		if c.settled || len(c.tree.Entries) == 0 || (h.marker != "" && !c.marked) || now.Sub(c.since) < h.wait() {
			continue
		}
		if best == nil || c.newer(best.sighting) {
			best = c
		}
	}
	if best == nil {
		return sighting{}, false
	}
	return best.sighting, true
}

// newer orders the program's checkpoints: by the numbers in their names, else by their
// time of writing.
func (s sighting) newer(than sighting) bool {
	return newer(s.number, s.tree.Newest(), than.number, than.tree.Newest()) ||
		(s.number == than.number && s.tree.Newest().Equal(than.tree.Newest()) && s.path > than.path)
}

func newer(number int64, at time.Time, thanNumber int64, than time.Time) bool {
	if number >= 0 && thanNumber >= 0 && number != thanNumber {
		return number > thanNumber
	}
	return at.After(than)
}
