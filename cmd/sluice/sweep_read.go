package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// A user's sweeps are read from the user's own folders: nothing needs to be running for that.

// sweepView is a sweep as its files show it.
type sweepView struct {
	*own.View
	points map[int]book.Point // by trial; see point
}

// mostScript bounds what is read of a user's script, in bytes.
const mostScript = 4 << 20

// sweepsIn returns the user's sweeps, the newest last.
func sweepsIn(jobs string) (all []*sweepView, err error) {
	found, err := own.Find(jobs, uint32(os.Geteuid()))
	for _, f := range found {
		all = append(all, &sweepView{View: f})
	}
	return all, err
}

// fill reads the trials.
func (v *sweepView) fill(jobs, outbox string, now time.Time) error {
	if err := v.Read(jobs, outbox, now); err != nil {
		return err
	}
	v.Book.Over = v.Over()
	for i, state := range v.States() { // as they are shown; nothing is read after this
		v.Book.Trials[i].State = state
	}
	return nil
}

// searcher is the state of the program that the sweep asks for points, as the program's lane wrote it.
func (v *sweepView) searcher() (s sweep.Status) {
	if data, err := checkpoint.ReadIn(filepath.Join(v.Folder, sweep.SearcherFolder), sweep.SearcherStatus, sweep.MaxSmall); err == nil {
		s, _ = sweep.ParseStatus(data)
	}
	return s
}

// checkpointOf is the newest complete checkpoint of a trial, whether or not the trial runs; "" if
// there is none.
func (v *sweepView) checkpointOf(t *book.Trial) string {
	base := filepath.Join(v.trialFolder(t.Number), checkpoint.Checkpoints)
	entries, _ := os.ReadDir(base) // none, if it cannot be read
	for _, e := range slices.Backward(entries) {
		if _, err := os.Stat(filepath.Join(base, e.Name(), checkpoint.ManifestFile)); err == nil {
			return filepath.Join(base, e.Name())
		}
	}
	return ""
}

// jobOf is the job in which a trial runs, or ran last; 0 = not known.
func (v *sweepView) jobOf(t *book.Trial) int64 {
	lane, _ := v.Lane(t.Lane)
	return lane.Job
}

func (v *sweepView) trialFolder(n int) string {
	return filepath.Join(v.Folder, sweep.Trials, sweep.TrialToken(v.Token, n))
}

// pickSweep returns the sweep of a number, "" being the newest.
func pickSweep(all []*sweepView, number string) (*sweepView, error) {
	if len(all) == 0 {
		return nil, errors.New("you have no sweeps; 'sluice submit --sweep=asha ...' makes one, see 'sluice help submit'")
	}
	if number == "" {
		return all[len(all)-1], nil
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%q: want the number of a sweep; 'sluice sweep list' lists them", number)
	}
	for _, v := range all {
		if v.Number == n {
			return v, nil
		}
	}
	return nil, fmt.Errorf("you have no sweep %d; 'sluice sweep list' lists them", n)
}
