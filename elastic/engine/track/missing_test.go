package track

import (
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestMissing: live jobs that an answer lacks are queried.
func TestMissing(t *testing.T) {
	st := New(Rules{}, nil, nil)
	for id, change := range map[elastic.JobID]func(*Job){
		1: func(js *Job) { js.Shown.Seen = true },
		2: func(*Job) {},
		3: func(js *Job) { js.Rec.Ended = noon },
		4: func(js *Job) { js.Shown.Disown = true }, // what sluice holds of it is let go of
	} {
		js := &Job{}
		js.Rec.ID, js.Rec.Token = id, string(rune('a'+id))
		change(js)
		st.Remember(js)
	}
	var ids []elastic.JobID
	for _, js := range st.Missing() {
		ids = append(ids, js.Rec.ID)
	}
	if !slices.Equal(ids, []elastic.JobID{2, 4}) {
		t.Errorf("asked about %v, want 2 and 4", ids)
	}
}

// TestSpread: of many missing jobs MaxLookups are queried, jobs with an open move first, the others from
// the whole range.
func TestSpread(t *testing.T) {
	for _, n := range []int{MaxLookups + 1, 100, 1000} {
		missing := make([]*Job, n)
		for i := range missing {
			missing[i] = &Job{}
			missing[i].Rec.ID = elastic.JobID(i)
		}
		for _, moving := range []int{0, 1, 3 * MaxLookups} {
			var open Moves
			for i := range min(moving, n) {
				open = append(open, elastic.Intent{Job: elastic.JobID(n - 1 - i)})
			}
			picked := open.Spread(missing)
			if len(picked) != MaxLookups {
				t.Fatalf("%d of %d are asked about, want %d", len(picked), n, MaxLookups)
			}
			moves := 0
			for _, js := range picked[:MaxLookups/2] {
				if open.has(js.Rec.ID) {
					moves++
				}
			}
			if want := min(moving, MaxLookups/2); moves < want {
				t.Errorf("%d of %d: %d of those that move are asked about, want %d", moving, n, moves, want)
			}
			if last := picked[MaxLookups-1].Rec.ID; int(last) < n/2 || picked[min(moving, MaxLookups/2)].Rec.ID != 0 {
				t.Errorf("%d of %d: from %d to %d, want the whole range", moving, n, picked[min(moving, MaxLookups/2)].Rec.ID, last)
			}
		}
	}
}

// TestShownLate: a job that one answer lacked and a query returns is updated, with the incarnation of its
// comment. A job whose tag was removed is not managed any more.
func TestShownLate(t *testing.T) {
	const own = "sluice/1 id=0123456789abcdef0123456789abcdef inc=4 min=1"
	for _, c := range []struct {
		comment     string
		had         int
		incarnation int
		disown      bool
	}{
		{own, 3, 4, false},
		{own, 5, 5, false},
		{"", 3, 3, true},
		{"mine", 3, 3, true},
		{"sluice/1 id=0123456789abcdef0123456789abcdef inc=9 min=x", 3, 3, false},
	} {
		st, js := New(Rules{}, nil, func(event.Event) {}), killedJob()
		js.Rec.Tag.Incarnation, js.Shown.Seen = c.had, false
		st.Remember(js)
		st.ShownLate(js, slurm.Job{ID: 7, UID: 5, State: slurm.Running, Comment: c.comment}, noon)
		if !js.Shown.Seen || js.Shown.Disown != c.disown || js.Rec.Tag.Incarnation != c.incarnation || js.Shown.Slurm.State != slurm.Running {
			t.Errorf("%q: seen %v, let go of %v, incarnation %d, %s", c.comment, js.Shown.Seen, js.Shown.Disown, js.Rec.Tag.Incarnation, js.Shown.Slurm.State)
		}
	}
}
