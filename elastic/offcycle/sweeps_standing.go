package offcycle

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/level"
)

// LaneTrial is the trial that a lane runs, or ran last.
type LaneTrial struct {
	Trial int
	Epoch float64 // of its last report
	Value float64 // of the metric then
	Known bool    // it has reported
}

// trials are the trials of the lanes, by token.
func (f *files) trials() map[string]LaneTrial {
	out := map[string]LaneTrial{}
	newest := map[string]*book.Trial{}
	for _, t := range f.book.Trials {
		if old := newest[t.Lane]; t.Lane == "" || old != nil && old.State == book.Running {
			continue
		}
		newest[t.Lane] = t
	}
	for lane, t := range newest {
		last, known := t.Last()
		out[lane] = LaneTrial{t.Number, last.Epoch, last.Value, known}
	}
	return out
}

// standing is what policies know of the sweep.
func (f *files) standing() Standing {
	s := f.plan.Sweep
	progress := level.Progress{Trials: f.book.Count(book.Done) + f.book.Count(book.Paused), Seconds: f.book.Seconds(), Assumed: 1}
	return Standing{
		Number: s.Number, Metric: s.Metric.Name, Level: f.level.Level, Gap: f.level.Gap, Paused: s.State == sweep.Paused,
		Over: f.book.Over != book.NotOver, Trials: f.counted, Wants: f.book.Wants(s), Bid: level.Bid(progress),
		Lanes: f.trials(),
	}
}

// publish writes the standing for the user, if it changed. It has counts, and no parameters.
func (f *files) publish(s Standing) error {
	text, err := json.Marshal(map[string]any{"level": s.Level, "gap": s.Gap, "counted": s.Trials, "wants": s.Wants})
	if err != nil || bytes.Equal(text, f.shown) {
		return err
	}
	base, err := checkpoint.OpenDir(f.paths.Outbox)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	defer base.Close()
	dir, err := base.Make(f.token, 0o755)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	defer dir.Close()
	if err := dir.Write(sweep.File, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	f.shown = text
	return nil
}
