package etc

import (
	"slices"
	"strconv"
	"strings"
)

// Partition is a site's settings for one of Slurm's partitions.
type Partition struct {
	Edge   bool   // pool = "edge"
	Policy string // "" = the policy of [policy]
}

// ofPartitions are the sections [partition.NAME].
var ofPartitions = named[Partition]{
	kind: "partition", what: "partition", in: func(c *Config) *map[string]Partition { return &c.Partition },
	keys: []namedKey[Partition]{
		word("pool", []string{"main", "edge"}, func(p *Partition, s string) { p.Edge = s == "edge" }, func(p Partition) string {
			if p.Edge {
				return "edge"
			}
			return "main"
		}),
		word("policy", append([]string{""}, policies...), func(p *Partition, s string) { p.Policy = s }, func(p Partition) string { return p.Policy }),
	},
}

// word makes a key whose value is one of some words.
func word[T any](name string, words []string, set func(*T, string), get func(T) string) namedKey[T] {
	return namedKey[T]{name, oneOf(words), func(to *T, raw any) bool {
		s, isText := raw.(string)
		if !isText || !slices.Contains(words, s) {
			return false
		}
		set(to, s)
		return true
	}, func(of T) string { return quote(get(of)) }}
}

// oneOf is "one of "a", "b" or "c"".
func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	last := len(quoted) - 1
	return "one of " + strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
