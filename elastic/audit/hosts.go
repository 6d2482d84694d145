package audit

import (
	"fmt"
	"strconv"
	"strings"
)

// maxHosts bounds how many nodes one list may name.
const maxHosts = 1 << 16

// expand lists the nodes of a Slurm host list such as "gpu[1-2,07],login", in
// order. "(null)" and "" are no nodes.
func expand(list string) ([]string, error) {
	if list == "" || list == "(null)" {
		return nil, nil
	}
	var out []string
	for _, part := range splitOutside(list) {
		names, err := expandOne(part)
		if err != nil {
			return nil, err
		}
		if out = append(out, names...); len(out) > maxHosts {
			return nil, fmt.Errorf("host list of more than %d nodes", maxHosts)
		}
	}
	return out, nil
}

// splitOutside splits at the commas outside brackets.
func splitOutside(list string) []string {
	var parts []string
	depth, from := 0, 0
	for i, c := range list {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, list[from:i])
			from = i + 1
		}
	}
	return append(parts, list[from:])
}

// expandOne expands one "name" or "prefix[ranges]". Node names have at most one pair of
// brackets.
func expandOne(part string) ([]string, error) {
	prefix, rest, bracket := strings.Cut(part, "[")
	if !bracket {
		if part == "" || strings.Contains(part, "]") {
			return nil, fmt.Errorf("host list part %q", part)
		}
		return []string{part}, nil
	}
	ranges, suffix, closed := strings.Cut(rest, "]")
	if !closed || strings.ContainsAny(suffix, "[]") {
		return nil, fmt.Errorf("host list part %q", part)
	}
	var out []string
	for _, r := range strings.Split(ranges, ",") {
		low, high, isRange := strings.Cut(r, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.ParseUint(low, 10, 31)
		to, err2 := strconv.ParseUint(high, 10, 31)
		if err1 != nil || err2 != nil || to < from || to-from >= maxHosts || len(out) > maxHosts {
			return nil, fmt.Errorf("host list range %q", r)
		}
		for n := from; n <= to; n++ {
			out = append(out, fmt.Sprintf("%s%0*d%s", prefix, len(low), n, suffix))
		}
	}
	return out, nil
}

// indexes lists the numbers of a bitmap such as "0-2,5".
func indexes(bits string) ([]int, error) {
	if bits == "" {
		return nil, nil
	}
	names, err := expandOne("[" + bits + "]")
	if err != nil {
		return nil, err
	}
	out := make([]int, len(names))
	for i, n := range names {
		if out[i], err = strconv.Atoi(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}
