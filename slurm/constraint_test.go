package slurm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/slurm"
)

// nodesOf are the nodes among gpu1 and gpu2 (fast, a, x) and gpu3 (slow, a, y) that each
// alternative accepts.
func nodesOf(c slurm.Constraint) string {
	var out []string
	for i := range c.Alternatives() {
		var names []string
		for _, n := range []struct {
			name     string
			features []string
		}{{"gpu1", []string{"fast", "a", "x"}}, {"gpu2", []string{"fast", "a", "x"}}, {"gpu3", []string{"slow", "a", "y"}}} {
			if c.Accepts(i, n.features) {
				names = append(names, n.name)
			}
		}
		out = append(out, strings.Join(names, ","))
	}
	return strings.Join(out, " ")
}

// TestConstraints: how Slurm 20.11, 22.05, 24.11 and 26.05 all read these, as
// slurm/conform checks.
func TestConstraints(t *testing.T) {
	for text, want := range map[string]string{
		"fast":                   "gpu1,gpu2",
		"fast&a":                 "gpu1,gpu2",
		"fast,slow":              "",
		"fast|slow":              "gpu1,gpu2,gpu3",
		"nosuch|y":               "gpu3",
		"slow|fast&x":            "gpu1,gpu2", // from left to right
		"slow|fast&y":            "gpu3",
		"fast&x|y":               "gpu1,gpu2,gpu3",
		"slow|(fast&y)":          "gpu3",
		"y&(slow|fast)":          "gpu3",
		"(slow|fast)&x&(y|a)":    "gpu1,gpu2",
		"(slow&y)|(fast&x)":      "gpu1,gpu2,gpu3",
		"(fast)":                 "gpu1,gpu2",
		"[fast]":                 "gpu1,gpu2",
		"[fast|slow]":            "gpu1,gpu2 gpu3",
		"[fast|a]":               "gpu1,gpu2 gpu1,gpu2,gpu3",
		"[fast|slow]&x":          "gpu1,gpu2 ",
		"a&[fast|slow]":          "gpu1,gpu2 gpu3",
		"[(slow&y)|(fast&y)]&a":  "gpu3 ",
		"nosuch|a&[fast|nosuch]": "gpu1,gpu2 ",
	} {
		c, err := slurm.ParseConstraint(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := nodesOf(c); got != want {
			t.Errorf("%s accepts %q, want %q", text, got, want)
		}
	}
}

func TestConstraintErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "column 1: a feature is missing at the end",
		"fast&":                   "column 6: a feature is missing at the end",
		"|fast":                   "column 1: a feature is missing before '|'",
		"fast*2":                  "column 5: a node count is not supported",
		"[fast*1&slow*1]":         "column 6: a node count is not supported",
		"fast slow":               `column 5: ' ' where "&" or "|" should join two features`,
		"!fast":                   "column 1: a feature is missing before '!'",
		"((fast))":                "column 2: parentheses within parentheses",
		"(fast":                   "column 1: '(' without ')'",
		"fast)":                   "column 5: ')' without its beginning",
		"()":                      "column 2: a feature is missing before ')'",
		"[fast|slow":              "column 1: '[' without ']'",
		"a&[fast&x|slow]":         `column 8: alternatives in brackets can only be joined by "|"`,
		"[a|b]&[x|y]":             "column 7: only one pair of brackets is allowed",
		"a|[fast|slow]":           `column 3: brackets can only be joined by "&"`,
		"[fast|slow]|a":           `column 12: brackets can only be joined by "&"`,
		"[fast|slow]&a|b":         `column 14: brackets can only be joined by "&"`,
		"fast\x00":                `column 5: '\x00' where`,
		strings.Repeat("a", 5000): "column 4097: longer than 4096 bytes",
	} {
		_, err := slurm.ParseConstraint(text)
		var at *slurm.ConstraintError
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// TestConstraintsMeanWhatTheySay tests the parser on generated constraints whose meaning
// is known from how they were made.
func TestConstraintsMeanWhatTheySay(t *testing.T) {
	names := []string{"a", "b", "c-1", "gpu:80", "x.y"}
	rapid.Check(t, func(t *rapid.T) {
		features := rapid.SliceOfDistinct(rapid.SampledFrom(names), func(s string) string { return s }).Draw(t, "features")
		name := func() (string, bool) {
			n := rapid.SampledFrom(names).Draw(t, "name")
			return n, slices.Contains(features, n)
		}
		chain := func(item func() (string, bool)) (string, bool) {
			text, so := item()
			for range rapid.IntRange(0, 3).Draw(t, "more") {
				join := rapid.SampledFrom([]string{"&", ",", "|"}).Draw(t, "join")
				next, has := item()
				if text += join + next; join == "|" {
					so = so || has
				} else {
					so = so && has
				}
			}
			return text, so
		}
		item := func() (string, bool) {
			if !rapid.Bool().Draw(t, "parentheses") {
				return name()
			}
			text, so := chain(name)
			return "(" + text + ")", so
		}
		before, so := chain(item)
		text, want := before, []bool{so}
		if rapid.Bool().Draw(t, "brackets") {
			var parts []string
			want = nil
			for range rapid.IntRange(1, 3).Draw(t, "alternatives") {
				part, has := item()
				parts, want = append(parts, part), append(want, so && has)
			}
			behind, has := item()
			text = fmt.Sprintf("%s&[%s]&%s", before, strings.Join(parts, "|"), behind)
			for i := range want {
				want[i] = want[i] && has
			}
		}
		c, err := slurm.ParseConstraint(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if c.Alternatives() != len(want) {
			t.Fatalf("%s: %d alternatives, want %d", text, c.Alternatives(), len(want))
		}
		for i := range want {
			if got := c.Accepts(i, features); got != want[i] {
				t.Fatalf("%s, alternative %d: %t on a node with %v", text, i, got, features)
			}
		}
	})
}

func FuzzParseConstraint(f *testing.F) {
	for _, seed := range []string{"", "fast", "a&b|c", "(a|b)&c", "[a|b]&(c&d)", "a*2", "[(a&b)|c", "a,b", "((a))", "[a]|b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := slurm.ParseConstraint(text)
		var at *slurm.ConstraintError
		if err != nil && (!errors.As(err, &at) || at.Column < 1 || at.Column > len(text)+1 || at.Reason == "") {
			t.Fatalf("%q: %v", text, err)
		}
		if err == nil && (text == "" || c.Alternatives() < 1) {
			t.Fatalf("%q has %d alternatives", text, c.Alternatives())
		}
		for i := range c.Alternatives() {
			c.Accepts(i, []string{"a", "b"})
		}
	})
}
