package lane

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/sharing"
)

// hub is a lane that runs its trials in slots, several at once where that was measured to be faster. It is the
// program of the job, and has no trial itself: it passes requests on to its slots and answers once all have.
type hub struct {
	*lane
	slots   []*slot // slots[i] is slot i+1
	decider *sharing.Decider
	gpus    int
	kind    string              // type of the GPUs; "" = not known
	passed  *checkpoint.Request // the request that was passed on; nil = none
	replied bool                // it was answered
	looked  time.Time           // when the answer of other lanes was last looked for
	wrote   int                 // trials of the answer that it wrote or follows; 0 = none
	crashes int                 // of slots
	epochs  map[int]float64     // the last ones of the trials, by slot, for the lane's work; -1 = not known yet
}

// slot is one slot as its lane sees it.
type slot struct {
	number int
	child  *process.Child // nil = it does not run
	offset int64          // in its lines
	trial  int            // that it runs; 0 = none
	gone   bool           // it left by itself: no trial is left for it
	asked  string         // the request to save because there are to be fewer; "" = none
	since  time.Time      // when
	killed bool
	memory bool // its last trial ran out of memory beside others
}

const (
	shareEvery = 2 * time.Second // the answer of other lanes is looked for so often
	retireFor  = time.Minute     // beyond the grace period: then a slot that does not answer is ended
	mostCrash  = 3               // slots that are started again in a run of the lane
)

func newHub(l *lane) *hub {
	h := &hub{lane: l, decider: sharing.New(l.sweep.Slots(), l.Measure), epochs: map[int]float64{}, kind: kindOf(l.vars)}
	h.gpus, _ = strconv.Atoi(l.vars["SLUICE_GPUS"])
	for n := 1; n <= l.sweep.Slots(); n++ {
		h.slots = append(h.slots, &slot{number: n})
	}
	return h
}

// run runs slots until each has left, or Slurm ends the job.
func (h *hub) run() error {
	if err := h.clean(); err != nil {
		return err
	}
	defer h.stop()
	for {
		if err := h.look(); err != nil {
			return err
		}
		if !h.saves() && !slices.ContainsFunc(h.slots, func(s *slot) bool { return s.child != nil }) {
			return nil // none has a trial left
		}
		if h.wait(nil) {
			return nil
		}
	}
}

// clean removes what an earlier run of the lane left between it and its slots, and skips their lines.
func (h *hub) clean() error {
	for _, s := range h.slots {
		if err := os.RemoveAll(slotFolder(h.inner, s.number)); err != nil {
			return err
		}
		if info, err := os.Stat(h.lines(s)); err == nil {
			s.offset = info.Size()
		}
	}
	return errors.Join(h.tells(crowdFile, false), h.tells(measureFile, false))
}

func (h *hub) lines(s *slot) string {
	return filepath.Join(h.folder, sweep.SlotFile(sweep.EventFile, s.number))
}

