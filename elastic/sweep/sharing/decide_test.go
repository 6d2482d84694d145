package sharing

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// site is a lane with its slots: its trials train at the speeds of a model, and do what the decider says.
type site struct {
	t      *testing.T
	d      *Decider
	now    float64 // seconds
	slots  []*trained
	begun  int
	left   []int // trials that were handed back
	epochs map[int]float64
	length float64 // epochs of a trial
	starts float64 // seconds until a trial trains
	// speed is that of a trial beside others, in epochs a second.
	speed func(trial int, atOnce int) float64
	most  int // that ran at once
}

type trained struct {
	trial int
	since float64
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func newSite(t *testing.T, most int, speed func(trial, atOnce int) float64) *site {
	return &site{t: t, d: New(most, 0), slots: make([]*trained, most), epochs: map[int]float64{}, length: 1e9, starts: 3, speed: speed}
}

func (s *site) takes(slot, trial int, e sweep.Event) {
	e.At, e.Trial = noon.Add(time.Duration(s.now*1e9)), trial
	s.d.Take(slot, e)
}

// step is a tenth of a second.
func (s *site) step() {
	target, first := s.d.Target()
	run := 0
	for _, x := range s.slots {
		if x != nil {
			run++
		}
	}
	for _, slot := range first {
		if run > target {
			s.end(slot-1, sweep.Saved)
			run--
		}
	}
	for i := range s.slots {
		if s.slots[i] == nil && run < target {
			trial := 0
			if len(s.left) > 0 {
				trial, s.left = s.left[0], s.left[1:]
			} else {
				s.begun++
				trial = s.begun
			}
			s.slots[i] = &trained{trial, s.now}
			s.takes(i+1, trial, sweep.Event{Kind: sweep.Began})
			run++
		}
	}
	s.most = max(s.most, run)
	s.now += .1
	trains := 0
	for _, x := range s.slots {
		if x != nil && s.now-x.since >= s.starts {
			trains++
		}
	}
	for i, x := range s.slots {
		if x == nil || s.now-x.since < s.starts {
			continue
		}
		before := s.epochs[x.trial]
		s.epochs[x.trial] += .1 * s.speed(x.trial, trains)
		if after := math.Floor(s.epochs[x.trial]); after > math.Floor(before) {
			s.takes(i+1, x.trial, sweep.Event{Kind: sweep.Reported, Epoch: after})
		}
		if s.epochs[x.trial] >= s.length {
			s.end(i, sweep.Done)
		}
	}
}

func (s *site) end(i int, how sweep.Ending) {
	trial := s.slots[i].trial
	s.slots[i] = nil
	s.takes(i+1, trial, sweep.Event{Kind: sweep.EndedAs, How: how})
	if how == sweep.Saved {
		s.left = append(s.left, trial)
	}
}

// settles runs until the number is known.
func (s *site) settles() sweep.Sharing {
	s.t.Helper()
	for range 40_000 {
		s.step()
		if answer, settled := s.d.Settled(); settled {
			return answer
		}
	}
	s.t.Fatalf("after %.0f s: %s, %d trials", s.now, s.d.phase, s.begun)
	return sweep.Sharing{}
}

func TestDecide(t *testing.T) {
	sleeps := func(int, int) float64 { return .5 }
	for name, c := range map[string]struct {
		most  int
		speed func(trial, atOnce int) float64
		want  int
		tried []float64 // the speeds, to within 5 %
	}{
		"no trial slows another down":    {2, sleeps, 2, []float64{2}},
		"up to four":                     {4, sleeps, 4, []float64{2, 4}},
		"up to three":                    {3, sleeps, 3, []float64{2, 3}},
		"up to eight":                    {8, sleeps, 8, []float64{2, 4, 8}},
		"one at a time has the GPU":      {8, func(_, n int) float64 { return 1 / float64(n) }, 1, []float64{1}},
		"sharing costs more than it has": {2, func(_, n int) float64 { return 1 / float64(n*n) }, 1, []float64{.5}},
		"within the margin":              {2, func(_, n int) float64 { return []float64{0, 1, .53}[n] }, 1, []float64{1.06}},
		"two, and not four":              {8, func(_, n int) float64 { return []float64{0, 1, .9, .6, .45}[n] }, 2, []float64{1.8, 1.8}},
		// The sum of epochs a second rises from 2 to 2.3: the large trial pays for it.
		"a small trial beside a large one": {2, func(trial, n int) float64 {
			if trial == 1 {
				return []float64{0, .1, .03}[n]
			}
			return []float64{0, 4, 2.3}[n]
		}, 1, []float64{.3 + 2.3/4}},
		"a large trial beside a small one": {2, func(trial, n int) float64 {
			if trial == 2 {
				return []float64{0, .1, .09}[n]
			}
			return []float64{0, 4, 2}[n]
		}, 2, []float64{.9 + .5}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, c.most, c.speed)
			got := s.settles()
			if got.Trials != c.want || len(got.Tried) != len(c.tried) || got.Memory || got.Short {
				t.Fatalf("%+v after %.0f s, want %d", got, s.now, c.want)
			}
			for i, want := range c.tried {
				if math.Abs(got.Tried[i].Speed-want) > .05*want {
					t.Errorf("%d at once: %.3f, want %.3f", got.Tried[i].Trials, got.Tried[i].Speed, want)
				}
			}
			if target, _ := s.d.Target(); target != c.want || s.d.Trying() != 0 {
				t.Errorf("%d at once, tries %d", target, s.d.Trying())
			}
		})
	}
}

