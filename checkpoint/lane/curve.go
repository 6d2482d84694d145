package lane

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// maxCurve bounds the points of a trial's curve in one start. What comes after is not recorded.
const maxCurve = 10_000

// curve reads what a trial reports.
type curve struct {
	offset   int64 // in the progress log
	output   int64 // in the trial's output
	last     float64
	any      bool
	count    int // points of this start
	hello    bool
	finished bool
	warned   bool
}

// begin skips what earlier starts wrote.
func (c *curve) begin(t *trial) {
	if info, err := os.Stat(filepath.Join(t.folder, checkpoint.ProgressFile)); err == nil {
		c.offset = info.Size()
	}
	if info, err := t.output.Stat(); err == nil {
		c.output = info.Size()
	}
}

// report records what the trial has reported since the last look.
func (t *trial) report() {
	if t.metric != nil {
		t.matches()
	}
	dir, err := checkpoint.OpenDir(t.folder)
	if err != nil {
		return
	}
	defer dir.Close()
	for range 100 {
		lines, next, _, err := dir.Progress(t.curve.offset)
		if err != nil || next == t.curve.offset {
			return
		}
		t.curve.offset = next
		for _, p := range lines {
			if p.Restarts != t.tell.Start-1 {
				continue
			}
			t.passOn(p)
			switch p.Event {
			case "hello":
				t.curve.hello = true
				if t.host != nil {
					t.host.hello = true
				}
			case "finished":
				t.curve.finished = true
			case "progress":
				t.line(p)
			}
		}
	}
}

// epochOf is where on the curve a report is: its epoch, else its step, else the work that is done.
// Of a program that counts nothing each report is the next one.
func (c *curve) epochOf(p checkpoint.Progress) float64 {
	switch {
	case p.HasEpoch:
		return p.Epoch
	case p.HasStep:
		return max(p.Done, float64(p.Step))
	case p.Done > 0 && !(c.any && p.Done <= c.last):
		return p.Done
	}
	return c.last + 1
}

// line records one line of progress.
func (t *trial) line(p checkpoint.Progress) {
	epoch := t.curve.epochOf(p)
	if slices.Contains(p.NaN, t.sweep.Metric.Name) {
		t.bad = fmt.Sprintf("%s is not a finite number at epoch %g", t.sweep.Metric.Name, epoch)
		return
	}
	if value, ok := p.Metric[t.sweep.Metric.Name]; ok && t.metric == nil {
		others := map[string]float64{}
		for name, x := range p.Metric {
			if name != t.sweep.Metric.Name && len(others) < 32 {
				others[name] = x
			}
		}
		t.point(epoch, value, others)
	}
}

// point records one point of the curve. Points are in the order of epochs.
func (t *trial) point(epoch, value float64, others map[string]float64) {
	c := &t.curve
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		t.bad = fmt.Sprintf("%s is not a finite number at epoch %g", t.sweep.Metric.Name, epoch)
		return
	case c.any && epoch <= c.last || c.count >= maxCurve:
		if !c.warned {
			c.warned = true
			fmt.Fprintf(t.Stderr, "sluice: trial %d reported %s of epoch %g after epoch %g: not recorded\n", t.tell.Trial, t.sweep.Metric.Name, epoch, c.last)
		}
		return
	}
	if len(others) == 0 {
		others = nil
	}
	err := t.event(sweep.Event{Kind: sweep.Reported, Trial: t.tell.Trial, Start: t.tell.Start, Epoch: epoch, Value: value, Others: others})
	if err != nil {
		fmt.Fprintf(t.Stderr, "sluice: trial %d: its report could not be recorded: %v\n", t.tell.Trial, err)
		return
	}
	c.any, c.last = true, epoch
	c.count++
}

// maxRead bounds the output that one look reads for the metric.
const maxRead = 4 << 20

// matches finds the metric in the trial's output, by groups named metric and epoch. Without an
// epoch each match is the next one.
func (t *trial) matches() {
	f, err := os.Open(t.output.Name())
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.Seek(t.curve.output, io.SeekStart); err != nil {
		return
	}
	r := bufio.NewReaderSize(io.LimitReader(f, maxRead), 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err == bufio.ErrBufferFull { // no line of a metric
			t.curve.output += int64(len(line))
			continue
		}
		if err != nil {
			return
		}
		t.curve.output += int64(len(line))
		t.match(bytes.TrimRight(line, "\r\n"))
	}
}

func (t *trial) match(line []byte) {
	found := t.metric.FindSubmatch(line)
	if found == nil {
		return
	}
	epoch, value, have := t.curve.last+1, math.NaN(), false
	for i, name := range t.metric.SubexpNames() {
		x, err := strconv.ParseFloat(string(found[i]), 64)
		switch {
		case i == 0 || len(found[i]) == 0 || err != nil:
		case name == "epoch":
			epoch = x
		case name == "metric" || name == "" && !have:
			value, have = x, true
		}
	}
	if have {
		t.point(epoch, value, nil)
	}
}
