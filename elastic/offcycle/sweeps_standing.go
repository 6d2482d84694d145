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
	// Beside are the others that it runs at once, ascending, without trials beside themselves; at most
	// sweep.MaxPerGPU-1.
	Beside []LaneTrial
}

// trials are the trials of the lanes, by token. Most looks find nothing new, and it goes through all
// trials: it is made anew only where something was read since.
func (f *files) trials() map[string]LaneTrial {
	if f.lanesRun != nil && f.lanesAt == f.acted && f.lanesOf == f.bytes {
		return f.lanesRun
	}
	newest := map[string][]*book.Trial{} // those that run, or the one that ran last
	for _, t := range f.book.Trials {
		lane := sweep.LaneOf(t.Lane)
		switch now := newest[lane]; {
		case lane == "":
		case len(now) == 0 || now[0].State != book.Running:
			newest[lane] = []*book.Trial{t}
		case t.State == book.Running && len(now) < sweep.MaxPerGPU:
			newest[lane] = append(now, t)
		}
	}
	out := map[string]LaneTrial{}
	for lane, all := range newest {
		first := laneTrial(all[0])
		for _, t := range all[1:] {
			first.Beside = append(first.Beside, laneTrial(t))
		}
		out[lane] = first
	}
	f.lanesRun, f.lanesAt, f.lanesOf = out, f.acted, f.bytes
	return out
}

func laneTrial(t *book.Trial) LaneTrial {
	last, known := t.Last()
	return LaneTrial{Trial: t.Number, Epoch: last.Epoch, Value: last.Value, Known: known}
}

// needless are the lanes that wait, of a sweep that is over. live was seen BEFORE the user's file was read: a lane that was
// submitted for an extension is not in it, or the sweep is not over any more.
func needless(live []LaneJob) (out []string) {
	for _, l := range live {
		if l.Waits && !l.Ended {
			out = append(out, l.Lane)
		}
	}
	return out
}
