package sbatch

import (
	"slices"
	"strings"
)

// Nearest returns the name that was most likely meant: one that differs only in hyphens,
// underscores and case, else the single nearest one within 2 letters added, left out or
// changed (1 for names of up to 4 letters); "" if there is none.
func Nearest(name string, names []string) string {
	name = folded(name)
	best, least, alone := "", 3, true
	if len(name) <= 4 {
		least = 2
	}
	if name == "" {
		return ""
	}
	for _, n := range names {
		switch d := distance(name, folded(n)); {
		case d < least:
			best, least, alone = n, d, true
		case d == least && best != "" && n != best:
			alone = false
		}
	}
	if !alone {
		return ""
	}
	return best
}

func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// suggestion is the option of the table that an unknown name most likely means, among
// sluice's own only if mine is set; "" if there is none.
func suggestion(name string, mine bool) string {
	var names []string
	for _, o := range options {
		if (!mine || o.is == own || o.is == shared) && !slices.Contains(onlyService, o.name) {
			names = append(names, o.name)
		}
	}
	if near := Nearest(name, names); near != "" {
		return "--" + near
	}
	return ""
}

// Misspelt returns, for each unknown option that resembles a known one, a line with the
// suggestion. The option may still be a SPANK plugin's, so call it only after sbatch has
// refused.
func (c CommandLine) Misspelt() []string {
	var out []string
	for _, s := range c.settings {
		if s.name == "" {
			continue
		}
		if known, others := resolve(s.name); known != nil || len(others) > 0 {
			continue
		}
		if near := suggestion(s.name, false); near != "" {
			out = append(out, "--"+printable(s.name)+": did you mean "+near+"?")
		}
	}
	return out
}