// tells says something to the slots, or takes it back.
func (h *hub) tells(file string, is bool) error {
	name := filepath.Join(h.inner, file)
	if is {
		return os.WriteFile(name, nil, 0o600)
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// look is one look at everything.
func (h *hub) look() error {
	for _, s := range h.slots {
		if err := h.reads(s); err != nil {
			return err
		}
		if err := h.reap(s); err != nil {
			return err
		}
	}
	if err := h.shares(); err != nil {
		return err
	}
	if err := h.pass(); err != nil || h.saves() {
		return err // none begins
	}
	return h.fit()
}

// saves reports whether all slots are to save and wait.
func (h *hub) saves() bool { return h.passed != nil && !h.passed.Continue }

// reads takes in what a slot has written.
func (h *hub) reads(s *slot) error {
	f, err := os.Open(h.lines(s))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() <= s.offset {
		return err
	}
	before := h.work
	s.offset, err = sweep.Lines(f, s.offset, info.Size(), func(line []byte) {
		if e, err := sweep.ParseEvent(line); err == nil {
			h.take(s, e)
		}
	})
	if h.work != before {
		err = errors.Join(err, h.progress("progress"))
	}
	return err
}

// take takes in a line of a slot.
func (h *hub) take(s *slot, e sweep.Event) {
	h.decider.Take(s.number, e)
	switch e.Kind {
	case sweep.Began:
		s.trial = e.Trial
		h.epochs[s.number] = -1
		if e.Start == 1 {
			h.epochs[s.number] = 0
		}
	case sweep.Reported:
		if last := h.epochs[s.number]; h.Elastic && last >= 0 {
			h.work += max(0, e.Epoch-last)
		}
		h.epochs[s.number] = e.Epoch
	case sweep.EndedAs:
		s.trial = 0
		if e.How == sweep.Done || e.How == sweep.Failed {
			if h.done++; !h.Elastic {
				h.work = float64(h.done)
			}
		}
		if e.Memory {
			s.memory = true
			h.decider.OutOfMemory()
			h.say("trial %d ran out of memory beside others on its GPUs: it is given back", e.Trial)
		}
	}
}

// reap notices that a slot has ended. One that crashed is started again; what it had is handed back.
func (h *hub) reap(s *slot) error {
	if s.child == nil || !s.child.Ended() {
		return nil
	}
	exit := s.child.Exit()
	if err := h.reads(s); err != nil { // what it wrote last
		return err
	}
	h.decider.Ended(s.number)
	left := s.asked == "" && !s.memory
	s.child, s.asked, s.memory = nil, "", false
	if exit.Code == 0 {
		s.gone = left
		return nil
	}
	h.family.KillBut(h.others, h.End) // what its trial left running
	if s.trial != 0 {
		h.endSteps(s.trial, launching)
		s.trial = 0
	}
	if h.crashes++; h.crashes > mostCrash {
		return fmt.Errorf("slot %d ended with exit code %d, and %d ended so before it in this run: see what they printed above", s.number, exit.Code, mostCrash)
	}
	return leaveSlot(h.lane, s.number)
}

// others are the programs that run on when a slot ends.
func (h *hub) others() (spared []*process.Child) {
	for _, s := range h.slots {
		if s.child != nil {
			spared = append(spared, s.child)
		}
	}
	if h.asks != nil {
		spared = append(spared, h.asks.Child())
	}
	return spared
}

// fit starts and ends slots, so that as many trials run as are to.
func (h *hub) fit() error {
	target, first := h.decider.Target()
	var run []*slot
	saving := 0
	for _, s := range h.slots {
		switch {
		case s.child == nil:
		case s.asked != "":
			saving++
			h.retires(s)
		default:
			run = append(run, s)
		}
	}
	for len(run) > target {
		s := last(run, first)
		if err := h.retire(s); err != nil {
			return err
		}
		run = slices.DeleteFunc(run, func(x *slot) bool { return x == s })
		saving++
	}
	if saving > 0 {
		return nil // a trial that begins now would be measured, and run out of memory, beside those that save
	}
	if err := errors.Join(h.tells(crowdFile, target > 1), h.tells(measureFile, h.decider.Trying() > 0)); err != nil {
		return err
	}
	for _, s := range h.slots {
		if len(run) < target && s.child == nil && !s.gone {
			if err := h.start(s); err != nil {
				return err
			}
			run = append(run, s)
		}
	}
	return nil
}

// last chooses the slot that is to end: one without a trial if there is one, else the first of the list.
func last(run []*slot, first []int) *slot {
	return slices.MinFunc(run, func(a, b *slot) int {
		return cmp.Or(slices.Index(first, a.number)-slices.Index(first, b.number), b.number-a.number)
	})
}

// start starts a slot.
func (h *hub) start(s *slot) (err error) {
	if err := os.MkdirAll(slotFolder(h.inner, s.number), 0o700); err != nil {
		return err
	}
	if err := h.unrequest(s); err != nil {
		return err
	}
	if h.passed != nil { // all are to save and go on
		if err := h.ask(s, *h.passed); err != nil {
			return err
		}
	}
	argv := []string{h.Sluice, "lane", fmt.Sprintf("--slot=%d", s.number), "--sweep=" + h.Sweep, "--outbox=" + h.Outbox, "--grace=" + h.Grace.String(), "--"}
	s.child, err = h.family.Start(process.Command{Argv: append(argv, h.Args...), Env: append(slices.Clone(h.Env), besides...), Stdout: h.Stdout, Stderr: h.Stderr})
	return err
}

// retire has a slot save its trial and end, so that another lane goes on with it, or this one later.
func (h *hub) retire(s *slot) error {
	now := h.Now().UTC()
	s.asked, s.since, s.killed = fmt.Sprintf("slot.%d.%d", s.number, now.UnixNano()), now, false
	return h.ask(s, checkpoint.Request{Version: checkpoint.Version, Job: h.job, ID: s.asked, Restarts: h.restarts, Asked: now, Deadline: now.Add(h.Grace),
		Why: "fewer trials are to run on these GPUs"})
}

// retires ends a slot once it has saved, or has not in time.
func (h *hub) retires(s *slot) {
	late := h.Now().Sub(s.since)
	switch {
	case late > h.Grace+2*retireFor:
		s.child.Signal(syscall.SIGKILL)
	case !s.killed && (h.answered(s, s.asked) || late > h.Grace+retireFor):
		s.killed = true
		s.child.Signal(syscall.SIGTERM)
	}
}

// ask writes a request for a slot.
func (h *hub) ask(s *slot, r checkpoint.Request) error {
	return writeIn(slotFolder(h.inner, s.number), checkpoint.RequestFile, r)
}

func (h *hub) unrequest(s *slot) error {
	err := os.Remove(filepath.Join(slotFolder(h.inner, s.number), checkpoint.RequestFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// answered reports whether a slot has saved for a request.
func (h *hub) answered(s *slot, request string) bool {
	var a answered
	return readJSON(slotFolder(h.inner, s.number), answerFile, &a) && a.Request == request
}

// pass passes sluiced's request to this job on to the slots, and answers it once each has saved or ended.
func (h *hub) pass() error {
	r := h.request()
	if h.passed != nil && (r == nil || r.ID != h.passed.ID) { // it was withdrawn
		h.passed, h.replied = nil, false
		for _, s := range h.slots {
			if s.child != nil && s.asked == "" {
				if err := h.unrequest(s); err != nil {
					return err
				}
			}
		}
	}
	if r == nil {
		return nil
	}
	waits, trial := false, 0
	for _, s := range h.slots {
		if s.child == nil {
			continue
		}
		if s.asked != "" { // it saves already, and then ends
			h.retires(s)
			waits = true
			continue
		}
		if h.passed == nil {
			if err := h.ask(s, *r); err != nil {
				return err
			}
		}
		var a answered
		if !readJSON(slotFolder(h.inner, s.number), answerFile, &a) || a.Request != r.ID {
			waits = true
		} else if trial == 0 {
			trial = a.Trial
		}
	}
	h.passed = r
	if waits || h.replied {
		return nil
	}
	h.replied = true
	return h.answer(*r, trial)
}

// stop ends the slots that run, when the job ends: each ends its trial.
func (h *hub) stop() {
	for _, s := range h.slots {
		if s.child != nil {
			s.child.Signal(syscall.SIGTERM)
		}
	}
	until := time.After(2*h.End + time.Second)
	for _, s := range h.slots {
		if s.child == nil {
			continue
		}
		select {
		case <-s.child.Done():
		case <-until:
			return // KillAll ends them
		}
	}
}
