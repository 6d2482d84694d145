package exact

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// Maximum difference between a step's loss and the reference's: both are means in an
// order that depends on the number of ranks, and training amplifies the difference. A
// single different sample or random number changes a loss by 0.01.
const (
	bound32 = 1e-4  // float32
	bound64 = 1e-12 // float64
)

// record is one line of a job's log of steps: a step that was trained.
type record struct {
	restart, step, world int
	loss                 float64
}

// readRecords reads lines "restart epoch step loss world". An unfinished last line, as a
// killed program leaves it, is skipped.
func readRecords(r io.Reader, perEpoch int) ([]record, error) {
	in := bufio.NewReader(r)
	var list []record
	for {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		rec, err := parseRecord(line, perEpoch)
		if err != nil {
			return list, fmt.Errorf("steps log, line %d: %w", len(list)+1, err)
		}
		list = append(list, rec)
	}
}

func parseRecord(line string, perEpoch int) (record, error) {
	f := strings.Fields(line)
	if len(f) != 5 {
		return record{}, fmt.Errorf("%q: want 5 fields", strings.TrimSpace(line))
	}
	var n [4]int
	for i, at := range []int{0, 1, 2, 4} {
		v, err := strconv.Atoi(f[at])
		if err != nil || v < 0 {
			return record{}, fmt.Errorf("%q: field %d is no count", strings.TrimSpace(line), at+1)
		}
		n[i] = v
	}
	loss, err := strconv.ParseFloat(f[3], 64)
	if err != nil {
		return record{}, fmt.Errorf("%q: field 4 is no loss", strings.TrimSpace(line))
	}
	return record{restart: n[0], step: n[1]*perEpoch + n[2], world: n[3], loss: loss}, nil
}

// readLog reads a log of steps; a missing one is empty.
func readLog(path string, perEpoch int) ([]record, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRecords(f, perEpoch)
}

// comparison is the result of comparing a training's log with the reference.
type comparison struct {
	Steps    int // different steps trained
	Repeated int // steps trained more than once
	Missing  int // steps of the reference
	Wrong    int // losses that differ by more than the bound
	Off      float64
	ByWorld  map[int]tally // by number of ranks
	Worlds   []int         // one per run, in order
}

// tally counts the steps trained at one size.
type tally struct {
	Steps int
	Off   float64 // largest difference
}

// compare compares every trained step with the reference's loss.
func compare(log []record, reference []float64, bound float64) comparison {
	c := comparison{ByWorld: map[int]tally{}}
	times := make([]int, len(reference))
	restart := -1
	for _, r := range log {
		if r.restart != restart {
			restart = r.restart
			c.Worlds = append(c.Worlds, r.world)
		}
		if r.step >= len(reference) {
			c.Wrong++
			continue
		}
		times[r.step]++
		off := math.Abs(r.loss - reference[r.step])
		if !(off <= bound) { // NaN is wrong
			c.Wrong++
		}
		w := c.ByWorld[r.world]
		c.ByWorld[r.world] = tally{Steps: w.Steps + 1, Off: math.Max(w.Off, off)}
		c.Off = math.Max(c.Off, off)
	}
	for _, n := range times {
		switch {
		case n == 0:
			c.Missing++
		default:
			c.Steps++
			c.Repeated += n - 1
		}
	}
	return c
}

// add adds another training's comparison; Worlds stay separate.
func (c *comparison) add(d comparison) {
	c.Steps, c.Repeated, c.Missing, c.Wrong = c.Steps+d.Steps, c.Repeated+d.Repeated, c.Missing+d.Missing, c.Wrong+d.Wrong
	c.Off = math.Max(c.Off, d.Off)
	if c.ByWorld == nil {
		c.ByWorld = map[int]tally{}
	}
	for world, t := range d.ByWorld {
		sum := c.ByWorld[world]
		c.ByWorld[world] = tally{Steps: sum.Steps + t.Steps, Off: math.Max(sum.Off, t.Off)}
	}
}
