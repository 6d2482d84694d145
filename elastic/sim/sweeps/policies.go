package sweeps

import (
	"github.com/sluice-hpc/sluice/elastic/sweep/level"
	"github.com/sluice-hpc/sluice/elastic/sweep/rung"
)

// Contender is a policy with the way in which trials end.
type Contender struct {
	Name string
	Told string // what it is told beyond the sweeps' arrival
	Ours bool
	Asha bool
	New  func() Policy // policies may have a state of their own
	Rule *rung.Rule
}

// asha is the published rule: of 3 trials one goes on, judged once at 4, 12 and 36 epochs of 52.
var asha = &rung.Rule{Reduction: 3, First: 4}

// Contenders lists what is compared, FIFO with full trials first.
func Contenders() []Contender {
	list := []Contender{
		{Name: "FIFO", Told: "nothing", New: func() Policy { return FIFO() }},
		{Name: "equal share", Told: "nothing", New: func() Policy { return Equal() }},
		{Name: "D's rule, strict priority", Told: "results", New: func() Policy { return Strict() }},
		{Name: "D's rule, share by level", Told: "results", New: func() Policy { return Levels() }},
		{Name: "HYBRID of ease.ml", Told: "results, costs", New: Hybrid},
		{Name: "bid, first lane kept", Told: "trials ended, their costs", Ours: true, New: func() Policy { return Bid(false) }},
		{Name: "bid, lanes pass", Told: "trials ended, their costs", Ours: true, New: func() Policy { return Bid(true) }},
	}
	for _, c := range list[:len(list):len(list)] {
		fresh := c.New
		c.Asha, c.Rule = true, asha
		if c.Ours {
			c.Rule = &rung.Rule{}
			c.New = func() Policy {
				p := fresh()
				p.Rejudge, p.Return, p.Paces = true, true, true
				return p
			}
		}
		list = append(list, c)
	}
	return append(list, Contender{Name: "equal share, promotion", Told: "results", Asha: true, Rule: asha, New: func() Policy {
		p := Equal()
		p.Promote = true
		return p
	}}, Contender{Name: "equal share, sluice's rungs", Told: "results", Asha: true, Rule: &rung.Rule{}, New: func() Policy {
		p := Equal()
		p.Rejudge, p.Return, p.Paces = true, true, true
		return p
	}})
}

// divided is a policy of level.Divide; fill sets what the rules ask for.
func divided(rules level.Rules, fill func(*Sweep, *level.Standing)) Policy {
	return Policy{Divide: func(sweeps []*Sweep, wants []int, gpus int) []int {
		list := make([]level.Standing, len(sweeps))
		for i, s := range sweeps {
			list[i] = level.Standing{Want: wants[i], Lanes: s.Lanes, Level: s.Level.Level}
			if fill != nil {
				fill(s, &list[i])
			}
		}
		return level.Divide(rules, list, gpus)
	}}
}

// FIFO gives the earliest sweep all that it wants, then the next.
func FIFO() Policy {
	return divided(level.Rules{Strict: true, ByBid: 1}, func(s *Sweep, at *level.Standing) { at.Bid = 1 / float64(1+s.Order) })
}

// Equal gives every sweep as many GPUs.
func Equal() Policy { return divided(level.Rules{FirstLane: true}, nil) }

// Levels weighs equal shares by 2^-level.
func Levels() Policy { return divided(level.Rules{FirstLane: true, ByLevel: true}, nil) }

// Strict is D's rule: of the sweeps with the lowest level, the earliest gets all that it wants.
func Strict() Policy {
	return divided(level.Rules{Strict: true, ByBid: 1}, func(s *Sweep, at *level.Standing) {
		at.Bid = 1 / float64(1+s.Level.Level) / (1 + float64(s.Order)/1e6)
	})
}

// Bid is what sluiced does: level.DefaultRules and level.Bid. With pass, sweeps of which more than
// k*m trials ended have no first lane of their own.
func Bid(pass bool) Policy {
	rule := level.DefaultRule()
	return divided(level.DefaultRules(), func(s *Sweep, at *level.Standing) {
		at.Bid = level.Bid(level.Progress{Trials: s.Stopped, Seconds: s.Seconds, Assumed: s.assumed()})
		at.Passes = pass && rule.Passes(s.Stopped)
	})
}

// fallback is the cost of a trial of which nothing is known, in GPU-seconds.
const fallback = 100

// assumed is the cost of a trial by the epochs that were measured; with rungs, six trials cost
// about one whole one.
func (s *Sweep) assumed() float64 {
	if s.Done == 0 {
		return fallback
	}
	whole := s.Seconds / float64(s.Done) * float64(s.Epochs)
	if s.board != nil {
		return whole / 6
	}
	return whole
}
