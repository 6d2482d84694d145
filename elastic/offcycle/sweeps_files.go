package offcycle

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/keeper"
	"github.com/sluice-hpc/sluice/elastic/sweep/level"
)

// Bounds of what is read of one sweep.
const (
	mostLanes  = 4096
	mostLines  = 1 << 20  // of one lane's file, in bytes, in one step
	mostEvents = 64 << 20 // of all lanes' files, in bytes; what follows is not read
	mostRecord = 64 << 20
	settleFor  = 10 * time.Second // after a record was lost: what lanes were told shows in their lines
)

// errTooMuch: nothing more is read of a sweep.
var errTooMuch = fmt.Errorf("its lanes wrote more than %d MiB of lines; let its program report less often", mostEvents>>20)

// files is one sweep as read from its files.
type files struct {
	paths SweepPaths
	token string
	uid   uint32

	text    []byte // of sweep.json
	plan    keeper.Plan
	book    *book.Book
	lost    bool      // the record was not there, and lanes had written lines
	since   time.Time // of the first step
	offsets map[string]int64
	bytes   int64
	wrote   map[string]sweep.Tell // by ask
	acted   string                // what was seen in the last step
	shown   []byte                // the standing as it was written
	record  *os.File
	level   level.State
	counted int       // trials that the level took in
	raised  time.Time // when the level last rose because GPUs idled
	problem error     // that waiting does not mend
}

// close releases the record.
func (f *files) close() {
	if f != nil && f.record != nil {
		f.record.Close()
	}
}

func newFiles(paths SweepPaths, token string, uid uint32) *files {
	return &files{paths: paths, token: token, uid: uid, offsets: map[string]int64{}, wrote: map[string]sweep.Tell{}}
}

// step reads everything, decides, records and tells. After an error the files MUST be opened anew.
func (f *files) step(live []LaneJob, idle bool, now time.Time) (Standing, error) {
	if f.since.IsZero() {
		f.since = now
	}
	base, err := checkpoint.OpenDir(f.paths.Jobs)
	if err != nil {
		return Standing{}, err
	}
	defer base.Close()
	names, err := f.read(base)
	if err != nil {
		return Standing{}, err
	}
	if f.book == nil {
		if err := f.replay(); err != nil {
			return Standing{}, err
		}
	}
	seen, complete := f.lanes(base, names, live)
	seen.Idle = idle
	if f.problem != nil {
		return Standing{}, f.problem
	}
	if !complete || f.lost && now.Sub(f.since) < settleFor {
		return f.standing(), nil
	}
	if f.changed(seen) || f.plan.Sweep.Within > 0 {
		if err := f.add(keeper.Step(f.book, f.plan, seen, now)); err != nil {
			return Standing{}, err
		}
	}
	f.rate(idle, now)
	for _, l := range seen.Lanes {
		if l.Asks && !l.Gone {
			if err := f.tell(l); err != nil {
				return Standing{}, err
			}
		}
	}
	standing := f.standing()
	return standing, f.publish(standing)
}

// changed reports whether anything was read that the last step did not know. Most looks find nothing
// new, and a step goes through all trials.
func (f *files) changed(seen keeper.Seen) bool {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %x %v", f.bytes, sha256.Sum256(f.text), seen.Idle)
	for _, l := range seen.Lanes {
		fmt.Fprintf(&b, " %s %v %v %v %s", l.Token, l.Gone, l.Ended, l.Asks, l.Ask.ID)
	}
	same := f.acted == b.String()
	f.acted = b.String()
	return !same
}

// read reads what the sweep is, and which lanes it has.
func (f *files) read(base *checkpoint.Dir) (lanes []string, err error) {
	dir, err := base.Owned(f.token, f.uid)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	text, err := dir.Read(sweep.File, sweep.MaxFile)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(text, f.text) {
		s, err := sweep.Parse(text)
		if err == nil && s.Token != f.token {
			err = fmt.Errorf("%s is that of sweep %s", sweep.File, s.Token)
		}
		var plan keeper.Plan
		if err == nil {
			plan, err = keeper.NewPlan(s)
		}
		if err != nil {
			return nil, err
		}
		f.text, f.plan = text, plan
	}
	sub, err := dir.Sub(sweep.LaneFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no lane has started yet
	}
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	return sub.Names(mostLanes)
}

// replay reads the record.
func (f *files) replay() error {
	f.book = book.New()
	if err := os.MkdirAll(f.paths.Record, 0o700); err != nil {
		return err
	}
	name := filepath.Join(f.paths.Record, f.token+".jsonl")
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	f.record = file
	data, err := io.ReadAll(io.LimitReader(file, mostRecord+1))
	if err != nil {
		return err
	}
	if len(data) > mostRecord { // what is beyond must not be taken for a line that a kill cut off
		return fmt.Errorf("%s: longer than %d bytes; move it away, and the trials are found again in their folders", name, mostRecord)
	}
	f.lost = len(data) == 0
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole { // killed while it was written: nothing of it took effect
			return file.Truncate(f.size(file) - int64(len(line)))
		}
		var e book.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s: %w; move it away, and the trials are found again in their folders", name, err)
		}
		f.book.Apply(e)
		data = rest
	}
	return nil
}

