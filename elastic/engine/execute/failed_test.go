package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world logs, in order, the changes of Slurm, the journal and jobs' folders, and fails those that the
// test selects.
type world struct {
	slurm.Client
	observe.Mailbox
	did   []string
	fails map[string]error
	word  checkpoint.Runner // what every runner said last
}

func (w *world) do(what string) error {
	w.did = append(w.did, what)
	return w.fails[what]
}

func (w *world) Hold(context.Context, slurm.JobID) error             { return w.do("hold") }
func (w *world) Release(context.Context, slurm.JobID) error          { return w.do("release") }
func (w *world) RequeueRunning(context.Context, slurm.JobID) error   { return w.do("requeue") }
func (w *world) Start(context.Context, slurm.JobID) error            { return w.do("start") }
func (w *world) Defer(context.Context, slurm.JobID, time.Time) error { return w.do("defer") }
func (w *world) Ask(string, checkpoint.Request) error                { return w.do("ask") }
func (w *world) Withdraw(string) error                               { return w.do("withdraw") }
func (w *world) RunnerNow(string, uint32) (checkpoint.Runner, bool, error) {
	return w.word, w.word.State != "", w.fails["runner"]
}

// executor returns an Executor with a running job 7 and these moves of it.
func executor(t *testing.T, moves ...elastic.Intent) (*Executor, *world, []elastic.Intent) {
	t.Helper()
	w, kept := &world{fails: map[string]error{}}, new(journal.Memory)
	x := &Executor{State: track.New(track.Rules{}, kept, func(event.Event) {}), Slurm: w, Journal: kept, Samples: kept, Mail: w}
	js := &track.Job{Rec: journal.JobRecord{Token: "t7", Identity: journal.Identity{ID: 7, Owner: elastic.Owner{UID: 5}, SlurmUID: 5}}}
	x.Remember(js)
	js.Shown.Seen, js.Shown.Slurm = true, slurm.Job{ID: 7, UID: 5, State: slurm.Running}
	opened, err := kept.Intend(t.Context(), moves)
	if err != nil {
		t.Fatal(err)
	}
	kept.Fail = func(op string) error { return w.do(strings.ToLower(op)) }
	x.Open = slices.Clone(opened)
	return x, w, opened
}

// TestFailed: the effect of a failure on its move, and on the other moves of the cycle.
func TestFailed(t *testing.T) {
	for _, c := range []struct {
		name       string
		step       elastic.Step
		a          elastic.Action
		err        error
		keep, down bool
		refused    int // tries of the job that count as refused
		did        []string
	}{
		{"slurmctld is down", elastic.Released, elastic.LetStart{Job: 7}, slurm.ErrControllerDown, true, true, 0, nil},
		{"the daemon stops", elastic.Released, elastic.LetStart{Job: 7}, context.Canceled, true, true, 0, nil},
		{"no time is left", elastic.Released, elastic.LetStart{Job: 7}, context.DeadlineExceeded, true, true, 0, nil},
		{"not answered", elastic.Verified, elastic.Requeue{Job: 7}, slurm.ErrUnknownOutcome, true, false, 0, nil},
		{"wrong state", elastic.Requeued, elastic.LetStart{Job: 7}, slurm.ErrWrongState, true, false, 0, nil},
		{"a refused stop", elastic.Verified, elastic.Requeue{Job: 7}, slurm.ErrRefused, false, false, 0, []string{"close", "withdraw"}},
		{"a begin time that has passed", elastic.Requeued, elastic.Defer{Job: 7}, slurm.ErrRefused, true, false, 0, nil},
		{"a refused write", elastic.Requeued, elastic.Write{Job: 7}, slurm.ErrRefused, false, false, 1, []string{"close"}},
		{"a refused stop of a stopped job", elastic.Requeued, elastic.Requeue{Job: 7}, slurm.ErrRefused, false, false, 0, []string{"close"}},
		{"a denied stop", elastic.Verified, elastic.Requeue{Job: 7}, slurm.ErrPermission, false, false, 0, []string{"close", "withdraw"}},
		{"a denied revival", elastic.Verified, elastic.RequeueFailed{Job: 7}, slurm.ErrPermission, true, false, 0, nil},
		{"a refused revival", elastic.Verified, elastic.RequeueFailed{Job: 7}, slurm.ErrRefused, true, false, 0, nil},
		{"a refused clearing", elastic.Verified, elastic.RequeueLingering{Job: 7}, slurm.ErrRefused, true, false, 0, nil},
		{"a denied clearing", elastic.Verified, elastic.RequeueLingering{Job: 7}, slurm.ErrPermission, true, false, 0, nil},
		{"a refused withdrawal", elastic.Asked, elastic.WithdrawRequest{Job: 7}, slurm.ErrRefused, true, false, 0, nil},
	} {
		x, w, moves := executor(t, elastic.Intent{Job: 7, Kind: elastic.Resize, Step: c.step})
		keep, down := x.failed(t.Context(), moves[0], c.a, fmt.Errorf("scontrol: %w", c.err), noon)
		if keep != c.keep || down != c.down || !slices.Equal(w.did, c.did) {
			t.Errorf("%s: kept %v, down %v, did %v; want %v, %v, %v", c.name, keep, down, w.did, c.keep, c.down, c.did)
		}
		js := x.ByID[7]
		if n := js.Placing.Refused.Start.Times + js.Placing.Refused.Resize.Times; n != c.refused {
			t.Errorf("%s: %d tries count as refused, want %d", c.name, n, c.refused)
		}
		if js.Tells.Problem["move"] == "" {
			t.Errorf("%s: the failure is not logged", c.name)
		}
	}
}

