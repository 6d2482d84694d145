package workload

import (
	"math"
	"math/rand/v2"
)

// steady returns what draws the seconds to the next job of a Poisson process.
func steady(rng *rand.Rand, mean float64) func() float64 {
	return func() float64 { return rng.ExpFloat64() * mean }
}

// The rhythm of bursty arrivals: the rate is that of Poisson arrivals times the
// hour's factor times the mood's.
const (
	burstFactor = 5.0    // of the rate, while a user submits a sweep
	burstShare  = .1     // of the time
	burstLasts  = 1200.0 // seconds in the mean
	dayDepth    = .6     // of the rate: 1.6 at three in the afternoon, 0.4 at three at night
)

// rhythm is a Poisson process whose rate changes by the hour and with two moods, a
// calm one and a burst, which last for exponential times (a Markov-modulated
// Poisson process, Fischer and Meier-Hellstern, Performance Evaluation 18, 1993).
// Its mean rate is 1.
type rhythm struct {
	rng   *rand.Rand
	hours [24]float64
	now   float64 // seconds since midnight of the first day
	hour  float64 // when the present hour ends
	mood  float64 // when the present mood ends
	burst bool
}

// bursty returns what draws the seconds to the next job of a process with moods
// and hours; mean is over days. It starts at eight in the morning.
func bursty(rng *rand.Rand, mean float64) func() float64 {
	y := &rhythm{rng: rng, now: 8 * 3600, hour: 9 * 3600}
	for h := range y.hours {
		y.hours[h] = 1 + dayDepth*math.Cos(2*math.Pi*float64(h-15)/24)
	}
	y.burst = rng.Float64() < burstShare
	y.mood = y.now + y.lasts()
	return func() float64 { return y.next(mean) }
}

// lasts draws how long the present mood lasts.
func (y *rhythm) lasts() float64 {
	if y.burst {
		return y.rng.ExpFloat64() * burstLasts
	}
	return y.rng.ExpFloat64() * burstLasts * (1 - burstShare) / burstShare
}

// rate is the present rate over the mean rate.
func (y *rhythm) rate() float64 {
	mood := (1 - burstShare*burstFactor) / (1 - burstShare)
	if y.burst {
		mood = burstFactor
	}
	return mood * y.hours[int(y.now/3600)%24]
}

// next passes through hours and moods until the rate, summed over time, has grown
// by an exponential amount.
func (y *rhythm) next(mean float64) float64 {
	from := y.now
	need := y.rng.ExpFloat64() * mean
	for {
		rate, until := y.rate(), math.Min(y.hour, y.mood)
		if step := need / rate; y.now+step < until {
			y.now += step
			return y.now - from
		}
		need -= (until - y.now) * rate
		y.now = until
		if until == y.mood {
			y.burst = !y.burst
			y.mood = until + y.lasts()
		}
		if until >= y.hour {
			y.hour += 3600
		}
	}
}
