package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// progress is one line on a terminal with the progress of long simulations. It prints
// nothing in the first second, and nothing without a terminal.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	columns int
	began   time.Time
	shown   time.Time // length of the present line; zero = none
	total   int       // simulations
	done    float64   // simulations, with parts
	ended   int       // simulations
}

// oneProgress is one simulation's part.
type oneProgress struct {
	all      *progress
	policy   string
	workload string
	jobs     int
	part     float64
}

func newProgress(w io.Writer, total int) *progress {
	return &progress{w: w, columns: progressRoom(w), began: time.Now(), total: total}
}

// progressRoom is the width of the terminal, 0 without one. A terminal that does not
// report its width, for example in a container, has the usual 80.
func progressRoom(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col == 0 {
			return 80
		}
	}
	return terminal.Room(w)
}

func (p *progress) of(policy string) *oneProgress { return &oneProgress{all: p, policy: policy} }

// start returns the value for replay.Config.Progress; nil without a terminal.
func (o *oneProgress) start(w workload.Workload) func(int) {
	o.workload, o.jobs = w.Name, max(1, w.Count)
	if o.all.columns == 0 {
		return nil
	}
	return func(ended int) { o.to(ended) }
}

// to records how many jobs have ended.
func (o *oneProgress) to(ended int) {
	p := o.all
	p.mu.Lock()
	defer p.mu.Unlock()
	part := min(1, float64(ended)/float64(o.jobs))
	p.done += part - o.part
	o.part = part
	now := time.Now()
	if now.Sub(p.began) < time.Second || now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	fmt.Fprint(p.w, "\r\x1b[K"+p.line(o, now))
}

// end records that the simulation is over.
func (o *oneProgress) end() {
	p := o.all
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += 1 - o.part
	o.part = 1
	p.ended++
}

// line is "[=======             ]  34%, about 0:12 left  knapsack on w1, 54% of 160 jobs;
// 2 of 8 done". The least important part, cut off on a narrow terminal, is last.
func (p *progress) line(o *oneProgress, now time.Time) string {
	const wide = 20
	all := min(1, p.done/float64(p.total))
	bar := strings.Repeat("=", int(all*wide))
	text := fmt.Sprintf("[%-*s] %3.0f%%", wide, bar, 100*all)
	if all > 0.02 {
		text += fmt.Sprintf(", about %s left", terminal.Clock(time.Duration(float64(now.Sub(p.began))*(1-all)/all)))
	}
	text += fmt.Sprintf("  %s on %s, %.0f%% of %d jobs", o.policy, terminal.Escape(o.workload), 100*o.part, o.jobs)
	if p.total > 1 {
		text += fmt.Sprintf("; %d of %d done", p.ended, p.total)
	}
	return terminal.Cut(text, p.columns-1)
}

// clear removes the line.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = time.Time{}
	}
}
