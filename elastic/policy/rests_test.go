package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestRestingJobsAreJudged: a job that rests is told of its deadline what any other is.
func TestRestingJobsAreJudged(t *testing.T) {
	text, err := os.ReadFile("testdata/deadline-rests.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deadline", "lookahead"} {
		in, _, _ := strings.Cut(strings.Replace(string(text), "policy deadline", "policy "+name, 1), "----\n")
		p, snap, err := parse(in)
		if err != nil {
			t.Fatal(err)
		}
		for id, d := range p.Decide(snap) {
			if !d.Promised || d.Due != elastic.DuePromised || d.Ends.IsZero() {
				t.Errorf("%s: job %d: %+v", name, id, d)
			}
		}
	}
}
