package eligible

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// A waiting job is blocked by its user's begin time and its dependencies.
func TestBlockedBy(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	listed := byNumber([]slurm.Job{
		{ID: 1, State: slurm.Running, Start: at(-time.Minute)}, {ID: 2, State: slurm.Completed, Start: at(-time.Hour)},
		{ID: 3, State: slurm.Failed, Start: at(-time.Hour)}, {ID: 4, State: slurm.Pending}, {ID: 5, State: slurm.Completed, Completing: true}, {ID: 6, State: slurm.Completed, Array: true},
		{ID: 7, State: slurm.Suspended, Start: at(-time.Minute)}, {ID: 8, State: slurm.Failed, Completing: true, Start: at(-time.Minute)}, {ID: 10, State: slurm.Pending, Completing: true, Start: at(-time.Minute)},
	})
	for _, tc := range []struct {
		name, depends string
		begins, shown time.Duration // from now: its user's begin time, and Slurm's
		code          elastic.Block
		on            string
		until         time.Duration
	}{
		{"nothing", "", 0, 0, "", "", 0},
		{"it begins later", "", time.Hour, 2 * time.Hour, elastic.BeginsLater, "", time.Hour},
		{"its begin has passed", "", -time.Second, time.Hour, "", "", 0},
		{"its requeue put it off", "", 0, 2 * time.Minute, "", "", 0},
		{"sluice put it off", "", 0, 7 * 24 * time.Hour, "", "", 0},
		{"sluice put it off, by a clock that was ten years ahead", "", 0, 87600 * time.Hour, "", "", 0},
		{"a job runs", "afterok:1(unfulfilled)", 0, 0, elastic.Depends, "job 1 (afterok)", 0},
		{"a job is done, Slurm says so later", "afterok:2(unfulfilled)", 0, 0, "", "", 0},
		{"a job is done, and it begins later", "afterok:2(unfulfilled)", time.Hour, 0, elastic.BeginsLater, "", time.Hour},
		{"a job failed", "afterok:3(unfulfilled)", 0, 0, elastic.NeverDepends, "job 3 (afterok)", 0},
		{"Slurm says that it failed", "afterok:99(failed)", 0, 0, elastic.NeverDepends, "job 99 (afterok)", 0},
		{"a failure was wanted", "afternotok:3(unfulfilled)", 0, 0, "", "", 0},
		{"none was had", "afternotok:2(unfulfilled)", 0, 0, elastic.NeverDepends, "job 2 (afternotok)", 0},
		{"any end", "afterany:3(unfulfilled)", 0, 0, "", "", 0},
		{"it is being cleaned away", "afterany:5(unfulfilled)", 0, 0, elastic.Depends, "job 5 (afterany)", 0},
		{"an array is Slurm's to judge", "afterany:6(unfulfilled)", 0, 0, elastic.Depends, "job 6 (afterany)", 0},
		{"members of an array, too", "afterok:12_*(unfulfilled)", 0, 0, elastic.Depends, "afterok", 0},
		{"minutes after a start", "after:1+5(unfulfilled)", 0, 0, elastic.Depends, "job 1 (after)", 4 * time.Minute},
		{"after a start", "after:1(unfulfilled)", 0, 0, "", "", 0},
		{"exactly its minutes after a start", "after:1+1(unfulfilled)", 0, 0, "", "", 0},
		{"after the start of a suspended job", "after:7(unfulfilled)", 0, 0, "", "", 0},
		{"minutes after the start of a suspended job", "after:7+5(unfulfilled)", 0, 0, elastic.Depends, "job 7 (after)", 4 * time.Minute},
		{"after the start of a job that completes", "after:8(unfulfilled)", 0, 0, "", "", 0},
		{"after the start of a job that was requeued", "after:10(unfulfilled)", 0, 0, elastic.Depends, "job 10 (after)", 0},
		{"a job not started", "after:4(unfulfilled)", 0, 0, elastic.Depends, "job 4 (after)", 0},
		{"Slurm has forgotten it", "afterok:99(unfulfilled)", 0, 0, elastic.Depends, "job 99 (afterok)", 0},
		{"another of its name", "singleton(unfulfilled)", 0, 0, elastic.Depends, "singleton", 0},
		{"two", "afterok:1(unfulfilled),afterany:4(unfulfilled)", 0, 0, elastic.Depends, "job 1 (afterok) and job 4 (afterany)", 0},
		{"one of two failed", "afterok:1(unfulfilled),afterok:3(unfulfilled)", 0, 0, elastic.NeverDepends, "job 3 (afterok)", 0},
		{"one of two is enough, and there", "afterok:1(unfulfilled)?afterok:2(unfulfilled)", 0, 0, "", "", 0},
		{"one of two is enough, and may come", "afterok:1(unfulfilled)?afterok:3(failed)", 0, 0, elastic.Depends, "job 1 (afterok)", 0},
	} {
		sj, begin := slurm.Job{ID: 9, State: slurm.Pending, Dependency: tc.depends, Eligible: at(tc.shown)}, time.Time{}
		if tc.begins != 0 {
			begin = at(tc.begins)
		}
		got := blockedBy(&sj, begin, listed, func(slurm.Job) bool { return false }, now, time.Time{})
		want := elastic.Blocked{Code: tc.code, On: tc.on}
		if tc.until != 0 {
			want.Until = at(tc.until)
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, want)
		}
	}
}

