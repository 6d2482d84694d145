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
	sweep.Sweep
	folder   string
	book     *book.Book
	lanes    []sweepLane
	standing standing

	files    *own.View
	points   map[int]book.Point // by trial; see point
	searcher sweep.Status       // of the program that it asks for points
}

// standing is what sluiced says of the sweep.
type standing = own.Standing

// sweepLane is one lane.
type sweepLane struct {
	token string
	job   int64
	left  bool // it ended because it was not needed any more
	runs  bool
}

// mostScript bounds what is read of a user's script, in bytes.
const mostScript = 4 << 20

// sweepsIn returns the user's sweeps, the newest last.
func sweepsIn(jobs string) (all []*sweepView, err error) {
	found, err := own.Find(jobs, uint32(os.Geteuid()))
	for _, f := range found {
		all = append(all, &sweepView{Sweep: f.Sweep, folder: f.Folder, files: f})
	}
	return all, err
}

// fill reads the trials.
func (v *sweepView) fill(jobs, outbox string, now time.Time) error {
	if v.files == nil {
		v.files = own.New(v.Sweep, v.folder)
	}
	if err := v.files.Read(jobs, outbox, now); err != nil {
		return err
	}
	v.book, v.standing, v.Number = v.files.Book, v.files.Standing, v.files.Number
	v.book.Over = v.files.Over()
	for _, l := range v.files.Lanes {
		v.lanes = append(v.lanes, sweepLane{l.Token, l.Job, l.Left, l.Runs})
	}
	for _, t := range v.book.Trials { // as they are shown; nothing is read after this
		t.State = v.files.StateOf(t)
	}
	if dir, err := checkpoint.OpenDir(filepath.Join(v.folder, sweep.SearcherFolder)); err == nil {
		defer dir.Close()
		if data, err := dir.Read(sweep.SearcherStatus, sweep.MaxSmall); err == nil {
			v.searcher, _ = sweep.ParseStatus(data)
		}
	}
	return nil
}

// readFile reads a file of the sweep's folder, of at most most bytes.
func (v *sweepView) readFile(name string, most int64) ([]byte, error) {
	dir, err := checkpoint.OpenDir(v.folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Read(name, most)
}

// state is the sweep's state in one word.
func (v *sweepView) state() string {
	switch {
	case v.book.Over != book.NotOver:
		return string(v.book.Over)
	case v.State == sweep.Paused:
		return "paused"
	case v.book.Count(book.Running) > 0:
		return "running"
	}
	return "waiting"
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
	for _, l := range v.lanes {
		if l.token == t.Lane {
			return l.job
		}
	}
	return 0
}

func (v *sweepView) trialFolder(n int) string {
	return filepath.Join(v.folder, sweep.Trials, sweep.TrialToken(v.Token, n))
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
