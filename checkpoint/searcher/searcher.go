package searcher

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// Config describes what a lane does for the program that its sweep asks.
type Config struct {
	Sweep    string // the sweep's folder
	Jobs     string // base of the jobs' folders
	Outbox   string // base of sluiced's folders
	Lane     string // token of this lane
	Restarts int    // of this lane's run
	Number   int64  // of the sweep
	Env      []string
	Family   *process.Family
	Now      func() time.Time
	Complain func(error)
	// Poll is how often files are looked at while nothing is asked. Patience is how long the program
	// may think about an answer. Pause is the time before it is started again after a failure; it
	// doubles with each in a row, up to 64 times.
	Poll, Patience, Pause time.Duration
}

// Searcher asks the program, while its lane is the one that sluiced named.
type Searcher struct {
	Config
	stop  chan struct{}
	over  chan struct{}
	child atomic.Pointer[process.Child]

	folder string
	sweep  sweep.Sweep
	text   []byte // of sweep.json
	space  *space.Space
	turn   sweep.Turn
	script *transcript // nil: this lane is not the one
	news   news
	talk   *talk // nil: the program does not run
	asks   asks
	status sweep.Status
	again  time.Time // when the program is started again

	complained string // of this error: it is not said again at each look
}

// asks is the question that the program has not answered; trial 0 = none.
type asks struct {
	trial   int
	until   time.Time
	refused int // answers to it in a row that were no points of the space
}

// mostRefused bounds the answers to one question that are no points of the space. A sampler that knows
// no constraints draws many.
const mostRefused = 100

// Start begins, in a goroutine of its own. Stop MUST be called.
func Start(c Config) *Searcher {
	supervise.Default(&c.Poll, 100*time.Millisecond)
	supervise.Default(&c.Patience, 10*time.Minute)
	supervise.Default(&c.Pause, time.Second)
	s := &Searcher{Config: c, stop: make(chan struct{}), over: make(chan struct{}), folder: filepath.Join(c.Sweep, sweep.SearcherFolder)}
	go s.run()
	return s
}

// Stop ends the program, whose input ends first. It waits no longer than patience: a file system that
// hangs holds nothing up.
func (s *Searcher) Stop(patience time.Duration) {
	close(s.stop)
	select {
	case <-s.over:
	case <-time.After(patience):
	}
}

// Child is the process of the program; nil if it does not run. Any goroutine may call it.
func (s *Searcher) Child() *process.Child { return s.child.Load() }

func (s *Searcher) run() {
	defer close(s.over)
	defer s.quit()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var lines <-chan line
		var ended <-chan struct{}
		if s.talk != nil {
			lines, ended = s.talk.lines, s.talk.child.Done()
		}
		select {
		case <-s.stop:
			return
		case l, open := <-lines:
			if open {
				s.heard(l)
				break
			}
			s.failed(s.talk.ending("it closed its standard output"))
		case <-ended:
			s.failed(s.talk.ending("it closed its standard output"))
		case <-timer.C:
			s.look()
			timer.Reset(s.Poll)
		}
	}
}

// look reads what is new, tells it, and asks.
func (s *Searcher) look() {
	if !s.refresh() {
		return
	}
	if s.talk == nil && !s.Now().Before(s.again) {
		s.begin()
	}
	if err := s.tell(); err != nil {
		s.complain(err)
		return
	}
	s.complained = ""
	switch {
	case s.talk == nil:
	case s.asks.trial == 0:
		s.ask()
	case s.Now().After(s.asks.until):
		s.failed(fmt.Sprintf("no answer for trial %d within %v", s.asks.trial, s.Patience))
	}
}

// complain says an error once, however many looks it lasts.
func (s *Searcher) complain(err error) {
	if err.Error() != s.complained {
		s.complained = err.Error()
		s.Complain(err)
	}
}

