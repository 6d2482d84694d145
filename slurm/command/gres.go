package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// gpus is a number of GPUs in one of Slurm's ways of writing them.
type gpus struct {
	count int // slices of GPUs among them
	// slices are those of a type that is a MIG profile.
	slices int
	kind   string // the type when there is a single one, else ""
	ids    []int  // indices, where Slurm tells
	// types count the whole GPUs by type, "" where there is none.
	types map[string]int
}

// times is so many times as many, once at least.
func (g gpus) times(n int) gpus {
	g.count *= max(n, 1)
	g.slices *= max(n, 1)
	return g
}

// parseGPUs adds up the GPUs of a list of generic resources and leaves the rest
// out. It reads every form met so far, of requests and of allocations:
//
//	gpu:4              gpu:a100:4          gpu            (20.11, node and job)
//	gres:gpu:a100:4    gres:gpu:4                          (22.05, requests)
//	gres/gpu:a100:4    gres/gpu:4                          (24.11 on)
//	gres/gpu=4,gres/gpu:a100=4                             (tracked resources)
//	gpu:a100:4(S:0-1)  gpu:4(IDX:0-3)  gpu:(null):4(IDX:0-3)
//
// Tracked resources name the total and, beside it, its types: the total counts.
// Where there are whole GPUs and slices of some, the type is that of the whole ones.
func parseGPUs(list string) (gpus, error) {
	var total, tracked gpus
	whole, sliced := map[string]bool{}, map[string]bool{}
	if empty(list) {
		return total, nil
	}
	for _, item := range splitOutside(list) {
		name, kind, n, equals, ids, err := parseGRES(item)
		if err != nil {
			return gpus{}, err
		}
		if name != "gpu" {
			continue
		}
		switch {
		case slurm.Slice(kind):
			sliced[kind] = true
			total.slices += n
		case kind != "":
			whole[kind] = true
			fallthrough
		case !equals:
			if total.types == nil {
				total.types = map[string]int{}
			}
			total.types[kind] += n
		}
		if equals && kind == "" {
			tracked.count = n
			continue
		}
		total.count += n
		total.ids = append(total.ids, ids...)
	}
	if tracked.count > 0 {
		total.count = tracked.count
	}
	kinds := whole
	if total.slices > 0 && total.slices == total.count {
		kinds = sliced
	}
	if len(kinds) == 1 {
		for k := range kinds {
			total.kind = k
		}
	}
	return total, nil
}

// splitOutside cuts at the commas that are not inside parentheses.
func splitOutside(list string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range list {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, list[start:i])
				start = i + 1
			}
		}
	}
	return append(out, list[start:])
}

// parseGRES reads one item: name, type, count, whether the count follows '=',
// and indices.
func parseGRES(item string) (name, kind string, n int, equals bool, ids []int, err error) {
	item = strings.TrimPrefix(strings.TrimPrefix(item, "gres:"), "gres/")
	item = strings.ReplaceAll(item, "(null)", "")
	item, note, _ := strings.Cut(item, "(")
	if ids, err = indices(note); err != nil {
		return
	}
	item, amount, equals := strings.Cut(item, "=")
	parts := strings.Split(item, ":")
	name = parts[0]
	if name != "gpu" {
		return
	}
	rest := parts[1:]
	if !equals {
		amount = "1"
		if len(rest) > 0 && isNumber(rest[len(rest)-1]) {
			amount, rest = rest[len(rest)-1], rest[:len(rest)-1]
		}
	}
	if len(rest) > 1 || !isNumber(amount) {
		err = fmt.Errorf("%q is not a number of GPUs", shorten(item))
		return
	}
	if len(rest) == 1 {
		kind = rest[0]
	}
	n, err = count(amount)
	return name, kind, n, equals, ids, err
}

func isNumber(s string) bool {
	_, ok := digits(s, 1_000_000)
	return ok
}

// maxIndex bounds the indices of one node's GPUs.
const maxIndex = 4096

// indices reads "IDX:0-2,5)", what follows a "("; other notes in parentheses, such as
// the sockets "S:0-1)", have none.
func indices(note string) ([]int, error) {
	list, ok := strings.CutPrefix(note, "IDX:")
	if !ok {
		return nil, nil
	}
	list, ok = strings.CutSuffix(list, ")")
	if !ok {
		return nil, fmt.Errorf("%q has no end", shorten(note))
	}
	var out []int
	for _, part := range strings.Split(list, ",") {
		if empty(part) {
			continue
		}
		low, high, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(low)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(high)
		}
		if err != nil || from < 0 || to < from || to >= maxIndex || len(out) >= maxIndex {
			return nil, fmt.Errorf("%q are not GPU indices", shorten(note))
		}
		for i := from; i <= to; i++ {
			out = append(out, i)
		}
	}
	return out, nil
}
