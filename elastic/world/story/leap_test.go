package story_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/world/story"
)

// TestLeapSecondAtEveryEffect sets the clock by 1 s right before every effect: back, as a machine does
// that repeats a second, and forward; and by 0.5 s back, as one does that smears a leap second late.
func TestLeapSecondAtEveryEffect(t *testing.T) {
	for name, s := range tales() {
		t.Run(name, func(t *testing.T) {
			effects := untroubled(t, s, nil)
			tried := 0
			for i, step := range []time.Duration{-time.Second, time.Second, -time.Second / 2} {
				for k := 1 + i; k <= effects; k += stride(13) {
					one := s
					one.Acts = append(append([]story.Act(nil), s.Acts...), story.Act{What: "clock is set", For: step, Effect: k})
					with(t, one, nil)
					tried++
				}
			}
			t.Logf("%d effects, the clock was set %d times", effects, tried)
		})
	}
}
