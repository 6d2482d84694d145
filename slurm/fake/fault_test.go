package fake_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

func TestPlansPrintAndParseBack(t *testing.T) {
	for _, text := range []string{
		"",
		"scontrol requeuehold #3: lost-reply",
		"squeue: garbage; at 1m30s: node-down gpu2",
		"after scontrol release #1: user-cancel; launch #2: slow 45s",
		"at 10m0s: forget 5m0s; scontrol update #2: late 7s",
		"at 10s: user-size job=7 gpus=3; scontrol show nodes #4: empty; sbatch #1: down 2m0s",
	} {
		p, err := fake.Parse(text)
		if err != nil || p.String() != text {
			t.Errorf("%q: got %q, %v", text, p, err)
		}
	}
}

func TestPlansThatAreRefused(t *testing.T) {
	for _, text := range []string{
		"squeue", "squeue #0: down 1s", "squeue #x: down 1s", "teleport #1: down 1s", "squeue #1: explode",
		"at noon: down 1s", "at -1s: down 1s", ": down", "squeue #1:", "at 1s: user-cancel job=x",
	} {
		if p, err := fake.Parse(text); err == nil {
			t.Errorf("%q was read as %q", text, p)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("scontrol requeuehold #3: lost-reply; at 90s: node-down gpu2")
	f.Add("after launch #1: slow 1h job=4")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := fake.Parse(text)
		if err != nil {
			return
		}
		again, err := fake.Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q printed as %q, read back as %q (%v)", text, p, again, err)
		}
	})
}

func TestFaultsOfACall(t *testing.T) {
	for plan, tc := range map[string]struct {
		err  error
		done bool
	}{
		"scontrol release #1: lost-reply":                                  {slurm.ErrUnknownOutcome, true},
		"scontrol release #1: lost-request":                                {slurm.ErrUnknownOutcome, false},
		"scontrol release #1: refused":                                     {slurm.ErrRefused, false},
		"scontrol release #1: denied":                                      {slurm.ErrPermission, false},
		"scontrol release #1: garbage":                                     {slurm.ErrGarbage, false},
		"scontrol release #1: down 1m":                                     {slurm.ErrControllerDown, false},
		"after scontrol release #1: down 1m; scontrol release #2: refused": {nil, true},
		"scontrol release #2: refused":                                     {nil, true},
	} {
		t.Run(plan, func(t *testing.T) {
			c := start(t, fake.Config{Faults: fake.MustParse(plan)})
			id := c.submit("--hold", "--gpus=1")
			if err := c.sluice.Release(ctx, id); !errors.Is(err, tc.err) {
				t.Errorf("got %v, want %v", err, tc.err)
			}
			c.Advance(2 * time.Minute)
			if d := c.job(id); d.Held == tc.done {
				t.Errorf("held=%t, want done=%t", d.Held, tc.done)
			}
		})
	}
}

func TestTheUserActsDuringACall(t *testing.T) {
	for plan, want := range map[string]string{
		"scontrol requeuehold #1: user-cancel":                                                         "CANCELLED None",
		"after scontrol requeuehold #1: user-cancel":                                                   "CANCELLED job_requeued_in_held_state",
		"after scontrol requeuehold #1: user-release; after scontrol requeuehold #1: user-size gpus=3": "RUNNING None gpu1:3",
		"scontrol requeuehold #1: user-requeue":                                                        "PENDING BeginTime",
	} {
		c := start(t, fake.Config{RequeueDelay: 30 * time.Second, Faults: fake.MustParse(plan)})
		id := c.submit("--gpus=1")
		c.Advance(time.Second)
		_ = c.sluice.RequeueHold(ctx, id)
		if want == "PENDING BeginTime" {
			c.Advance(20 * time.Second)
		} else {
			c.Advance(60 * time.Second)
		}
		c.shows(id, want)
	}
}

func TestEmptyAnswers(t *testing.T) {
	c := start(t, fake.Config{Faults: fake.MustParse("squeue #1: empty; scontrol show nodes #1: empty")})
	c.submit("--gpus=1")
	for _, want := range []int{0, 1} {
		if jobs, err := c.sluice.Jobs(ctx); err != nil || len(jobs) != want {
			t.Errorf("%d jobs, %v; want %d", len(jobs), err, want)
		}
		if nodes, err := c.sluice.Nodes(ctx); err != nil || len(nodes) != 2*want {
			t.Errorf("%d nodes, %v; want %d", len(nodes), err, 2*want)
		}
	}
}

func TestSlowLaunchAndDrain(t *testing.T) {
	c := start(t, fake.Config{Faults: fake.MustParse("drain #1: slow 40s")})
	id := c.submit("--gpus=1")
	c.Advance(time.Second)
	c.must(c.alice.Cancel(ctx, id))
	c.Advance(40 * time.Second)
	c.shows(id, "UNKNOWN None completing")
	c.Advance(time.Second)
	c.shows(id, "CANCELLED None")
}

func TestANodeFailsDuringAnOutage(t *testing.T) {
	c := start(t, fake.Config{Faults: fake.MustParse("at 10s: down 1m; at 20s: node-down gpu1")})
	id := c.submit("--gpus=1", "-w", "gpu1")
	c.Advance(71 * time.Second)
	c.shows(id, "PENDING BeginTime")
	if d := c.job(id); d.Restarts != 1 || !d.Eligible.Equal(c.Now().Truncate(time.Second).Add(120*time.Second)) {
		t.Errorf("restarts=%d eligible=%s", d.Restarts, d.Eligible)
	}
}

