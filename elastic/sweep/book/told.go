package book

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Teller tells lanes what the book has. It is for one look at all lanes: the book MUST NOT change meanwhile.
type Teller struct {
	book *Book
	s    sweep.Sweep
	drop []int // the same for all: it takes a look at all trials
}

// Teller returns what tells the lanes of a sweep.
func (b *Book) Teller(s sweep.Sweep) Teller { return Teller{b, s, b.drop(s)} }

// Told returns what the lane that asked so is to be told; false if it has no answer yet. What it
// follows from MUST be recorded BEFORE the Tell is written. It is asked again after each step: the
// answer to one ask changes, to Stop, when
//
//	the trial is not this start's any more (it ended, or was handed back)
//	it lost at a rung, or is an extra one that makes room
//	the sweep is over, or its user paused or stopped it
//
// The first of these keeps a lane that was believed dead from running a trial beside its new lane.
func (x Teller) Told(lane string, ask string) (sweep.Tell, bool) {
	b, s := x.book, x.s
	a, known := b.Answers[lane]
	if !known || a.Ask != ask {
		return sweep.Tell{}, false
	}
	if a.Trial == 0 {
		return sweep.Tell{Over: true, End: string(b.Over), Drop: x.drop}, true
	}
	t := b.Trial(a.Trial)
	tell := sweep.Tell{Trial: a.Trial, Start: a.Start, Point: t.Point, Repeat: t.Repeat, Extra: t.Extra, Origin: t.Origin, Drop: x.drop}
	current := t.State == Running && t.Start == a.Start
	tell.Stop = !current || t.Rung > 0 || t.Yields || b.Over != NotOver || s.State != sweep.Active
	if tell.Stop && current {
		tell.Lost = t.Lost
	}
	return tell, true
}

// maxDrop bounds the trials named in one Tell.
const maxDrop = 100

// drop lists trials that do not run and whose checkpoints do not fit into what the sweep may keep:
// the best one (Leader, Point.Best) stays even if it alone is larger than KeepGB, and after it the first
// of Sort. At most maxDrop are named; once they are dropped, more are. Every lane is told the same list:
// the first to remove a trial's checkpoints reports it.
func (b *Book) drop(s sweep.Sweep) (out []int) {
	total := 0.
	for _, t := range b.Trials {
		if total += float64(t.Bytes); total > s.KeepGB*1e9 {
			break
		}
	}
	if total <= s.KeepGB*1e9 {
		return nil // as a rule
	}
	var kept []*Trial
	for _, t := range b.Sort(s) {
		if t.Bytes > 0 && !t.Dropped && t.Rests() {
			kept = append(kept, t)
		}
	}
	if p, ok := b.Leader(s); ok { // whatever the means are: its checkpoint is the one that is named
		best, _ := p.Best(s.Metric)
		if i := slices.Index(kept, best); i > 0 {
			kept = slices.Insert(slices.Delete(kept, i, i+1), 0, best)
		}
	}
	left := s.KeepGB * 1e9
	for i, t := range kept {
		if left -= float64(t.Bytes); left < 0 && i > 0 && len(out) < maxDrop {
			out = append(out, t.Number)
		}
	}
	return out
}

// Wants returns how many lanes the sweep can use now. 0 to s.Parallel: one for each trial that
// runs, waits or has not been asked for, or one for atOnce of them if lanes run so many at once; but no
// fewer than run trials now. A sweep that its user paused wants none. A paused trial is not counted; an
// extra one that runs is.
func (b *Book) Wants(s sweep.Sweep, atOnce int) int {
	if s.State != sweep.Active {
		return 0
	}
	left, atOnce := b.Left(s), max(1, atOnce)
	run := map[string]bool{}
	for _, t := range b.Trials {
		if t.State == Running && left > 0 {
			run[sweep.LaneOf(t.Lane)] = true
		}
	}
	return min(max((left+atOnce-1)/atOnce, len(run)), s.Parallel)
}

// Left returns how many trials the sweep has still to end: those that run, wait or have not been asked
// for. An extra one that runs is counted; none is once the sweep is over.
func (b *Book) Left(s sweep.Sweep) int {
	if b.Over != NotOver {
		return 0
	}
	n := max(0, s.Trials-len(b.Trials))
	if s.Members > 0 { // only what starts the population, and replaces those that lost
		n = min(n, max(0, s.Members-len(b.Trials))+len(b.Unreplaced()))
	}
	for _, t := range b.Trials {
		if !t.Rests() {
			n++
		}
	}
	return n
}

// Unreplaced returns the trials of a population that lost, or failed, and whose places no other
// trial has.
func (b *Book) Unreplaced() (out []*Trial) {
	replaced := map[int]bool{}
	for _, t := range b.Trials {
		replaced[t.Replaces] = true
	}
	for _, t := range b.Trials {
		if (t.State == Paused || t.State == Failed) && !replaced[t.Number] {
			out = append(out, t)
		}
	}
	return out
}
