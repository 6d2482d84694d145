package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// progress is the progress of long simulations, on one line of a terminal.
type progress struct {
	mu    sync.Mutex
	meter *terminal.Meter
	total int     // simulations
	done  float64 // simulations, with parts
	ended int     // simulations
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
	return &progress{meter: terminal.NewMeter(w), total: total}
}

func (p *progress) of(policy string) *oneProgress { return &oneProgress{all: p, policy: policy} }

// start returns the value for replay.Config.Progress; nil without a terminal.
func (o *oneProgress) start(w workload.Workload) func(int) {
	o.workload, o.jobs = w.Name, max(1, w.Count)
	if !o.all.meter.Shows() {
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
	p.meter.Show(p.done/float64(p.total), p.text(o))
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

// text is "knapsack on w1, 54% of 160 jobs; 2 of 8 done".
func (p *progress) text(o *oneProgress) string {
	text := fmt.Sprintf("%s on %s, %.0f%% of %d jobs", o.policy, o.workload, 100*o.part, o.jobs)
	if p.total > 1 {
		text += fmt.Sprintf("; %d of %d done", p.ended, p.total)
	}
	return text
}

// clear removes the line.
func (p *progress) clear() { p.meter.Clear() }
