package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestRestingJobsAreJudged: the deadline of a job that rests after a resize is judged as any
// other.
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

// TestFirstJobsAreJudgedAsTheyGrow: a job that has not completed a checkpoint starts at its
// minimum, and is admitted if it meets its deadline once it has grown; not if the deadline is
// too near for that.
func TestFirstJobsAreJudgedAsTheyGrow(t *testing.T) {
	for _, name := range []string{"deadline", "lookahead", "annealing"} {
		for due, want := range map[string]bool{"700s": true, "320s": false} {
			p, snap, err := parse("policy " + name + "\nnode n1 gpus=4\njob 1 total=100 curve=10/5/3.4/2.5 price=10s due=" + due)
			if err != nil {
				t.Fatal(err)
			}
			j := &snap.Jobs[0]
			j.Unproven, j.Grown, j.Spec = true, j.Spec, j.Spec.AtMinimum()
			d := p.Decide(snap)[1]
			if started := d.GPUs == 1; d.Promised != want || started != want || !want && d.Due != elastic.DueUnmet {
				t.Errorf("%s, due in %s: %+v", name, due, d)
			}
		}
	}
}