// TestBeginsBeforeTheClockWasSetBack: a begin time that was reached before the clock was set back does
// not block a job. A later one does. The clocks of two machines may differ.
func TestBeginsBeforeTheClockWasSetBack(t *testing.T) {
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	year := 365 * 24 * time.Hour
	for _, tc := range []struct {
		name          string
		begins, ahead time.Duration
		want          elastic.Block
	}{
		{"its begin lay behind", year, year + time.Minute, ""},
		{"its user put it off", year + time.Hour, year, elastic.BeginsLater},
		{"the clock was not set back", time.Hour, -time.Second, elastic.BeginsLater},
	} {
		// Slurm shows what sluice wrote last, which is later.
		sj := slurm.Job{ID: 9, State: slurm.Pending, Eligible: at(tc.ahead + 2*time.Hour)}
		if got := blockedBy(&sj, at(tc.begins), byNumber(nil), func(slurm.Job) bool { return false }, now, at(tc.ahead)); got.Code != tc.want {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
	l := &Look{Ahead: at(time.Hour), Jobs: []slurm.Job{{State: slurm.Pending, Start: at(year)}}}
	if got := l.clockBefore(); !got.Equal(at(time.Hour)) {
		t.Errorf("the clock was at %s: a pending job's start is a forecast", got)
	}
	l.Jobs[0].State = slurm.Running
	if got := l.clockBefore(); !got.Equal(at(year)) {
		t.Errorf("the clock was at %s", got)
	}
}

// TestOnlyOneOfItsName: of jobs with --dependency=singleton the first may start while no job of its
// name and user runs. Slurm itself checks held jobs only once a minute.
func TestOnlyOneOfItsName(t *testing.T) {
	pending := func(id slurm.JobID, uid uint32, name string) slurm.Job {
		return slurm.Job{ID: id, UID: uid, Name: name, State: slurm.Pending, Dependency: "singleton(unfulfilled)"}
	}
	jobs := []slurm.Job{
		pending(1, 7, "a"), pending(2, 7, "a"), pending(3, 8, "a"),
		{ID: 4, UID: 7, Name: "b", State: slurm.Running}, pending(5, 7, "b"), pending(6, 8, "b"),
		{ID: 7, UID: 7, Name: "c", State: slurm.Completed, Completing: true}, pending(8, 7, "c"),
		{ID: 9, UID: 7, Name: "d", State: slurm.Completed}, pending(10, 7, "d"),
	}
	for _, sj := range jobs {
		if sj.Dependency == "" {
			continue
		}
		starts := blockedBy(&sj, time.Time{}, byNumber(jobs), byName(jobs), time.Time{}, time.Time{}).Code == ""
		if want := slices.Contains([]slurm.JobID{1, 3, 6, 10}, sj.ID); starts != want {
			t.Errorf("job %d starts: %t", sj.ID, starts)
		}
	}
}

// TestUncleared: a job that Slurm still counts on nodes of its last run does not start before it is cleared.
func TestUncleared(t *testing.T) {
	for _, c := range []struct {
		name             string
		uncleared, moves bool
		want             elastic.Blocked
	}{
		{"counted nowhere, or not cleared yet", false, false, elastic.Blocked{}},
		{"cleared in vain", true, false, elastic.Blocked{Code: elastic.Uncleared, On: "g1,g2"}},
		{"it is being cleared", true, true, elastic.Blocked{}},
	} {
		if got := uncleared(&elastic.Job{Uncleared: c.uncleared}, []string{"g1", "g2"}, c.moves); got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
