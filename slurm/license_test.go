package slurm

import (
	"slices"
	"testing"
)

func TestLicenseNames(t *testing.T) {
	for text, want := range map[string][]string{
		"":                    nil,
		"matlab":              {"matlab"},
		"matlab:2,stata@db:1": {"matlab", "stata@db"},
		"matlab:2|stata@db:1": {"matlab", "stata@db"},
		",matlab:1,":          {"matlab"},
	} {
		if got := LicenseNames(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
