package offcycle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
	"github.com/sluice-hpc/sluice/elastic/sweep/keeper"
	"github.com/sluice-hpc/sluice/elastic/sweep/level"
)

// Bounds of what is read of one sweep.
const (
	mostLanes  = 4096
	mostOfLane = 64 << 20         // of one lane's file, and of a searcher's answers, in bytes; what follows is not read
	mostEvents = 512 << 20        // of all lanes' files, likewise
	mostRecord = 64 << 20         // of its record
	restRecord = 1 << 20          // of it is left for the end of the sweep
	settleFor  = 10 * time.Second // after a record was lost: what lanes were told shows in their lines
)

// tooMuch: nothing more is read of a sweep, however long one waits.
type tooMuch struct {
	lane     string // token; "" = all lanes together
	size     int64
	searcher bool // it is the program that is asked for points
	record   bool // it is what was decided
	reports  bool // they fit into the files, and there are too many
}

func (e tooMuch) Error() string {
	whose, most := "its lanes' files have", int64(mostEvents)
	switch {
	case e.reports:
		return "its trials have reported more epochs than are kept: nothing is decided about it any more; let its program report less often, and submit it anew"
	case e.record:
		return fmt.Sprintf("its record has %.1f MiB, and no more than %d MiB is kept of what is decided about a sweep: nothing is decided about it any more; submit it anew", float64(e.size)/(1<<20), mostRecord>>20)
	case e.searcher:
		whose, most = "the answers of its searcher have", mostOfLane
	case e.lane != "":
		whose, most = fmt.Sprintf("%s of its lane %s has", sweep.EventFile, e.lane), mostOfLane
	}
	return fmt.Sprintf("%s %.1f MiB of lines, of which %d MiB are read: nothing is decided about it any more; let its program report less often, and submit it anew", whose, float64(e.size)/(1<<20), most>>20)
}

// files is one sweep as read from its files.
type files struct {
	paths SweepPaths
	token string
	uid   uint32

	text    []byte // of sweep.json
	plan    keeper.Plan
	atOnce  int // trials that a lane runs at once, as far as lanes have measured that
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
	view    Shown     // as last summed up
	viewOf  string    // what it was summed up from
	viewAt  time.Time // and when
	pace    pace
	asked   asked

	starts  map[int][]digest.Start // of trials, as the lanes wrote them; at most mostStarts
	started int                    // how many there are
	jobs    map[string]int64       // of the lanes, by token: as Slurm last had them, else the lane's word

	lanesRun map[string]LaneTrial // the trials of the lanes, as of what was read when acted was lanesAt, and bytes lanesOf
	lanesAt  string
	lanesOf  int64
}

// close releases the record.
func (f *files) close() {
	if f != nil && f.record != nil {
		f.record.Close()
	}
}

func newFiles(paths SweepPaths, token string, uid uint32) *files {
	return &files{paths: paths, token: token, uid: uid, offsets: map[string]int64{}, wrote: map[string]sweep.Tell{}, pace: pace{}, starts: map[int][]digest.Start{}, jobs: map[string]int64{}}
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
	if size := f.size(f.record); size > mostRecord-restRecord {
		f.problem = cmp.Or[error](f.problem, tooMuch{record: true, size: size})
	}
	seen, complete := f.lanes(base, names, live)
	seen.Idle = idle
	if err := f.answers(base, &seen); errors.As(err, new(tooMuch)) {
		f.problem = cmp.Or(f.problem, err)
	} else if err != nil {
		return Standing{}, err
	}
	if f.problem != nil && f.plan.Sweep.State != sweep.Stopped { // its lanes end all the same
		return f.standing(), errors.Join(f.problem, f.publish(f.standing()))
	}
	if !complete && f.problem == nil || f.lost && now.Sub(f.since) < settleFor {
		return f.standing(), nil
	}
	if err := f.add(f.book.Found()); err != nil {
		return Standing{}, err
	}
	if f.changed(seen) || f.plan.Sweep.Within > 0 {
		if err := f.add(keeper.Step(f.book, f.plan, seen, now)); err != nil {
			return Standing{}, err
		}
	}
	if err := f.rate(idle, now); err != nil {
		return Standing{}, err
	}
	f.pace.foresee(f.book, f.plan.Sweep)
	if err := f.answer(seen.Lanes); err != nil {
		return Standing{}, err
	}
	f.wants(seen, now)
	standing := f.standing()
	if standing.Over {
		standing.Needless = needless(live)
	}
	return standing, f.publish(standing)
}