func TestHalfAndStaleAnswers(t *testing.T) {
	c := start(t, fake.Config{Faults: fake.MustParse("squeue #3: half; squeue #4: stale; scontrol show nodes #1: half")})
	a := c.submit("--gpus=1")
	c.submit("--gpus=1")
	for call, want := range []struct {
		jobs  int
		state slurm.State // of the first
	}{{2, slurm.Pending}, {2, slurm.Running}, {1, slurm.Running}, {2, slurm.Running}, {2, slurm.Unknown}} {
		jobs, err := c.sluice.Jobs(ctx)
		if err != nil || len(jobs) != want.jobs || jobs[0].State != want.state {
			t.Errorf("call %d: %d jobs, the first %s; want %+v", call+1, len(jobs), jobs[0].State, want)
		}
		switch call {
		case 0:
			c.Advance(time.Second)
		case 2:
			c.must(c.alice.Cancel(ctx, a)) // the next answer is still the earlier one
		}
	}
	if nodes, _ := c.sluice.Nodes(ctx); len(nodes) != 1 {
		t.Errorf("%d nodes, want 1", len(nodes))
	}
}

func TestEndsAreRemembered(t *testing.T) {
	c := start(t, fake.Config{})
	id := c.submit("--gpus=1")
	c.Advance(time.Second)
	c.must(c.sluice.Cancel(ctx, id))
	c.Advance(time.Hour)
	ends := c.Ends()
	if len(ends) != 1 || ends[0].Job != id || ends[0].State != slurm.Cancelled || ends[0].Why != (fake.Cause{What: fake.CancelledBy, By: "sluice"}) {
		t.Errorf("got %+v", ends)
	}
}

// A slurmctld that loses its latest state: the saved state comes back, jobs submitted
// since are gone, and a run that it does not know of is ended.
func TestForget(t *testing.T) {
	f := fake.New(fake.Config{Nodes: fake.Grid(1, 4), Faults: fake.MustParse("at 1m0s: forget 30s")})
	alice := f.As("alice")
	submit := func(args ...string) slurm.JobID {
		id, _, err := alice.Submit(t.Context(), slurm.Submission{Args: append(args, "--requeue", "--gpus=1"), Stdin: []byte("sleep 600\n")})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	runs, held := submit(), submit("--hold")
	f.Advance(40 * time.Second)
	lost := submit()
	if err := alice.Release(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	f.Advance(10 * time.Second)
	if d, _ := alice.Job(t.Context(), held); d.State != slurm.Running {
		t.Fatalf("%+v", d.Job)
	}
	f.Advance(20 * time.Second)
	if d, err := alice.Job(t.Context(), runs); err != nil || d.State != slurm.Running || d.Restarts != 0 {
		t.Errorf("what ran all the time: %+v, %v", d.Job, err)
	}
	if d, err := alice.Job(t.Context(), held); err != nil || d.State != slurm.Pending || !d.Held {
		t.Errorf("what was released since: %+v, %v", d.Job, err)
	}
	if _, err := alice.Job(t.Context(), lost); !errors.Is(err, slurm.ErrNotFound) {
		t.Errorf("what was handed in since: %v", err)
	}
	if again := submit(); again != lost {
		t.Errorf("the next number is %d, want %d again", again, lost)
	}
}

// A slurmctld that is killed during a long outage, with a stop that it had not saved: it
// ends nothing before it is back. Then the nodes report how the scripts ended, and it
// remembers that for MinJobAge.
func TestForgetInALongOutage(t *testing.T) {
	f := fake.New(fake.Config{Nodes: fake.Grid(1, 4), Faults: fake.MustParse("at 2m0s: forget 1m30s")})
	alice := f.As("alice")
	submit := func(script string) slurm.JobID {
		id, _, err := alice.Submit(t.Context(), slurm.Submission{Args: []string{"--requeue", "--gpus=1"}, Stdin: []byte(script)})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	stopped, done := submit("sleep 7200\n"), submit("sleep 90\n")
	f.Advance(time.Minute)
	if err := alice.RequeueHold(t.Context(), stopped); err != nil {
		t.Fatal(err)
	}
	f.Down(time.Hour)
	f.Advance(time.Hour + 200*time.Second)
	for id, want := range map[slurm.JobID]slurm.State{stopped: slurm.Failed, done: slurm.Completed} {
		if d, err := alice.Job(t.Context(), id); err != nil || d.State != want || d.Restarts != 0 {
			t.Errorf("job %d: %+v, want %s (%v)", id, d.Job, want, err)
		}
	}
}

// A command that is carried out late: its caller got ErrUnknownOutcome.
func TestLate(t *testing.T) {
	f := fake.New(fake.Config{Nodes: fake.Grid(1, 4), Faults: fake.MustParse("scontrol release #1: late 5s")})
	alice := f.As("alice")
	id, _, err := alice.Submit(t.Context(), slurm.Submission{Args: []string{"--hold", "--gpus=1"}, Stdin: []byte("sleep 600\n")})
	if err != nil {
		t.Fatal(err)
	}
	if err := alice.Release(t.Context(), id); !errors.Is(err, slurm.ErrUnknownOutcome) {
		t.Error(err)
	}
	for _, want := range []bool{true, false} {
		if d, err := alice.Job(t.Context(), id); err != nil || d.Held != want {
			t.Errorf("held %t, want %t (%v)", d.Held, want, err)
		}
		f.Advance(6 * time.Second)
	}
}
