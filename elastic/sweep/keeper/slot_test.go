package keeper

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// leaves has a slot end while its lane runs: with a word about its trial, or killed, in which case its lane asks
// for it.
func (w *world) leaves(name string, says bool) {
	if run := w.runs[name]; run != nil && says {
		w.add(name, sweep.Event{Kind: sweep.EndedAs, Trial: run.tell.Trial, Start: run.tell.Start, How: sweep.Saved})
	}
	delete(w.runs, name)
	w.alive[name] = false
	w.ask(name)
	ask := w.asks[name]
	ask.Leaves = true
	w.asks[name] = ask
}

// TestSlotsKills: whenever the daemon, a lane of two slots, or one of the slots is killed or leaves, no trial is lost,
// no start of one is told or run twice, none runs in two slots at once, and the sweep comes to its end.
func TestSlotsKills(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := rapid.SampledFrom([]string{"asha", "random", "asha+ask"}).Draw(t, "algorithm")
		w := newWorld(t, planOf(t, func(s *sweep.Sweep) { s.Algorithm, s.MaxFailures, s.PerGPU, s.Parallel = algorithm, 12, 2, 2 }))
		w.named = []string{token(0), sweep.SlotName(token(0), 2), token(1)}
		for range rapid.IntRange(0, 120).Draw(t, "moves") {
			name := rapid.SampledFrom(w.named).Draw(t, "slot")
			switch rapid.IntRange(0, 10).Draw(t, "what") {
			case 0: // the lane's job is over, or waits
				for _, other := range w.named {
					if sweep.LaneOf(other) == sweep.LaneOf(name) {
						w.alive[other], w.gone[other] = false, true
						delete(w.runs, other)
					}
				}
			case 1, 2:
				if w.alive[name] && !w.gone[name] {
					w.leaves(name, rapid.Bool().Draw(t, "says"))
				}
			case 3:
				w.look(rapid.IntRange(1, 6).Draw(t, "killed after"))
			case 4:
				w.book = nil
			case 5, 6:
				w.look(0)
			default:
				w.step(name)
			}
		}
		w.finish()
		for _, turn := range w.turns {
			if turn.Lane != sweep.LaneOf(turn.Lane) {
				t.Fatalf("%+v leads", turn)
			}
		}
	})
}

// TestSlotLeaves: a slot that leaves gives back what it was told, whether or not it had begun it, and is told nothing
// more; the other slot of its lane gets it.
func TestSlotLeaves(t *testing.T) {
	p := planOf(t, func(s *sweep.Sweep) { s.Algorithm, s.PerGPU = "random", 2 })
	b := book.New()
	slot := func(n int, id string, leaves bool) Lane {
		return Lane{Token: sweep.SlotName(token(0), n), Job: 1, Asks: true, Ask: sweep.Ask{ID: id, Leaves: leaves}}
	}
	Step(b, p, Seen{Lanes: []Lane{slot(1, "a", false), slot(2, "b", false)}}, noon)
	if b.Count(book.Running) != 2 || b.Wants(p.Sweep, 2) != 3 || b.Trial(2).Lane != token(0)+".2" {
		t.Fatalf("%+v, wants %d", b.Answers, b.Wants(p.Sweep, 2))
	}
	for range 2 { // a step that is repeated decides nothing
		Step(b, p, Seen{Lanes: []Lane{slot(1, "a", false), slot(2, "c", true)}}, noon)
		if b.Trial(2).State != book.Waiting || len(b.Trials) != 2 || b.Answers[token(0)+".2"].Ask != "b" {
			t.Fatalf("%+v, %+v", b.Trial(2), b.Answers)
		}
	}
	b.Take(token(0), sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
	Step(b, p, Seen{Lanes: []Lane{slot(1, "d", false), slot(2, "c", true)}}, noon)
	if again := b.Trial(2); again.State != book.Running || again.Lane != token(0) || again.Start != 2 {
		t.Errorf("%+v", again)
	}
}

// TestSlotsWanted: a sweep wants as many fewer lanes as they run trials at once, and no fewer than run some.
func TestSlotsWanted(t *testing.T) {
	p := planOf(t, func(s *sweep.Sweep) { s.Algorithm, s.PerGPU, s.Parallel, s.Trials = "random", 4, 8, 10 })
	b := book.New()
	for atOnce, want := range map[int]int{0: 8, 1: 8, 2: 5, 3: 4, 4: 3} {
		if got := b.Wants(p.Sweep, atOnce); got != want {
			t.Errorf("with %d at once: %d lanes, want %d", atOnce, got, want)
		}
	}
	var lanes []Lane
	for i := range 4 {
		lanes = append(lanes, Lane{Token: token(i), Job: int64(i + 1), Asks: true, Ask: sweep.Ask{ID: token(i)}})
	}
	Step(b, p, Seen{Lanes: lanes}, noon)
	p.Sweep.Trials = 4
	if got := b.Wants(p.Sweep, 4); got != 4 {
		t.Errorf("four lanes run one trial each: it wants %d", got)
	}
}
