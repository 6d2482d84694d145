package searcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// news finds what the program was not told yet, in the lines of the sweep's lanes.
type news struct {
	book    *book.Book
	offsets map[string]int64
	told    map[int]*toldOf // by trial
	owes    bool            // lines were read and not returned: a lane's could not be read
}

// toldOf is what the program knows of a trial.
type toldOf struct {
	epoch float64
	any   bool
	state string
}

// read reads the new lines of the lanes, each with so many slots. What it returns is in the order of trials, of
// each its reports and then its state; the caller records it in this order.
func (n *news) read(jobs, folder string, slots int, script *transcript) (out []sweep.Spoken, err error) {
	if n.book == nil {
		n.book, n.offsets, n.told = book.New(), map[string]int64{}, map[int]*toldOf{}
		for _, l := range script.lines {
			if l.Tell != nil {
				*n.of(l.Tell.Trial) = toldOf{l.Tell.Epoch, l.Tell.Value != nil || n.of(l.Tell.Trial).any, l.Tell.State}
			}
		}
	}
	lanes, err := os.ReadDir(filepath.Join(folder, sweep.LaneFolder))
	if err != nil {
		return nil, err
	}
	for _, lane := range lanes {
		if !checkpoint.ValidToken(lane.Name()) {
			continue
		}
		for slot := 1; slot <= slots; slot++ {
			more, failed := n.lines(filepath.Join(jobs, lane.Name()), lane.Name(), slot)
			n.owes = n.owes || more
			if failed != nil {
				err = failed
			}
		}
	}
	if !n.owes || err != nil {
		return nil, err
	}
	n.owes = false
	for _, t := range n.book.Trials {
		if t.Point != "" && !script.points[t.Number] {
			out = append(out, sweep.Spoken{Point: &sweep.Pointed{Trial: t.Number, Point: t.Point, Given: true}})
		}
		out = append(out, n.trial(t)...)
	}
	return out, nil
}

func (n *news) of(trial int) *toldOf {
	if n.told[trial] == nil {
		n.told[trial] = &toldOf{}
	}
	return n.told[trial]
}

// trial is what is new of one trial.
func (n *news) trial(t *book.Trial) (out []sweep.Spoken) {
	told := n.of(t.Number)
	for _, m := range t.Curve {
		if told.any && m.Epoch <= told.epoch {
			continue
		}
		value := m.Value
		out = append(out, sweep.Spoken{Tell: &sweep.Told{Trial: t.Number, Epoch: m.Epoch, Value: &value, State: string(book.Running)}})
		told.any, told.epoch, told.state = true, m.Epoch, string(book.Running)
	}
	if state := string(t.State); t.State != book.Waiting && state != told.state && (t.State != book.Running || told.state != "") {
		out = append(out, sweep.Spoken{Tell: &sweep.Told{Trial: t.Number, Epoch: told.epoch, State: state}})
		told.state = state
	}
	return out
}

// lines takes in the new lines of a lane's slot; fresh: there were some, also where an error came after them.
func (n *news) lines(folder, token string, slot int) (fresh bool, err error) {
	lane := sweep.SlotName(token, slot)
	dir, err := checkpoint.OpenDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer dir.Close()
	file, info, err := dir.Open(sweep.SlotFile(sweep.EventFile, slot))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	from := n.offsets[lane]
	if info.Size() <= from || from > most {
		return false, nil
	}
	n.offsets[lane], err = sweep.Lines(file, from, min(info.Size(), from+most), func(line []byte) {
		if e, err := sweep.ParseEvent(line); err == nil {
			n.book.Take(lane, e)
		}
	})
	return n.offsets[lane] > from, err
}
