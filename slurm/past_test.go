package slurm_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestLastRun: which of the runs that accounting has under a number is the last one of
// the job in sluice's record. Times are in seconds.
func TestLastRun(t *testing.T) {
	at := func(s int) time.Time {
		if s == 0 {
			return time.Time{}
		}
		return time.Unix(int64(1_000_000+s), 0)
	}
	run := func(state slurm.State, submit, start, end int) slurm.PastRun {
		return slurm.PastRun{ID: 7, UID: 1000, State: state, Submit: at(submit), Start: at(start), End: at(end)}
	}
	of := func(uid uint32, r slurm.PastRun) slurm.PastRun { r.UID = uid; return r }
	const requeued, never = slurm.Pending, 0
	for name, c := range map[string]struct {
		runs  []slurm.PastRun
		known int
		want  int // index of the run; -1 = none
	}{
		"nothing on record": {nil, 100, -1},
		"ran when last seen, and ended": {[]slurm.PastRun{
			run(slurm.Failed, 90, 100, 500)}, 110, 0},
		"waited when last seen, and was cancelled": {[]slurm.PastRun{
			run(slurm.Cancelled, 90, never, 500)}, 90, 0},
		"still runs there": {[]slurm.PastRun{
			run(slurm.Running, 90, 100, never)}, 110, -1},
		"was requeued twice, in any order": {[]slurm.PastRun{
			run(slurm.Completed, 430, 440, 600), run(requeued, 90, 100, 300), run(requeued, 310, 320, 430)}, 110, 0},
		"was requeued, and waits": {[]slurm.PastRun{
			run(requeued, 90, 100, 300), run(slurm.Pending, 300, never, never)}, 110, -1},
		"a node failed, and what was left took its time": {[]slurm.PastRun{
			run(slurm.NodeFail, 90, 100, 300), run(slurm.Completed, 420, 430, 600)}, 110, 1},
		"a node failed, and that was all": {[]slurm.PastRun{
			run(slurm.NodeFail, 90, 100, 300)}, 110, 0},
		"an earlier run failed, and was brought back": {[]slurm.PastRun{
			run(slurm.Failed, 90, 100, 200), run(slurm.Completed, 230, 240, 500)}, 250, 1},
		"an earlier run failed, and accounting has no more": {[]slurm.PastRun{
			run(slurm.Failed, 90, 100, 200)}, 250, -1},
		"the number was given to its user's next job": {[]slurm.PastRun{
			run(slurm.Cancelled, 90, 100, 300), run(slurm.Completed, 310, 320, 400)}, 110, 0},
		"the number was given again, and the first job's end was not seen": {[]slurm.PastRun{
			run(slurm.Running, 90, 100, never), run(slurm.Completed, 310, 320, 400)}, 110, -1},
		"the first left no trace": {[]slurm.PastRun{
			run(slurm.Completed, 310, 320, 400)}, 110, -1},
		"the number was another user's": {[]slurm.PastRun{
			of(1001, run(slurm.Completed, 90, 100, 300))}, 110, -1},
		"and is another user's since": {[]slurm.PastRun{
			run(slurm.Failed, 90, 100, 300), of(1001, run(slurm.Completed, 300, 301, 400))}, 110, 0},
		"so short that its user is missing": {[]slurm.PastRun{
			of(0, run(slurm.Failed, 90, 91, 91))}, 90, 0},
		"the clocks differ by a second": {[]slurm.PastRun{
			run(slurm.Failed, 91, 91, 92)}, 90, 0},
		"long ago": {[]slurm.PastRun{
			run(slurm.Completed, 10, 11, 12)}, 110, -1},
	} {
		got, ok := slurm.LastRun(c.runs, 1000, at(c.known))
		switch {
		case ok != (c.want >= 0):
			t.Errorf("%s: %+v, %v", name, got, ok)
		case ok && got.Submit != c.runs[c.want].Submit:
			t.Errorf("%s: submitted %v, want run %d", name, got.Submit, c.want)
		}
	}
}
