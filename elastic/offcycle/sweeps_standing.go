package offcycle

import (
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// LaneTrial is the trial that a lane runs, or ran last; of several at once the one of the lowest number.
type LaneTrial struct {
	Trial int
	Epoch float64 // of its last report
	Value float64 // of the metric then
	Known bool    // it has reported
}

// trials are the trials of the lanes, by token. Most looks find nothing new, and it goes through all
// trials: it is made anew only where something was read since.
func (f *files) trials() map[string]LaneTrial {
	if f.lanesRun != nil && f.lanesAt == f.acted && f.lanesOf == f.bytes {
		return f.lanesRun
	}
	out := map[string]LaneTrial{}
	newest := map[string]*book.Trial{}
	for _, t := range f.book.Trials {
		lane := sweep.LaneOf(t.Lane)
		if old := newest[lane]; lane == "" || old != nil && old.State == book.Running {
			continue
		}
		newest[lane] = t
	}
	for lane, t := range newest {
		last, known := t.Last()
		out[lane] = LaneTrial{t.Number, last.Epoch, last.Value, known}
	}
	f.lanesRun, f.lanesAt, f.lanesOf = out, f.acted, f.bytes
	return out
}
