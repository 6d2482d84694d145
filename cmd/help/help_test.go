package help_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/cmd/help"
)

func TestFold(t *testing.T) {
	long := strings.Repeat("word ", 20)
	for _, tc := range []struct{ what, text, want string }{
		{"short lines stay", "one\ntwo\n\n  three  four\n", "one\ntwo\n\n  three  four\n"},
		{"a paragraph is filled", "a\n" + strings.TrimSpace(long) + "\nb\n", "a " + strings.TrimSpace(strings.Repeat("word ", 15)) + "\n" + strings.Repeat("word ", 5) + "b\n"},
		{"an entry hangs", "  name    " + long, "  name    " + strings.TrimSpace(strings.Repeat("word ", 14)) + "\n          " + strings.TrimSpace(strings.Repeat("word ", 6))},
		{"a long name stands alone", "  " + strings.Repeat("n", 50) + "  " + long, "  " + strings.Repeat("n", 50) + "\n          " +
			strings.TrimSpace(strings.Repeat("word ", 14)) + "\n          " + strings.TrimSpace(strings.Repeat("word ", 6))},
		{"with what stands under it", "  name    " + long + "\n          more\n  next    x", "  name    " + strings.TrimSpace(strings.Repeat("word ", 14)) +
			"\n          " + strings.Repeat("word ", 6) + "more\n  next    x"},
		{"a command stays", "  cmd " + long, "  cmd " + long},
	} {
		if got := help.Fold(tc.text); got != tc.want {
			t.Errorf("%s: got\n%q, want\n%q", tc.what, got, tc.want)
		}
	}
}

// TestFoldLosesNothing: the words are the same, in order, and no line is longer than its
// longest word needs.
func TestFoldLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`( {0,6}[a-zé]{1,30}( {1,3}[a-zé=|]{1,12}){0,30})?`)
		text := strings.Join(rapid.SliceOfN(line, 0, 8).Draw(t, "lines"), "\n")
		got := help.Fold(text)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
			t.Fatalf("%q became %q", text, got)
		}
		if again := help.Fold(got); again != got {
			t.Fatalf("%q is folded again to %q", got, again)
		}
	})
}

func TestNarrow(t *testing.T) {
	root := &cobra.Command{Use: "tool", Long: strings.Repeat("word ", 30)}
	sub := &cobra.Command{Use: "sub", Short: strings.Repeat("short ", 20), Run: func(*cobra.Command, []string) {}}
	sub.Flags().String("option", "", strings.Repeat("what it is for ", 12))
	root.AddCommand(sub)
	help.Narrow(root)
	for _, args := range [][]string{{"--help"}, {"sub", "--help"}} {
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%s", out.String())
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if utf8.RuneCountInString(line) > help.Columns {
				t.Errorf("%q", line)
			}
		}
	}
}
