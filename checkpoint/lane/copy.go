package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// copyFor bounds how long a copy of another trial's checkpoint may take.
const copyFor = 10 * time.Minute

// errNotBegun: the lane is to save or to end, and the trial still copies what it is to go on from.
var errNotBegun = errors.New("the trial has not begun")

// inherit gives a trial of pbt the checkpoint that it is to go on from. The lane hears requests and
// signals meanwhile: errNotBegun if it is to save or to end before the copy is there.
func (t *trial) inherit() error {
	if t.tell.From == 0 {
		return nil
	}
	ctx, stop := t.bounded(copyFor)
	defer stop()
	var copied *sweep.Event
	var err error
	done := make(chan struct{})
	go func() { // ends with ctx, at the next 4 MiB
		defer close(done)
		copied, err = t.copy(ctx)
	}()
	for {
		ends := t.wait(done)
		select {
		case <-done:
			if err != nil || copied == nil {
				return err
			}
			return t.event(*copied)
		default:
		}
		if r := t.request(); r != nil && !r.Continue {
			t.for_, ends = r, true
		}
		if ends {
			stop()
			select {
			case <-done:
			case <-time.After(t.End):
			}
			return errNotBegun
		}
	}
}

// copy copies the checkpoint, unless the trial has one of its own: an earlier start of it did this, or
// has trained since; nil then. The nearest to the epoch that is meant is taken; of the trial that it
// replaces if the other has none before its end. If there is none at all the trial begins from the
// beginning, which the event says.
func (t *trial) copy(ctx context.Context) (*sweep.Event, error) {
	own, err := checkpoint.OpenDir(filepath.Join(t.folder, checkpoint.Checkpoints))
	if err != nil {
		return nil, err
	}
	defer own.Close()
	series := checkpoint.NewSeries(own, checkpoint.Identity{Job: t.number, Token: t.token})
	if newest, _, err := series.Newest(ctx); err != nil || newest.Name != "" {
		return nil, err
	}
	e := &sweep.Event{Kind: sweep.Copied, Trial: t.tell.Trial, Start: t.tell.Start}
	for _, from := range []int{t.tell.From, t.tell.Replaces} {
		name, m, err := t.fork(ctx, series, from)
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		if err != nil {
			fmt.Fprintf(t.Stderr, "sluice: trial %d does not go on from trial %d: %v\n", t.tell.Trial, from, err)
		}
		if name != "" {
			e.From, e.Epoch, e.Checkpoint = from, m.Epoch, filepath.Join(own.Path(), name)
			break
		}
	}
	return e, nil
}

// fork takes over the checkpoint of a trial that is nearest to the epoch that is meant; "" if there is
// none that can be used. err is of the last one that could not.
func (t *trial) fork(ctx context.Context, series *checkpoint.Series, from int) (name string, m checkpoint.Manifest, err error) {
	token := sweep.TrialToken(t.sweep.Token, from)
	dir, err := checkpoint.OpenDir(filepath.Join(t.Sweep, sweep.Trials, token, checkpoint.Checkpoints))
	if err != nil {
		return "", m, err
	}
	defer dir.Close()
	theirs := checkpoint.NewSeries(dir, checkpoint.Identity{Job: t.number, Token: token})
	names, err := theirs.Names()
	type candidate struct {
		name string
		far  float64
	}
	var list []candidate
	for _, n := range names { // the newest first
		found, failed := theirs.Manifest(n)
		if failed == nil && (t.sweep.Epochs == 0 || found.Epoch < t.sweep.Epochs) {
			list = append(list, candidate{n, math.Abs(found.Epoch - float64(t.tell.FromEpoch))})
		}
	}
	slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(x.far, y.far) })
	for _, c := range list {
		if name, m, err = series.Fork(ctx, theirs, c.name); err == nil {
			return name, m, nil
		}
	}
	return "", m, err
}

// period asks a member of a population to save and go on, whenever it has come to another multiple of
// the sweep's period: others may have to go on from there.
func (t *trial) period(ask sweep.Ask) {
	period := t.sweep.Period()
	if period == 0 || t.ending || t.saving != nil || !t.curve.hello || !t.curve.any {
		return
	}
	if n := int(min(t.curve.last, sweep.MaxRung)) / period; n > t.periods {
		t.periods = n
		t.save(checkpoint.Request{ID: fmt.Sprintf("period.%s.%d", ask.ID, n), Why: "other trials of the sweep may go on from here", Continue: true})
	}
}
