package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// A user's sweeps are read from the user's own folders: nothing needs to be running for that.

// sweepView is a sweep as its files show it.
type sweepView struct {
	sweep.Sweep
	folder   string
	book     *book.Book
	lanes    []sweepLane
	standing standing
}

// standing is what sluiced says of the sweep.
type standing struct {
	Level   int     `json:"level"`
	Gap     float64 `json:"gap"`
	Counted int     `json:"counted"`
	Wants   int     `json:"wants"`
	Problem string  `json:"problem,omitempty"`
}

// sweepLane is one lane.
type sweepLane struct {
	token string
	job   int64
	left  bool // it ended because it was not needed any more
	runs  bool
}

// Bounds of what is read.
const (
	mostFolders   = 200_000
	mostSweepText = 256 << 20 // of one lane's lines, in bytes
)

// sweeps returns the user's sweeps, the newest last.
func sweepsIn(jobs string) (all []*sweepView, err error) {
	dir, err := checkpoint.OpenDir(jobs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Names(mostFolders)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !checkpoint.ValidToken(name) {
			continue
		}
		own, err := dir.Owned(name, uint32(os.Geteuid()))
		if err != nil {
			continue
		}
		data, err := own.Read(sweep.File, sweep.MaxFile)
		own.Close()
		if err != nil {
			continue
		}
		s, err := sweep.Parse(data)
		if err != nil {
			continue
		}
		all = append(all, &sweepView{Sweep: s, folder: filepath.Join(jobs, name)})
	}
	slices.SortFunc(all, func(a, b *sweepView) int { return a.Created.Compare(b.Created) })
	return all, nil
}

// fill reads the trials.
func (v *sweepView) fill(jobs, outbox string, now time.Time) error {
	v.book = book.New()
	entries, err := os.ReadDir(filepath.Join(v.folder, sweep.LaneFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var over book.End
	var last, begun time.Time
	for _, e := range entries {
		l := sweepLane{token: e.Name()}
		folder := filepath.Join(jobs, e.Name())
		if data, err := readWhole(folder, sweep.AskFile, sweep.MaxSmall); err == nil {
			if ask, err := sweep.ParseAsk(data); err == nil {
				l.job = ask.Job
			}
		}
		word, err := runnerWord(folder)
		l.runs = err == nil && word.State != checkpoint.Exited && now.Sub(word.Beat) < 2*time.Minute
		data, err := readWhole(folder, sweep.EventFile, mostSweepText)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			event, err := sweep.ParseEvent(line)
			if err != nil {
				continue
			}
			if event.Kind == sweep.Began && event.At.After(begun) {
				begun = event.At
			}
			if event.Kind == sweep.Left {
				l.left = true
				if event.End != "" && event.At.After(last) {
					last, over = event.At, book.End(event.End)
				}
			}
			v.book.Take(l.token, event)
		}
		v.lanes = append(v.lanes, l)
	}
	if v.Number == 0 {
		for _, l := range v.lanes {
			if l.job > 0 && (v.Number == 0 || l.job < v.Number) {
				v.Number = l.job
			}
		}
	}
	if !last.Before(begun) {
		v.book.Over = over
	}
	if v.State == sweep.Stopped && over == book.NotOver {
		v.book.Over = book.ByUser
	}
	v.settle()
	if data, err := readWhole(filepath.Join(outbox, v.Token), "sweep.json", sweep.MaxSmall); err == nil {
		_ = json.Unmarshal(data, &v.standing) // shown only
	}
	return nil
}

// settle shows a trial whose lane does not run as what it is: it waits for another one.
func (v *sweepView) settle() {
	runs := map[string]bool{}
	for _, l := range v.lanes {
		runs[l.token] = l.runs
	}
	for _, t := range v.book.Trials {
		switch {
		case t.State == book.Running && !runs[t.Lane] && v.book.Over == book.NotOver:
			t.State = book.Waiting
		case (t.State == book.Running && !runs[t.Lane] || t.State == book.Waiting) && v.book.Over != book.NotOver:
			t.State = book.Stopped
		}
	}
}

func readWhole(folder, name string, most int64) ([]byte, error) {
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
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