// TestRefusedRevivalOfAClearing: the table repeats the revival of a clearing without end, so a refused
// one closes the move.
func TestRefusedRevivalOfAClearing(t *testing.T) {
	x, w, moves := executor(t, elastic.Intent{Job: 7, Kind: elastic.Clearing, Step: elastic.Verified})
	if keep, down := x.failed(t.Context(), moves[0], elastic.RequeueFailed{Job: 7}, slurm.ErrRefused, noon); keep || down || !slices.Equal(w.did, []string{"close", "withdraw"}) {
		t.Errorf("kept %v, down %v, did %v", keep, down, w.did)
	}
}

// TestCloseFirst: a move is closed in the journal before its request is withdrawn. If the journal
// fails, nothing is withdrawn and the move stays open.
func TestCloseFirst(t *testing.T) {
	for _, c := range []struct {
		fails string
		keep  bool
		did   []string
	}{
		{"", false, []string{"close", "withdraw"}},
		{"close", true, []string{"close"}},
		{"withdraw", false, []string{"close", "withdraw"}}, // withdrawn later, as a chore
	} {
		x, w, moves := executor(t, elastic.Intent{Job: 7, Kind: elastic.Resize, Step: elastic.Asked})
		w.fails[c.fails] = errors.New("disk full")
		next := resize.Next{Intent: moves[0], Close: elastic.Abandoned, Why: reason.NoMoveBehind, Do: []elastic.Action{elastic.WithdrawRequest{Job: 7}}}
		next.Intent.Step = elastic.Confirmed // a step without rows: nothing but the end follows
		stays, keep, _, down := x.closeFirst(t.Context(), moves[0], next, elastic.Job{ID: 7}, noon)
		if keep && stays.Step != elastic.Asked {
			t.Errorf("%q fails: the move stays open at R%d", c.fails, stays.Step)
		}
		if keep != c.keep || down || !slices.Equal(w.did, c.did) {
			t.Errorf("%q fails: kept %v, did %v; want %v, %v", c.fails, keep, w.did, c.keep, c.did)
		}
	}
}

// TestLetGo: the move of a job whose user removed the tag ends once its request is withdrawn and the
// job is not deferred by sluice. If either fails the move stays open, and both are tried again.
func TestLetGo(t *testing.T) {
	deferred := slurm.Job{ID: 7, State: slurm.Pending, Eligible: noon.Add(time.Hour)}
	for _, c := range []struct {
		name  string
		job   slurm.Job
		fails string
		ended bool
		did   []string
	}{
		{"it runs", slurm.Job{ID: 7, State: slurm.Running}, "", true, []string{"withdraw", "close"}},
		{"it is deferred", deferred, "", true, []string{"withdraw", "start", "close"}},
		{"it is held", slurm.Job{ID: 7, State: slurm.Pending, Held: true, Eligible: noon.Add(time.Hour)}, "", true, []string{"withdraw", "close"}},
		{"it cannot be started", deferred, "start", false, []string{"withdraw", "start"}},
		{"its folder cannot be written", deferred, "withdraw", false, []string{"withdraw"}},
		{"the journal fails", deferred, "close", false, []string{"withdraw", "start", "close"}},
	} {
		x, w, moves := executor(t, elastic.Intent{Job: 7, Kind: elastic.Resize, Step: elastic.Asked})
		w.fails[c.fails] = errors.New("no")
		js := x.ByID[7]
		js.Shown.Disown, js.Shown.Slurm = true, c.job
		if ended := x.letGo(t.Context(), js, moves[0], noon); ended != c.ended || !slices.Equal(w.did, c.did) {
			t.Errorf("%s: ended %v, did %v; want %v, %v", c.name, ended, w.did, c.ended, c.did)
		}
	}
}

