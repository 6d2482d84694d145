package track

import (
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// TestUnusable: a checkpoint counts if it was verified on request and the next run passed it over as
// invalid; one that the next run resumed from ends the row.
func TestUnusable(t *testing.T) {
	answers := func(run int, name string) runnerWord {
		return runnerWord{ok: true, word: checkpoint.Runner{Restarts: run, State: checkpoint.Waiting, Answer: &checkpoint.Answer{Checkpoint: name}}}
	}
	begins := func(run int, resumed string, skipped ...string) runnerWord {
		return runnerWord{ok: true, word: checkpoint.Runner{Restarts: run, State: checkpoint.Training, Resumed: resumed, Skipped: skipped}}
	}
	chooses := begins(1, "", "b: bad checksum")
	chooses.word.State = checkpoint.Starting
	unheard := begins(1, "a", "b: bad checksum")
	unheard.ok = false
	failed := begins(0, "")
	failed.word.Answer = &checkpoint.Answer{Error: "disk full"}
	for _, c := range []struct {
		name  string
		words []runnerWord
		want  int
	}{
		{"resumed from", []runnerWord{answers(0, "b"), begins(1, "b")}, 0},
		{"passed over", []runnerWord{answers(0, "b"), begins(1, "a", "b: bad checksum")}, 1},
		{"passed over, and nothing was left", []runnerWord{answers(0, "b"), begins(1, "", "b: bad checksum", "a: gone")}, 1},
		{"one run counts once", []runnerWord{answers(0, "b"), begins(1, "a", "b: bad checksum"), begins(1, "a", "b: bad checksum")}, 1},
		{"twice", []runnerWord{answers(0, "b"), begins(1, "a", "b: bad"), answers(1, "c"), begins(2, "a", "c: bad", "b: bad")}, 2},
		{"of the same name twice", []runnerWord{answers(0, "b"), begins(1, "a", "b: bad"), answers(1, "b"), begins(2, "a", "b: bad")}, 2},
		{"once more after a good one", []runnerWord{answers(0, "b"), begins(1, "a", "b: bad"), answers(1, "c"), begins(2, "c", "b: bad"), answers(2, "d"), begins(3, "c", "d: bad")}, 1},
		{"the run that saved it had passed over its name", []runnerWord{begins(1, "a", "b: bad"), answers(1, "b"), begins(1, "a", "b: bad")}, 0},
		{"it was not asked for", []runnerWord{begins(0, ""), begins(1, "a", "b: bad")}, 0},
		{"it could not be saved", []runnerWord{failed, begins(1, "a", "b: bad")}, 0},
		{"a newer one was found", []runnerWord{answers(0, "b"), begins(1, "c", "d: bad")}, 0},
		{"another name that begins with it", []runnerWord{answers(0, "b"), begins(1, "a", "bb: bad")}, 0},
		{"the run has not chosen yet", []runnerWord{answers(0, "b"), chooses}, 0},
		{"the status is of an earlier run", []runnerWord{answers(0, "b"), unheard}, 0},
	} {
		var u unusable
		for _, w := range c.words {
			u.heard(w)
		}
		if u.times != c.want {
			t.Errorf("%s: %d, want %d", c.name, u.times, c.want)
		}
	}
}

// TestTryAgain: an order of its user's forgets refusals and unusable checkpoints.
func TestTryAgain(t *testing.T) {
	js := killedJob()
	js.rescue.unusable.times, js.Placing.Refused.Start.Times = 2, 3
	if st := New(Rules{}, nil, nil); st.JobOf(js, noon).Unusable != 2 {
		t.Error("a snapshot does not have the count")
	}
	if TryAgain(js); js.rescue.unusable.times != 0 || js.Placing.Refused.Start.Times != 0 {
		t.Errorf("%+v, %+v", js.rescue.unusable, js.Placing.Refused)
	}
}
