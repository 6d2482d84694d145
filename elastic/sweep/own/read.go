package own

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// Bounds of what is read.
const (
	mostFolders = 200_000
	mostLanes   = 4096
	mostText    = 512 << 20 // of one sweep's lines, in bytes; what follows is not read
	beatFor     = 2 * time.Minute
)

// Find returns the sweeps that a user has in the folder of jobs, the newest last. Nothing of their trials
// is read.
func Find(jobs string, uid uint32) (all []*View, err error) { return find(jobs, uid, map[string]int{}) }

// passedOver is how often a folder is looked into before it counts as one that is no sweep of the user. Once
// is too few: a sweep's folder is made before its file is.
const passedOver = 2

// find is Find for who looks again and again: passed counts how often each name was no sweep of the user.
// A site has the folders of all users' jobs in one place, perhaps 100,000.
func find(jobs string, uid uint32, passed map[string]int) (all []*View, err error) {
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
		if !checkpoint.ValidToken(name) || passed[name] >= passedOver {
			continue
		}
		own, err := dir.Owned(name, uid)
		if errors.Is(err, checkpoint.ErrOwner) || errors.Is(err, checkpoint.ErrNotRegular) { // not one of the user's
			passed[name]++
		}
		if err != nil {
			continue
		}
		data, err := own.Read(sweep.File, sweep.MaxFile)
		own.Close()
		if errors.Is(err, fs.ErrNotExist) { // a job's
			passed[name]++
		}
		if err != nil {
			continue
		}
		if s, err := sweep.Parse(data); err == nil {
			all = append(all, New(s, filepath.Join(jobs, name)))
		}
	}
	slices.SortFunc(all, func(a, b *View) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Token, b.Token)) })
	return all, nil
}

// New returns the view of a sweep of which nothing was read yet.
func New(s sweep.Sweep, folder string) *View {
	return &View{Sweep: s, Folder: folder, unnumbered: s.Number == 0, Book: book.New(), Starts: map[int][]digest.Start{}, offsets: map[string]int64{}}
}

// Read reads what was written about the sweep since it was last read, and which of its lanes run. After an
// error the view MUST be thrown away.
func (v *View) Read(jobs, outbox string, now time.Time) error {
	entries, err := os.ReadDir(filepath.Join(v.Folder, sweep.LaneFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := map[string]Lane{}
	for _, l := range v.Lanes {
		known[l.Token] = l
	}
	v.Lanes = v.Lanes[:0]
	for _, e := range entries[:min(len(entries), mostLanes)] {
		if !checkpoint.ValidToken(e.Name()) {
			continue
		}
		l := known[e.Name()]
		l.Token = e.Name()
		if err := v.lane(filepath.Join(jobs, l.Token), &l, now); err != nil {
			return err
		}
		v.Lanes = append(v.Lanes, l)
	}
	for _, l := range v.Lanes {
		if v.unnumbered && l.Job > 0 && (v.Number == 0 || l.Job < v.Number) {
			v.Number = l.Job
		}
	}
	v.Standing = standing(outbox, v.Token)
	v.Sharing = nil
	if dir, err := checkpoint.OpenDir(v.Folder); err == nil { // else none is known, as where no lane has measured
		v.Sharing = sweep.Sharings(dir)
		dir.Close()
	}
	return nil
}

// lane reads one lane: of its lines those that were added. Of a sweep with more than mostText of lines
// nothing more is read.
func (v *View) lane(folder string, l *Lane, now time.Time) error {
	dir, err := checkpoint.OpenDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		l.Runs = false
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if l.Job == 0 {
		if data, err := dir.Read(sweep.AskFile, sweep.MaxSmall); err == nil {
			if ask, err := sweep.ParseAsk(data); err == nil {
				l.Job = ask.Job
			}
		}
	}
	l.Runs = runs(dir, now)
	for slot := 1; slot <= v.Slots(); slot++ {
		if err := v.slot(dir, l, slot); err != nil {
			return err
		}
	}
	return nil
}

// slot reads the new lines of one slot of a lane.
func (v *View) slot(dir *checkpoint.Dir, l *Lane, slot int) error {
	name := sweep.SlotName(l.Token, slot)
	f, info, err := dir.Open(sweep.SlotFile(sweep.EventFile, slot))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	from := v.offsets[name]
	if info.Size() < from {
		return fmt.Errorf("%s: shorter than before", f.Name())
	}
	v.offsets[name], err = sweep.Lines(f, from, min(info.Size(), from+mostText-v.bytes), func(line []byte) {
		if e, err := sweep.ParseEvent(line); err == nil {
			v.take(l, name, e)
		}
	})
	v.bytes += v.offsets[name] - from
	return err
}

// take takes in a line of a slot of a lane.
func (v *View) take(l *Lane, slot string, e sweep.Event) {
	if e.At.After(v.newest) {
		v.newest = e.At
	}
	switch e.Kind {
	case sweep.Began:
		if e.At.After(v.begun) {
			v.begun = e.At
		}
		l.Left = false
		v.Starts[e.Trial] = append(v.Starts[e.Trial], digest.Start{Number: e.Start, Lane: l.Token})
	case sweep.Left:
		l.Left = true
		if e.End != "" && e.At.After(v.left) {
			v.left, v.end = e.At, book.End(e.End)
		}
	}
	v.Book.Take(slot, e)
}

// runs reports whether the runner of a job wrote lately that it runs.
func runs(dir *checkpoint.Dir, now time.Time) bool {
	data, err := dir.Read(checkpoint.RunnerFile, sweep.MaxSmall)
	if err != nil {
		return false
	}
	word, err := checkpoint.ParseRunner(data)
	return err == nil && word.State != checkpoint.Exited && now.Sub(word.Beat) < beatFor
}

// standing is what sluiced says of a sweep: shown only, so that what cannot be read is left out.
func standing(outbox, token string) (s sweep.Standing) {
	dir, err := checkpoint.OpenDir(filepath.Join(outbox, token))
	if err != nil {
		return sweep.Standing{}
	}
	defer dir.Close()
	data, err := dir.Read(sweep.File, sweep.MaxSmall)
	if err != nil || json.Unmarshal(data, &s) != nil {
		return sweep.Standing{}
	}
	return s
}