func (f *files) size(file *os.File) int64 {
	info, err := file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// add records entries, durably.
func (f *files) add(entries []book.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if _, err := f.record.Write(b.Bytes()); err != nil {
		return err
	}
	return f.record.Sync()
}

// lanes reads the lanes. complete is false if a line of one was not read: then nothing may be
// decided.
func (f *files) lanes(base *checkpoint.Dir, names []string, live []LaneJob) (seen keeper.Seen, complete bool) {
	jobs := make(map[string]LaneJob, len(live))
	for _, l := range live {
		jobs[l.Lane] = l
	}
	complete = true
	found := false
	for _, name := range names {
		if !checkpoint.ValidToken(name) {
			continue
		}
		job, has := jobs[name]
		delete(jobs, name)
		l := keeper.Lane{Token: name, Job: job.Job, Ended: !has || job.Ended}
		dir, err := base.Owned(name, f.uid)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its user removed it
		}
		if err != nil {
			complete = false
			continue
		}
		l.Ask, l.Asks = f.ask(dir)
		// A job that waits, as the last cycle saw it, may have started since: then it asks in its new run.
		l.Gone = l.Ended || job.Waits && !(l.Asks && l.Ask.Restarts >= job.Restarts)
		done, err := f.lines(dir, name)
		dir.Close()
		complete = complete && done && err == nil
		if errors.Is(err, errTooMuch) {
			f.problem = err
		}
		found = found || f.offsets[name] > 0
		seen.Lanes = append(seen.Lanes, l)
	}
	for token, job := range jobs { // those that have not begun yet
		seen.Lanes = append(seen.Lanes, keeper.Lane{Token: token, Job: job.Job, Gone: job.Waits || job.Ended, Ended: job.Ended})
	}
	slices.SortFunc(seen.Lanes, func(a, b keeper.Lane) int { return strings.Compare(a.Token, b.Token) })
	f.lost = f.lost && found
	return seen, complete
}

// ask reads what a lane asks. It MUST be read before the lane's lines.
func (f *files) ask(dir *checkpoint.Dir) (sweep.Ask, bool) {
	data, err := dir.Read(sweep.AskFile, sweep.MaxSmall)
	if err != nil {
		return sweep.Ask{}, false
	}
	ask, err := sweep.ParseAsk(data)
	return ask, err == nil && ask.Sweep == f.token
}

// lines takes in what a lane has written since the last step; done is false if there may be more.
// Lines that cannot be read are skipped.
func (f *files) lines(dir *checkpoint.Dir, lane string) (done bool, err error) {
	file, info, err := dir.Open(sweep.EventFile)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	from := f.offsets[lane]
	if info.Size() <= from {
		return true, nil
	}
	if f.bytes > mostEvents {
		return false, errTooMuch
	}
	data := make([]byte, min(info.Size()-from, mostLines))
	n, err := file.ReadAt(data, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	data = data[:n]
	last := bytes.LastIndexByte(data, '\n')
	if last < 0 && n < mostLines {
		return true, nil // a line that is being written
	}
	if last < 0 {
		last = n - 1
	}
	for line := range bytes.SplitSeq(data[:last], []byte("\n")) {
		if e, err := sweep.ParseEvent(line); err == nil {
			f.book.Take(lane, e)
		}
	}
	f.offsets[lane] = from + int64(last) + 1
	f.bytes += int64(last) + 1
	return n < mostLines, nil
}

// idlePerLevel is how long GPUs have to idle for each level by which the priority rises.
const idlePerLevel = time.Minute

// rate finds the sweep's level: its rule, trial by trial in the order in which they were done.
func (f *files) rate(idle bool, now time.Time) {
	rule := level.DefaultRule()
	m := f.plan.Sweep.Metric
	done := f.book.Results(m)
	for ; f.counted < len(done); f.counted++ {
		f.level = rule.Done(f.level, done[:f.counted+1], m.Max)
	}
	switch {
	case !idle || f.level.Level == 0:
		f.raised = now
	case now.Sub(f.raised) >= idlePerLevel:
		f.level, f.raised = rule.Idle(f.level), now
	}
}

// tell writes what a lane is to be told, if that has changed.
func (f *files) tell(l keeper.Lane) error {
	tell, has := f.book.Told(f.plan.Sweep, l.Token, l.Ask.ID)
	if old, wrote := f.wrote[l.Ask.ID]; !has || wrote && same(old, tell) {
		return nil
	}
	data, err := l.Ask.Seal(tell)
	if err != nil {
		return err
	}
	base, err := checkpoint.OpenDir(f.paths.Outbox)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	defer base.Close()
	dir, err := base.Make(l.Token, 0o755)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	defer dir.Close()
	if err := dir.Write(sweep.TellFile, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if len(f.wrote) > 4*mostLanes {
		f.wrote = map[string]sweep.Tell{}
	}
	f.wrote[l.Ask.ID] = tell
	return nil
}

func same(a, b sweep.Tell) bool {
	x, _ := json.Marshal(a) // texts and numbers: cannot fail
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}