// TestDecideShort: where trials end before they are measured, a lane runs one at a time, and does not go on to measure.
func TestDecideShort(t *testing.T) {
	s := newSite(t, 2, func(int, int) float64 { return .5 })
	s.length = 2
	if got := s.settles(); s.most != 1 || got.Trials != 1 || !got.Short || s.begun < 10 || s.begun > 20 {
		t.Errorf("%+v: %d at once, %d trials", got, s.most, s.begun)
	}
	s = newSite(t, 2, func(int, int) float64 { return .5 })
	s.length = 12 // 24 s: one is measured alone, and ends beside the next
	if got := s.settles(); got.Trials != 1 || !got.Short {
		t.Errorf("%+v", got)
	}
	s = newSite(t, 2, func(int, int) float64 { return .5 })
	s.length = 60 // 120 s
	if got := s.settles(); got.Trials != 2 || got.Short {
		t.Errorf("%+v", got)
	}
}

// TestDecideMemory: a trial that runs out of memory beside others ends the search at the number below, at any time.
func TestDecideMemory(t *testing.T) {
	for name, c := range map[string]struct {
		most, at, want int // it happens as soon as so many run
		later          bool
	}{
		"at two":             {8, 2, 1, false},
		"at four":            {8, 4, 2, false},
		"at eight, later":    {8, 8, 4, true},
		"at three, of three": {3, 3, 2, true},
		"at two, later":      {2, 2, 1, true},
	} {
		s := newSite(t, c.most, func(int, int) float64 { return .5 })
		if c.later {
			s.settles()
		}
		for s.most < c.at {
			s.step()
		}
		s.d.OutOfMemory()
		got, settled := s.d.Settled()
		if target, _ := s.d.Target(); !settled || got.Trials != c.want || target != c.want || !got.Memory {
			t.Errorf("%s: %+v, %v", name, got, settled)
		}
		for range 1000 {
			s.step()
		}
		if target, _ := s.d.Target(); target != c.want {
			t.Errorf("%s: %d later", name, target)
		}
	}
}

// TestDecideFollows: what another lane measured is taken over; once a lane has a number it only falls.
func TestDecideFollows(t *testing.T) {
	d := New(4, 0)
	for _, c := range []struct{ told, want int }{{8, 4}, {2, 2}, {3, 2}, {1, 1}, {4, 1}} {
		d.Follow(sweep.Sharing{Trials: c.told})
		if target, _ := d.Target(); target != c.want {
			t.Errorf("told %d: %d at once, want %d", c.told, target, c.want)
		}
	}
}

// TestMeterWaits: while a trial loads, and beside one that has ended, nothing is measured for so many at once.
func TestMeterWaits(t *testing.T) {
	var m Meter
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	report := func(slot, trial, seconds int) {
		m.Take(slot, sweep.Event{Kind: sweep.Reported, Trial: trial, At: at(seconds), Epoch: float64(seconds)})
	}
	m.Take(1, sweep.Event{Kind: sweep.Began, Trial: 1})
	report(1, 1, 10)
	report(1, 1, 20)
	m.Take(2, sweep.Event{Kind: sweep.Began, Trial: 2})
	report(1, 1, 30)
	report(1, 1, 40) // trial 2 loads
	report(2, 2, 45)
	report(1, 1, 50)
	report(2, 2, 55)
	report(1, 1, 60)
	m.Ended(2) // killed: it wrote nothing
	report(1, 1, 70)
	for n, want := range map[int]float64{1: 10, 2: 10} {
		if got := m.speeds[1][n]; got == nil || got.seconds != want {
			t.Errorf("trial 1 with %d at once: %+v, want %g s", n, got, want)
		}
	}
	if got := m.speeds[2][2]; got == nil || got.seconds != 10 || m.speeds[2][1] != nil {
		t.Errorf("trial 2: %+v", m.speeds[2])
	}
	if got := slices.Collect(maps.Keys(m.at())); !slices.Equal(got, []int{1}) {
		t.Errorf("runs in %v", got)
	}
}
