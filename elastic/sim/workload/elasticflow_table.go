package workload

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Throughput is the measured speed of a model at a global batch, by the number of
// GPUs; a unit of work is an iteration. It does not change, and one pointer stands
// for one speed.
type Throughput struct {
	Model string
	Batch int
	sizes []int     // that can run, ascending
	took  []float64 // seconds an iteration
}

// Seconds returns the time of an iteration on the split; +Inf on a number of GPUs
// that was not measured or did not run.
func (t *Throughput) Seconds(split []int) float64 {
	if i, ok := slices.BinarySearch(t.sizes, total(split)); ok {
		return t.took[i]
	}
	return math.Inf(1)
}

// Sizes returns the numbers of GPUs it can run on, ascending.
func (t *Throughput) Sizes() []int { return slices.Clone(t.sizes) }

// below returns the largest size not above n, or the smallest.
func (t *Throughput) below(n int) int {
	i, hit := slices.BinarySearch(t.sizes, n)
	if !hit {
		i = max(0, i-1)
	}
	return t.sizes[i]
}

// readThroughputs reads a table by global batch. A batch that ran on no number of
// GPUs is left out.
func readThroughputs(path string) (map[int]*Throughput, error) {
	t, err := readTable(path, "global_batch_size")
	if err != nil {
		return nil, err
	}
	sizes, err := t.sizes()
	if err != nil {
		return nil, err
	}
	model, rows := strings.TrimSuffix(filepath.Base(path), ".csv"), map[int]*Throughput{}
	seen := map[int]bool{}
	for t.next() {
		row := &Throughput{Model: model, Batch: t.whole("global_batch_size", 1, maxBatch)}
		if seen[row.Batch] {
			t.bad("global_batch_size", "this batch has a row already")
		}
		seen[row.Batch] = true
		for _, n := range sizes {
			if rate := t.rate(strconv.Itoa(n)); rate > 0 {
				row.sizes, row.took = append(row.sizes, n), append(row.took, 1/rate)
			}
		}
		if len(row.sizes) > 0 {
			rows[row.Batch] = row
		}
	}
	return rows, t.err
}

// sizes returns the numbers of GPUs among the columns, ascending.
func (t *table) sizes() ([]int, error) {
	var sizes []int
	for _, name := range t.names {
		if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= wideGPUs && strconv.Itoa(n) == name {
			sizes = append(sizes, n)
		}
	}
	slices.Sort(sizes)
	if len(sizes) == 0 || len(slices.Compact(slices.Clone(sizes))) < len(sizes) {
		return nil, fmt.Errorf("%s:1: want a column for each number of GPUs, such as 1,2,4; it has %s", t.path, strings.Join(t.names, ","))
	}
	return sizes, nil
}

// rate returns a cell in iterations/s; 0 where the job cannot run.
func (t *table) rate(name string) float64 {
	if text := t.text(name); text == "" || strings.EqualFold(text, "nan") || text == "0" {
		return 0
	}
	return t.number(name, 0, 1e6)
}
