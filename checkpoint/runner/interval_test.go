package runner

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestInterval: Daly's figures, checked by hand, and the bounds.
func TestInterval(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for _, c := range []struct {
		save, mtbf time.Duration
		want       float64 // seconds
	}{
		{time.Second, month, 2276.2},          // sqrt(2*1*2592000) = 2276.8, a third of the save more, less the save
		{time.Second, month / 8, 804.3},       // eight nodes fail eight times as often
		{0, month, 71.6},                      // as good as free: Daly alone
		{time.Nanosecond, month, 60},          // at least a minute
		{10 * time.Second, month, 3600},       // Daly: 2 h; at most an hour
		{time.Minute, month, 99 * 60},         // but saving takes 1 % at most
		{time.Minute, time.Minute, 99 * 60},   // whatever fails
		{time.Hour, time.Second, 99 * 3600},   // a save longer than the time between two failures
		{100 * time.Hour, month, 99 * 360000}, // no overflow
	} {
		got := Interval(c.save, c.mtbf).Seconds()
		if math.Abs(got-c.want) > max(0.5, c.want/1000) {
			t.Errorf("Interval(%v, %v) = %.1f s, want %.1f s", c.save, c.mtbf, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		save := time.Duration(rapid.Int64Range(0, int64(240*time.Hour)).Draw(t, "save"))
		mtbf := time.Duration(rapid.Int64Range(1, int64(1e6*time.Hour)).Draw(t, "mtbf"))
		got := Interval(save, mtbf)
		if share := save.Seconds() / (save + got).Seconds(); share > mostBlocked+1e-9 || got < shortest || got > longest && share < mostBlocked-1e-6 {
			t.Fatalf("%v: %.4f of the time", got, share)
		}
	})
}

// TestPlaces: which failures are the program's own.
func TestPlaces(t *testing.T) {
	at := func(step int64) reached { return reached{came: true, known: true, checkpoint: "1", step: step} }
	for _, c := range []struct {
		name   string
		before []reached // failures so far
		now    reached
		quits  bool
	}{
		{"at once", nil, reached{}, true},
		{"on its way", nil, at(7), false},
		{"further on", []reached{at(7)}, at(9), false},
		{"before that", []reached{at(7)}, at(3), false},
		{"at the same step", []reached{at(7)}, at(7), true},
		{"at the same step, with a newer checkpoint", []reached{at(7)}, reached{came: true, known: true, checkpoint: "2", step: 7}, false},
		{"at an unknown place", []reached{{came: true}}, reached{came: true}, false},
		{"a third time", []reached{at(7), at(8)}, at(9), true},
	} {
		s := state{judged: true, retries: judgedRetries}
		s, _ = s.step(ready{})
		quits := false
		for _, r := range append(c.before, c.now) {
			var effects []any
			s, effects = s.step(ended{exit: exit(1).exit, reached: r})
			if quits = names(effects) == "[quit 1]"; quits {
				break
			}
			if pause := s.pause(0, 0, 30*time.Second); s.tried <= 2 && pause != []time.Duration{30 * time.Second, 2 * time.Minute}[s.tried-1] {
				t.Errorf("%s: waits %v before try %d", c.name, pause, s.tried)
			}
			s, effects = s.step(ready{})
			quits = names(effects) == "[quit 1]"
		}
		if quits != c.quits {
			t.Errorf("%s: given up %t", c.name, quits)
		}
	}
}
