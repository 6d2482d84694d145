package digest_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// BenchmarkOf is the digest of as many reports as sluiced keeps of a sweep.
func BenchmarkOf(b *testing.B) {
	s := source(10_000, 200, []string{"lr=log:1e-5:1e-1"}, func(int) string { return "lr=0.1" })
	for b.Loop() {
		digest.Of(s, digest.Query{})
	}
}