// TestStillWaits: right before a job is stopped for its move its answer is read again; a job that has
// continued training is not stopped.
func TestStillWaits(t *testing.T) {
	saved := elastic.Saved{Request: "r", Checkpoint: "00000005"}
	running := elastic.Job{ID: 7, Phase: elastic.Running, Saved: saved}
	answered := checkpoint.Runner{State: checkpoint.Waiting, Answer: &checkpoint.Answer{Request: "r", Checkpoint: "00000005"}}
	for _, c := range []struct {
		name  string
		job   elastic.Job
		word  checkpoint.Runner
		fails bool
		stops bool
	}{
		{"it waits", running, answered, false, true},
		{"its folder cannot be read", running, answered, true, false},
		{"it says nothing", running, checkpoint.Runner{}, false, false},
		{"it trains on", running, checkpoint.Runner{State: checkpoint.Training}, false, false},
		{"it answered another request", running, checkpoint.Runner{State: checkpoint.Waiting, Answer: &checkpoint.Answer{Request: "q", Checkpoint: "00000005"}}, false, false},
		{"it has saved again", running, checkpoint.Runner{State: checkpoint.Waiting, Answer: &checkpoint.Answer{Request: "r", Checkpoint: "00000006"}}, false, false},
		{"it does not run", elastic.Job{ID: 7, Phase: elastic.Waiting, Saved: saved}, checkpoint.Runner{}, false, true},
		{"a chore", elastic.Job{ID: 7}, checkpoint.Runner{}, true, true},
	} {
		x, w, _ := executor(t)
		w.word = c.word
		if c.fails {
			w.fails["runner"] = errors.New("no")
		}
		err := x.perform(t.Context(), elastic.Requeue{Job: 7}, c.job, noon)
		if stopped := slices.Equal(w.did, []string{"requeue"}); stopped != c.stops || stopped != (err == nil) {
			t.Errorf("%s: stopped: %v, %v", c.name, stopped, err)
		}
	}
}

// TestASlurmThatIsDownEndsTheCycle: if slurmctld is down no other move is advanced; after any other
// failure the other moves are.
func TestASlurmThatIsDownEndsTheCycle(t *testing.T) {
	for _, c := range []struct {
		err error
		did []string
	}{
		{slurm.ErrControllerDown, []string{"defer"}},
		{errors.New("no"), []string{"defer", "defer"}},
	} {
		stopped := func(id elastic.JobID) elastic.Intent {
			return elastic.Intent{Job: id, Kind: elastic.Resize, Step: elastic.Verified, To: 1, RequeuedAt: noon}
		}
		x, w, moves := executor(t, stopped(7), stopped(8))
		w.fails["defer"] = c.err
		snap := elastic.Snapshot{Now: noon, Jobs: []elastic.Job{{ID: 7, Phase: elastic.Queued}, {ID: 8, Phase: elastic.Queued}}}
		if acted, _ := x.Act(t.Context(), moves, snap, noon); !acted || !slices.Equal(w.did, c.did) || len(x.Open) != 2 {
			t.Errorf("%v: did %v and keeps %d moves, want %v and 2", c.err, w.did, len(x.Open), c.did)
		}
	}
}

// TestAStepFollowsItsEffect: a step is recorded after its effect. If either fails the move stays at its
// step, so that the next cycle repeats the effect.
func TestAStepFollowsItsEffect(t *testing.T) {
	place := nodes.Placement{{Node: "g1", GPUs: 2}}
	for _, c := range []struct {
		fails string
		did   []string
		step  elastic.Step
	}{
		{"", []string{"ask", "advance"}, elastic.Asked},
		{"ask", []string{"ask"}, elastic.Intended},
		{"advance", []string{"ask", "advance"}, elastic.Intended},
	} {
		x, w, moves := executor(t, elastic.Intent{Job: 7, Kind: elastic.Save, Step: elastic.Intended, To: 1, From: place, Target: place, Request: "r"})
		w.fails[c.fails] = errors.New("no")
		snap := elastic.Snapshot{
			Now:   noon,
			Nodes: []nodes.Node{{Name: "g1", GPUs: 4, Usable: true}},
			Jobs:  []elastic.Job{{ID: 7, Phase: elastic.Running, Place: place, Speaks: true}},
		}
		x.Act(t.Context(), moves, snap, noon)
		if !slices.Equal(w.did, c.did) || x.Open[0].Step != c.step {
			t.Errorf("%q fails: did %v and is at R%d, want %v and R%d", c.fails, w.did, x.Open[0].Step, c.did, c.step)
		}
	}
}
