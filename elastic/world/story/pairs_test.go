package story_test

import (
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/world/story"
)

// pairsApart is the largest distance between two kills: a killed daemon is back to normal work within
// about 16 effects. SLUICE_PAIRS sets another number.
const pairsApart = 64

// TestKilledAgain kills the daemon at every effect, and again at every one of the pairsApart following
// effects: a sample of pairs by default, all with SLUICE_EXHAUSTIVE=1.
//
// A killed daemon keeps nothing but its journal, and no time passes between two effects of one cycle. A
// kill after an effect is therefore the same as a kill before the next effect of the same cycle,
// and both are tried only if the next effect is of another cycle.
func TestKilledAgain(t *testing.T) {
	shelves := onDisk(t)
	apart := pairsApart
	if n, err := strconv.Atoi(os.Getenv("SLUICE_PAIRS")); err == nil {
		apart = n
	}
	for name, s := range tales() {
		t.Run(name, func(t *testing.T) {
			effects := untroubled(t, s, shelves)
			var tried atomic.Int64
			each(effects+1, stride(71), func(k int) {
				for _, first := range ends(k, 0, func(kill story.Kill) story.Outcome { return with(t, s, shelves, kill) }) {
					for again := first.Effect + 1; again <= first.Effect+apart; again += stride(19) {
						got := ends(again, first.Effect, func(kill story.Kill) story.Outcome {
							tried.Add(1)
							return with(t, s, shelves, first, kill)
						})
						if got == nil {
							break
						}
					}
				}
			})
			t.Logf("%d effects, killed twice: pairs=%d apart=%d", effects, tried.Load(), apart)
		})
	}
}

// ends returns the kills to try for an effect without those tried for the effect before: before it
// and, if it is the first of a cycle, after the previous effect, unless an earlier kill is at
// that one. It is nil if there is no such effect.
func ends(effect, earlier int, play func(story.Kill) story.Outcome) []story.Kill {
	kills := 1
	if earlier > 0 {
		kills = 2
	}
	at := story.Kill{Effect: effect}
	struck := play(at).Struck
	if len(struck) < kills {
		return nil
	}
	after := story.Kill{Effect: effect - 1, After: true}
	if !struck[kills-1] || after.Effect <= earlier {
		return []story.Kill{at}
	}
	play(after)
	return []story.Kill{after, at}
}
