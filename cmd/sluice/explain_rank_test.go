package main

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestRankLine: a user learns which part of the priority puts another job first.
func TestRankLine(t *testing.T) {
	for _, c := range []struct {
		rank *wire.Rank
		want string
	}{
		{nil, ""},
		{&wire.Rank{Place: 1, Of: 1, Priority: 1200}, "1 of 1 that wait, by priority: 1200"},
		{&wire.Rank{Place: 2, Of: 3, Priority: 1240, Age: 40, Before: &wire.Before{JobID: 17, Priority: 5010, Age: 10}},
			"2 of 3 that wait, by priority: 1240 (1200 by Slurm, 40 for its age)\n" +
				"job 17 before it has 5010 (5000 by Slurm, 10 for its age): Slurm's own part is higher (fair share, QOS, partition, nice; see sshare, sprio -w)"},
		{&wire.Rank{Place: 2, Of: 2, Priority: 1240, Age: 40, Before: &wire.Before{Priority: 1260, Age: 60}},
			"2 of 2 that wait, by priority: 1240 (1200 by Slurm, 40 for its age)\n" +
				"the job before it has 1260 (1200 by Slurm, 60 for its age): it is older"},
		{&wire.Rank{Place: 2, Of: 2, Priority: 7, Before: &wire.Before{JobID: 17, Priority: 7}},
			"2 of 2 that wait, by priority: 7\njob 17 before it has 7: it came first"},
	} {
		if got := rankLine(c.rank); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}