// refresh reads whether this lane is the one that asks, and what the sweep is. False: it is not.
func (s *Searcher) refresh() bool {
	var shown struct {
		Asks sweep.Turn `json:"asks"`
	}
	data, err := read(filepath.Join(s.Outbox, filepath.Base(s.Sweep)), sweep.File)
	if err != nil || json.Unmarshal(data, &shown) != nil {
		return s.script != nil // a file system that fails for a moment changes nothing
	}
	if shown.Asks.Lane != s.Lane || shown.Asks.Restarts != s.Restarts || shown.Asks.Turn < 1 {
		s.quit()
		return false
	}
	if err := s.read(); err != nil {
		s.complain(err)
		return false
	}
	if s.script == nil || s.turn.Turn != shown.Asks.Turn {
		s.quit()
		script, err := openTranscript(s.folder, shown.Asks.Turn)
		if err != nil {
			s.complain(err)
			return false
		}
		s.script, s.news, s.status = script, news{}, sweep.Status{Turn: shown.Asks.Turn}
	}
	s.turn = shown.Asks
	return true
}

// read reads sweep.json. A program that was told of another space is started again.
func (s *Searcher) read() error {
	text, err := read(s.Sweep, sweep.File)
	if err != nil || string(text) == string(s.text) {
		return err
	}
	sw, err := sweep.Parse(text)
	if err != nil {
		return err
	}
	sp, err := space.Parse(sw.Params, sw.Wheres)
	if err != nil {
		return err
	}
	if s.text != nil {
		s.hang()
	}
	s.text, s.sweep, s.space = text, sw, sp
	return nil
}

// begin starts the program and tells it all that there was.
func (s *Searcher) begin() {
	t, err := s.start()
	if err != nil {
		s.failed("it cannot be started: " + err.Error())
		return
	}
	s.talk, s.asks = t, asks{}
	s.child.Store(t.child)
	if err := t.say(s.hello()); err != nil {
		s.failed(err.Error())
		return
	}
	for _, l := range s.script.lines {
		if l.None {
			continue // no line of the protocol: it is only not asked any more
		}
		if err := t.say(said(l)); err != nil {
			s.failed(err.Error())
			return
		}
	}
}

// tell records and tells what is new of the trials.
func (s *Searcher) tell() error {
	list, err := s.news.read(s.Jobs, s.Sweep, s.sweep.Slots(), s.script)
	for _, l := range list {
		if err := s.script.add(l); err != nil {
			s.quit() // it is read anew, without a line that was written in part
			return err
		}
		if s.talk != nil {
			if err := s.talk.say(said(l)); err != nil {
				s.failed(err.Error())
			}
		}
	}
	return err
}

// ask asks for the next point that is wanted. The user's own first points are no questions.
func (s *Searcher) ask() {
	if s.script.none {
		return
	}
	for n := len(s.sweep.Tries) + 1; n <= s.turn.Points; n++ {
		if s.script.points[n] {
			continue
		}
		if err := s.talk.say(event{Event: "ask", Trial: n}); err != nil {
			s.failed(err.Error())
			return
		}
		s.asks = asks{trial: n, until: s.Now().Add(s.Patience)}
		s.note()
		return
	}
}

// quit ends the program: this lane is not the one any more.
func (s *Searcher) quit() {
	s.hang()
	if s.script != nil {
		if err := s.script.close(); err != nil {
			s.Complain(err)
		}
	}
	s.script, s.again = nil, time.Time{}
}

// hang ends the conversation.
func (s *Searcher) hang() {
	if s.talk != nil {
		s.talk.end()
	}
	s.child.Store(nil)
	s.talk, s.asks = nil, asks{}
}

// mostDoublings is how many times the pause before a start doubles.
const mostDoublings = 6

// failed ends the program, which is started again later.
func (s *Searcher) failed(why string) {
	s.hang()
	s.status.Failures++
	s.status.Why = why
	s.again = s.Now().Add(s.Pause << min(s.status.Failures-1, mostDoublings))
	s.note()
}

// note writes the status, for people.
func (s *Searcher) note() {
	s.status.Waits = s.asks.trial
	data, err := json.Marshal(s.status)
	if err == nil {
		err = write(s.folder, sweep.SearcherStatus, append(data, '\n'))
	}
	if err != nil {
		s.Complain(err)
	}
}

// most bounds a file that is read whole, in bytes.
const most = 64 << 20

func read(folder, name string) ([]byte, error) { return checkpoint.ReadIn(folder, name, most) }

func write(folder, name string, data []byte) error {
	return checkpoint.WriteIn(folder, name, data, 0o644)
}
