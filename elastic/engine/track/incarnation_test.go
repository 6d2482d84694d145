package track

import (
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
)

// TestIncarnationOfItsRun: the next incarnation that only a job's run knows of is not given again. A runner's status is the
// user's own file: it moves the count by no more than one move of sluiced could have, and not where an open move gives it.
func TestIncarnationOfItsRun(t *testing.T) {
	for _, c := range []struct {
		name        string
		known, told int
		ok          bool
		open        Moves
		want        int
	}{
		{"the run knows the next", 1, 2, true, nil, 2},
		{"an older move is open", 1, 2, true, Moves{{Job: 7, To: 1}}, 2},
		{"the open move gives it", 1, 2, true, Moves{{Job: 7, To: 2}}, 1},
		{"another job's move gives it", 1, 2, true, Moves{{Job: 8, To: 2}}, 2},
		{"no status", 1, 2, false, nil, 1},
		{"as known", 2, 2, true, nil, 2},
		{"an earlier run", 3, 2, true, nil, 3},
		{"a number that no move gave", 1, 1 << 40, true, nil, 1},
	} {
		js := &Job{}
		js.Rec.ID, js.Rec.Tag = elastic.JobID(7), elastic.Tag{Incarnation: c.known}
		js.Mail.runner = runnerWord{ok: c.ok, word: checkpoint.Runner{Incarnation: c.told}}
		c.open.reached(js)
		if got := js.Rec.Tag.Incarnation; got != c.want || js.Dirty != (c.want != c.known) {
			t.Errorf("%s: incarnation %d, to be stored: %v; want %d", c.name, got, js.Dirty, c.want)
		}
	}
}
