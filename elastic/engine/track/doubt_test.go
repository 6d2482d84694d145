package track

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// tokenOf is a token that a comment may have.
func tokenOf(n int) string { return fmt.Sprintf("%032x", n) }

// commented returns job 7 of user 5 as it waits or runs with a token, requeued once an hour after noon.
func commented(token int, restarts int) slurm.Job {
	return slurm.Job{ID: 7, UID: 5, State: slurm.Running, Restarts: restarts, Submit: noon.Add(time.Hour), Start: noon.Add(time.Hour),
		Comment: fmt.Sprintf("sluice/1 id=%s inc=2 min=1", tokenOf(token))}
}

// recorded returns a state that knows job 7 of user 5, submitted at noon with token 1, from its store only.
func recorded() (*State, *Job) {
	st := New(Rules{}, nil, func(event.Event) {})
	js := &Job{Rec: journal.JobRecord{Token: tokenOf(1), Identity: journal.Identity{ID: 7, Owner: elastic.Owner{UID: 5}, SlurmUID: 5}, Life: journal.Life{Submitted: noon}}}
	st.Remember(js)
	return st, js
}

// TestWhichJobHasANumber: a known number with another token and one more restart is the recorded job, unless the
// runner in the folder of that token says that it runs this number, and said so last.
func TestWhichJobHasANumber(t *testing.T) {
	word := func(job int64, restarts int, beat time.Duration) observe.Word {
		return observe.Word{OK: true, Runner: checkpoint.Runner{Job: job, Restarts: restarts, Beat: noon.Add(beat)}}
	}
	none, hangs := observe.Word{}, observe.Word{Err: &observe.Unanswered{Since: noon}}
	for _, c := range []struct {
		name            string
		record, comment observe.Word
		want            string
	}{
		{"it runs there", word(7, 0, 10*time.Minute), word(7, 1, 61*time.Minute), "another"},
		{"... and nothing is left of the recorded one", none, word(7, 1, 61*time.Minute), "another"},
		{"... whose folder has the status of another job", word(8, 3, 70*time.Minute), word(7, 1, 61*time.Minute), "another"},
		{"it was requeued, and did not run again yet", word(7, 0, 10*time.Minute), word(7, 0, 59*time.Minute), "another"},
		{"slurmctld forgot a restart", word(7, 0, 10*time.Minute), word(7, 2, 61*time.Minute), "another"},
		{"the recorded one runs", word(7, 1, 61*time.Minute), word(7, 1, 10*time.Minute), "recorded"},
		{"no script runs there", word(7, 1, 61*time.Minute), none, "recorded"},
		{"another number runs there", word(7, 0, 10*time.Minute), word(8, 1, 61*time.Minute), "recorded"},
		{"an earlier run of the number was there", none, word(7, 0, -time.Hour), "another"},
		{"the folder is another user's", word(7, 0, 10*time.Minute), observe.Word{Err: checkpoint.ErrOwner}, "recorded"},
		{"it hangs", word(7, 0, 10*time.Minute), hangs, "unknown"},
		{"that of the recorded one hangs", hangs, word(7, 1, 61*time.Minute), "unknown"},
		{"... and no script runs there", hangs, none, "recorded"},
	} {
		st, js := recorded()
		sj := commented(2, 1)
		doubts := Doubts(st, []slurm.Job{sj})
		if boxes := BoxesOfDoubts(doubts); len(boxes) != 2 || boxes[0].Token != tokenOf(1) || boxes[1].Token != tokenOf(2) || boxes[1].SlurmUID != 5 {
			t.Fatalf("%s: asks for %v", c.name, boxes)
		}
		SettleDoubts(doubts, []observe.Word{c.record, c.comment}, noon.Add(2*time.Hour))
		got := "recorded"
		switch {
		case !js.Mail.unreadSince(noon.Add(2 * time.Hour)).IsZero():
			got = "unknown"
		case !js.is(sj):
			got = "another"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		st.Match([]slurm.Job{sj}, map[observe.Box]error{}, noon.Add(2*time.Hour))
		if again := Doubts(st, []slurm.Job{sj}); len(again) > 0 != (got == "unknown") {
			t.Errorf("%s: %d doubts in the next look", c.name, len(again))
		}
		if later := st.ByID[7]; (later.Rec.Token == tokenOf(2)) != (got == "another") || Another(js, sj) != (got == "another") {
			t.Errorf("%s: the job on record has token %s", c.name, later.Rec.Token)
		}
	}
}

// TestWhatIsNotDoubted: no folder is read unless a number may have gone to another job.
func TestWhatIsNotDoubted(t *testing.T) {
	for name, c := range map[string]struct {
		job    slurm.Job
		change func(*State, *Job)
	}{
		"its own token":        {commented(1, 1), func(*State, *Job) {}},
		"no restart":           {commented(2, 0), func(*State, *Job) {}},
		"it was seen with it":  {commented(2, 1), func(_ *State, js *Job) { js.Shown.Slurm = commented(1, 1) }},
		"another user":         {commented(2, 1), func(_ *State, js *Job) { js.Rec.SlurmUID = 6 }},
		"a known job's token":  {commented(2, 1), func(st *State, _ *Job) { st.Jobs[tokenOf(2)] = &Job{} }},
		"it followed a doubt":  {commented(2, 1), func(_ *State, js *Job) { js.Shown.doubt.follows = true }},
		"no comment of sluice": {slurm.Job{ID: 7, UID: 5, Restarts: 1, Submit: noon.Add(time.Hour)}, func(*State, *Job) {}},
	} {
		st, js := recorded()
		c.change(st, js)
		if got := Doubts(st, []slurm.Job{c.job}); len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestADoubtEnds: once the folders answer, or the comment has the recorded token again, the job is no longer Unread; and
// the job that took its number is not doubted in turn.
func TestADoubtEnds(t *testing.T) {
	now := noon.Add(2 * time.Hour)
	hangs := []observe.Word{{Err: &observe.Unanswered{Since: noon}}, {Err: errors.New("EIO")}}
	hangs[1] = hangs[0]
	st, js := recorded()
	SettleDoubts(Doubts(st, []slurm.Job{commented(2, 1)}), hangs, now)
	st.Match([]slurm.Job{commented(2, 1)}, nil, now)
	if js.Mail.unreadSince(now).IsZero() {
		t.Fatal("it is not doubted")
	}
	if got := Doubts(st, []slurm.Job{commented(1, 1)}); len(got) > 0 || !js.Mail.unreadSince(now).IsZero() {
		t.Errorf("with its own token again: %+v", got)
	}
	st, _ = recorded()
	SettleDoubts(Doubts(st, []slurm.Job{commented(2, 1)}), hangs, now)
	st.Match([]slurm.Job{commented(2, 1)}, nil, now)
	SettleDoubts(Doubts(st, []slurm.Job{commented(2, 1)}), []observe.Word{{}, {OK: true, Runner: checkpoint.Runner{Job: 7, Restarts: 1}}}, now)
	st.Match([]slurm.Job{commented(2, 1)}, nil, now)
	next := commented(3, 2)
	next.Submit = next.Submit.Add(time.Minute)
	if js := st.ByID[7]; js.Rec.Token != tokenOf(2) || len(Doubts(st, []slurm.Job{next})) > 0 {
		t.Errorf("the job on record has token %s", js.Rec.Token)
	}
}
