package workload

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// SplitTable is a job's speeds written down split by split. Tables read from one
// file are the same pointer when they say the same.
type SplitTable struct {
	at   map[string]float64 // by canonical split: "4", "2+2"; seconds a unit
	text string             // canonical, for comparing
}

const (
	maxEntries = 100_000 // of a table
	maxNodes   = 1024    // of a split in a table
)

// NewSplitTable returns the table of seconds a unit for splits such as "1", "4"
// (one node) or "4+2" (two nodes, in any order). A split that is not listed is as
// fast as the same number of GPUs on one node, when that is listed; else the job
// cannot run on it. The error names the entry that is wrong.
func NewSplitTable(seconds map[string]float64) (*SplitTable, error) {
	if len(seconds) == 0 || len(seconds) > maxEntries {
		return nil, fmt.Errorf("%d splits: want 1 to %d", len(seconds), maxEntries)
	}
	t := &SplitTable{at: make(map[string]float64, len(seconds))}
	keys := make([]string, 0, len(seconds))
	for text := range seconds {
		keys = append(keys, text)
	}
	slices.Sort(keys)
	for _, text := range keys {
		split, err := parseSplit(text)
		if err != nil {
			return nil, err
		}
		v := seconds[text]
		if !(v > 0) || v > 1e12 {
			return nil, fmt.Errorf("split %q takes %v s a unit: want a number above 0, at most 1e12", text, v)
		}
		key := string(splitKey(nil, split))
		if _, twice := t.at[key]; twice {
			return nil, fmt.Errorf("split %q comes twice; the order of nodes does not matter", key)
		}
		t.at[key] = v
	}
	t.text = t.canonical()
	return t, nil
}

func parseSplit(text string) ([]int, error) {
	parts := strings.Split(text, "+")
	if len(parts) > maxNodes {
		return nil, fmt.Errorf("a split over %d nodes: want at most %d", len(parts), maxNodes)
	}
	split := make([]int, len(parts))
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > 1_000_000 {
			return nil, fmt.Errorf("split %q: want GPUs on each node such as 4 or 4+2", cutName(text))
		}
		split[i] = n
	}
	return split, nil
}

// splitKey appends the split's key: larger shares first.
func splitKey(to []byte, split []int) []byte {
	var few [64]int
	sorted := append(few[:0], split...)
	slices.Sort(sorted)
	for i := len(sorted) - 1; i >= 0; i-- {
		if len(to) > 0 {
			to = append(to, '+')
		}
		to = strconv.AppendInt(to, int64(sorted[i]), 10)
	}
	return to
}

// Seconds returns the time of a unit on the split; +Inf when the table has
// neither the split nor its GPUs on one node.
func (t *SplitTable) Seconds(split []int) float64 {
	var few [128]byte
	if s, ok := t.at[string(splitKey(few[:0], split))]; ok {
		return s
	}
	gpus := 0
	for _, g := range split {
		gpus += g
	}
	if s, ok := t.at[string(strconv.AppendInt(few[:0], int64(gpus), 10))]; ok {
		return s
	}
	return math.Inf(1)
}

func (t *SplitTable) canonical() string {
	keys := make([]string, 0, len(t.at))
	for k := range t.at {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%s=%v,", k, t.at[k])
	}
	return b.String()
}

// pools keep one copy of what many jobs of a file have in common.
type pools struct {
	texts  map[string]string
	lists  map[string][]int
	values map[Speeds]Speeds
	tables map[string]*SplitTable
}

func newPools() pools {
	return pools{map[string]string{}, map[string][]int{}, map[Speeds]Speeds{}, map[string]*SplitTable{}}
}

func (p pools) text(s string) string {
	if s == "" {
		return ""
	}
	if old, ok := p.texts[s]; ok {
		return old
	}
	s = strings.Clone(s)
	p.texts[s] = s
	return s
}

func (p pools) sizes(list []int) []int {
	if len(list) == 0 {
		return nil
	}
	key := fmt.Sprint(list)
	if old, ok := p.lists[key]; ok {
		return old
	}
	p.lists[key] = list
	return list
}

func (p pools) speeds(s Speeds) Speeds {
	if old, ok := p.values[s]; ok {
		return old
	}
	p.values[s] = s
	return s
}

func (p pools) table(t *SplitTable) *SplitTable {
	if old, ok := p.tables[t.text]; ok {
		return old
	}
	p.tables[t.text] = t
	return t
}
