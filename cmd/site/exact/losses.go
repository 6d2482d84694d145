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

// How far a step's loss may be from the reference's: both are means in an order
// that depends on the number of ranks, and training amplifies the difference. A
// single other sample or random number changes a loss by 0.01.
const (
	bound32 = 1e-4  // float32
	bound64 = 1e-12 // float64
)

// record is one line of a job's steps log: a step that was trained.
type record struct {
	restart, step, world int
	loss                 float64
}

// readRecords reads lines "restart epoch step loss world". A last line without
// its end, as a killed program leaves it, is passed over.
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

// readLog reads a steps log; one that is not there yet is empty.
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

// comparison is what a training's log shows beside the reference.
type comparison struct {
	Steps    int // different steps trained
	Repeated int // trained more than once
	Missing  int // of the reference's
	Wrong    int // losses further off than the bound
	Off      float64
	ByWorld  map[int]tally // by number of ranks
	Worlds   []int         // one a run, in order
}

// tally counts the steps trained at one size.
type tally struct {
	Steps int
	Off   float64 // largest difference
}

// compare holds every trained step against the reference's loss.
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

// add takes another training's comparison in; Worlds stay apart.
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
