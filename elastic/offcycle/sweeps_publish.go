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

// standing is what policies know of the sweep.
func (f *files) standing() Standing {
	s := f.plan.Sweep
	progress := level.Progress{Trials: f.book.Count(book.Done) + f.book.Count(book.Paused), Seconds: f.book.Seconds(), Assumed: 1}
	// A trial that shares a lane's GPUs takes only its share of the lane's time.
	progress.Seconds /= float64(max(1, f.atOnce))
	each := 0.0
	if progress.Trials > 0 && !s.OwnJobs {
		each = progress.Seconds / float64(progress.Trials)
	}
	return Standing{
		Number: s.Number, Metric: s.Metric.Name, Level: f.level.Level, Gap: f.level.Gap, Paused: s.State == sweep.Paused,
		Over: f.book.Over != book.NotOver, Trials: f.counted, Wants: f.book.Wants(s, f.atOnce), Bid: level.Bid(progress),
		Ended: progress.Trials, Left: f.book.Left(s), Each: each, Lanes: f.trials(),
	}
}

// publish writes the standing for the user, if it changed. It has counts, and no parameters.
func (f *files) publish(s Standing) error {
	shown := struct {
		sweep.Standing
		Asks *sweep.Turn `json:"asks,omitempty"`
	}{Standing: sweep.Standing{Level: s.Level, Gap: s.Gap, Counted: s.Trials, Wants: s.Wants}}
	if f.plan.Asks {
		shown.Asks = &f.asked.turn
	}
	if f.problem != nil {
		shown.Problem = f.problem.Error()
	}
	text, err := json.Marshal(shown)
	if err != nil || bytes.Equal(text, f.shown) {
		return err
	}
	if err := f.put(f.token, sweep.File, text); err != nil {
		return err
	}
	f.shown = text
	return nil
}

// put writes a file of one line into a folder of the outbox.
func (f *files) put(token, name string, line []byte) error {
	base, err := checkpoint.OpenDir(f.paths.Outbox)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	defer base.Close()
	dir, err := base.Make(token, 0o755)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	defer dir.Close()
	if err := dir.Write(name, append(line, '\n'), 0o644); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}