// changed reports whether anything was read that the last step did not know. Most looks find nothing
// new, and a step goes through all trials.
func (f *files) changed(seen keeper.Seen) bool {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %x %v %d %v", f.bytes, sha256.Sum256(f.text), seen.Idle, len(seen.Points), seen.None)
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
	f.atOnce = 1
	if f.plan.Sweep.Slots() > 1 {
		f.atOnce = f.plan.Sweep.AtOnce(sweep.Sharings(dir))
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
		dir, err := base.Owned(name, f.uid)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its user removed it
		}
		if err != nil {
			complete = false
			continue
		}
		for slot := 1; slot <= f.plan.Sweep.Slots(); slot++ {
			l := keeper.Lane{Token: sweep.SlotName(name, slot), Job: job.Job, Ended: !has || job.Ended}
			l.Ask, l.Asks = f.ask(dir, slot)
			if job := cmp.Or(job.Job, l.Ask.Job); job != 0 {
				f.jobs[name] = job
			}
			// A job that waits, as the last cycle saw it, may have started since: then it asks in its new run.
			l.Gone = l.Ended || job.Waits && !(l.Asks && l.Ask.Restarts >= job.Restarts)
			done, err := f.lines(dir, name, slot)
			complete = complete && done && err == nil
			if errors.As(err, new(tooMuch)) {
				f.problem = cmp.Or(f.problem, err)
			}
			known := f.offsets[l.Token] > 0 || f.toldBefore(name, slot)
			found = found || known
			if slot == 1 || l.Asks || known {
				seen.Lanes = append(seen.Lanes, l)
			}
		}
		dir.Close()
	}
	for token, job := range jobs { // those that have not begun yet
		seen.Lanes = append(seen.Lanes, keeper.Lane{Token: token, Job: job.Job, Gone: job.Waits || job.Ended, Ended: job.Ended})
	}
	slices.SortFunc(seen.Lanes, func(a, b keeper.Lane) int { return strings.Compare(a.Token, b.Token) })
	// A record that lacks what a lane began was lost, or is an older one.
	f.lost = f.lost && found || complete && f.book.Lacks()
	return seen, complete
}

// toldBefore reports whether a lane was told something, maybe by a daemon whose record is lost.
func (f *files) toldBefore(lane string, slot int) bool {
	_, err := os.Lstat(filepath.Join(f.paths.Outbox, lane, sweep.SlotFile(sweep.TellFile, slot)))
	return err == nil
}

// ask reads what a slot of a lane asks. It MUST be read before the slot's lines.
func (f *files) ask(dir *checkpoint.Dir, slot int) (sweep.Ask, bool) {
	data, err := dir.Read(sweep.SlotFile(sweep.AskFile, slot), sweep.MaxSmall)
	if err != nil {
		return sweep.Ask{}, false
	}
	ask, err := sweep.ParseAsk(data)
	return ask, err == nil && ask.Sweep == f.token
}

// lines takes in what a slot of a lane has written since the last step, in parts: done is false if there may
// be more. Lines that cannot be read are skipped.
func (f *files) lines(dir *checkpoint.Dir, token string, slot int) (done bool, err error) {
	lane := sweep.SlotName(token, slot)
	file, info, err := dir.Open(sweep.SlotFile(sweep.EventFile, slot))
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
	switch {
	case from >= mostOfLane:
		return false, tooMuch{lane: lane, size: info.Size()}
	case f.book.Full():
		return false, tooMuch{reports: true}
	case f.bytes >= mostEvents:
		return false, tooMuch{size: f.bytes + info.Size() - from}
	}
	to := min(info.Size(), from+sweep.MaxLines) // in one step
	next, err := sweep.Lines(file, from, to, func(line []byte) {
		if e, err := sweep.ParseEvent(line); err == nil {
			e.Others = nil // for people only
			if e.Kind == sweep.Began {
				f.began(token, e.Trial, e.Start)
			}
			f.book.Take(lane, e)
			f.pace.take(lane, e)
		}
	})
	f.offsets[lane] = next
	f.bytes += next - from
	return to == info.Size() && err == nil, err
}

// answer tells the lanes. Those that were told something go first: a trial that is not to be dropped
// any more is told to a lane only after that was taken back from the others.
func (f *files) answer(lanes []keeper.Lane) error {
	teller := f.book.Teller(f.plan.Sweep)
	for _, again := range []bool{true, false} {
		for _, l := range lanes {
			if _, wrote := f.wrote[l.Ask.ID]; l.Asks && !l.Gone && wrote == again {
				if err := f.tell(l, teller); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tell writes what a lane is to be told, if that has changed.
func (f *files) tell(l keeper.Lane, teller book.Teller) error {
	tell, has := teller.Told(l.Token, l.Ask.ID)
	if old, wrote := f.wrote[l.Ask.ID]; !has || wrote && same(old, tell) {
		return nil
	}
	data, err := l.Ask.Seal(tell)
	if err != nil {
		return err
	}
	lane, slot := sweep.LaneOf(l.Token), sweep.SlotOf(l.Token)
	if err := f.put(lane, sweep.SlotFile(sweep.TellFile, slot), data); err != nil {
		return err
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
