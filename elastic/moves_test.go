package elastic_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
)

// However many jobs a decision would move, no more of those that have started are
// between two sizes at once than the site allows; more are only left from before.
func TestMovesAtOnceAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawWorld(t)
		moving := func(ins []elastic.Intent) (n int) {
			for _, in := range ins {
				if in.Kind != elastic.Start {
					n++
				}
			}
			return n
		}
		where := elastic.Arrange(s, a)
		opened := moving(elastic.Reconcile(s, a, where).Open)
		if most := s.Limits.Moves; most > 0 && opened > 0 && moving(s.Intents)+opened > most {
			t.Fatalf("%d moves under way, %d opened, %d allowed\n%s", moving(s.Intents), opened, most, story(s, a, where))
		}
	})
}
