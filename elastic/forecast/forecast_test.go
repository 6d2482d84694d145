package forecast_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/forecast"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/policy/policytest"
	"github.com/sluice-hpc/sluice/nodes"
)

var now = policytest.Now

// by decides as the daemon does, with the policy of that name.
func by(name string) forecast.Decide {
	p, err := policy.ByName(name)
	if err != nil {
		panic(err)
	}
	return func(s elastic.Snapshot) elastic.Plan {
		a := p.Decide(s)
		return plan.Reconcile(s, a, plan.Arrange(s, a))
	}
}

// linear is a speed that is proportional to the GPUs: one unit takes seconds on one.
func linear(seconds float64) *speed.Curve {
	return speed.Known(func(split []int) float64 {
		n := 0
		for _, g := range split {
			n += g
		}
		return seconds / float64(n)
	})
}

// cluster has so many nodes of 4 GPUs.
func cluster(n int) (out []nodes.Node) {
	for i := range n {
		out = append(out, nodes.Node{Name: fmt.Sprintf("n%d", i+1), Partitions: []string{"gpu"}, GPUs: 4, Usable: true, CPUs: 64})
	}
	return out
}

func waiting(id int, most int, units float64) elastic.Job {
	return elastic.Job{ID: elastic.JobID(id), Partition: "gpu", Phase: elastic.Waiting, Speaks: true, Submitted: now.Add(time.Duration(id) * time.Second),
		Spec: elastic.Spec{Min: 1, Max: most, Total: units}, Curve: linear(100), Price: elastic.Price{Start: 20 * time.Second, Measured: 1}}
}

func project(s elastic.Snapshot, policy string) forecast.Projection {
	return forecast.Project(context.Background(), s, by(policy), forecast.Bounds{})
}

// A single job starts at once, at its largest size, and ends when its work and its start take that long.
func TestOneJob(t *testing.T) {
	s := elastic.Snapshot{Now: now, Nodes: cluster(1), Jobs: []elastic.Job{waiting(1, 4, 40)}, Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	p := project(s, "lookahead")
	j := p.Jobs[0]
	want := now.Add(20*time.Second + 1000*time.Second)
	if p.Stop != forecast.Complete || !j.Starts.Equal(now) || !j.Ends.Equal(want) || j.Unknown != forecast.Known {
		t.Errorf("%+v", p)
	}
	if len(j.Segments) != 2 || !j.Segments[0].Moves || j.Segments[1].GPUs != 4 || !j.Segments[1].To.Equal(want) {
		t.Errorf("%+v", j.Segments)
	}
	if j.Low.After(j.Ends) || j.High.Before(j.Ends) || j.Sure <= 0.5 || j.Sure > 1 {
		t.Errorf("%v to %v, sure %v", j.Low, j.High, j.Sure)
	}
	if s.Jobs[0].Phase != elastic.Waiting || s.Nodes[0].Used != 0 {
		t.Error("the snapshot was changed")
	}
}

// The next job of a queue starts when the first ends, and is less sure.
func TestQueue(t *testing.T) {
	s := elastic.Snapshot{Now: now, Nodes: cluster(1), Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	for id := range 3 {
		j := waiting(id+1, 4, 40)
		j.Spec.Min = 4
		s.Jobs = append(s.Jobs, j)
	}
	p := project(s, "fcfs")
	for i, j := range p.Jobs {
		if i == 0 {
			continue
		}
		before := p.Jobs[i-1]
		if wait := j.Starts.Sub(before.Ends); wait < 0 || wait > time.Minute {
			t.Errorf("job %d starts %v after the one before ends", j.ID, wait)
		}
		if j.Sure >= before.Sure || j.Unknown != forecast.Known {
			t.Errorf("job %d: %+v is not less sure than %v", j.ID, j, before.Sure)
		}
		if j.Segments[0].GPUs != 0 {
			t.Errorf("job %d does not wait at first: %+v", j.ID, j.Segments)
		}
	}
}

// What is not known is said, and why.
func TestUnknown(t *testing.T) {
	free := waiting(1, 1, 40)
	held := waiting(2, 1, 40)
	held.Directive.Hold = true
	endless := waiting(3, 1, 0)
	unmeasured := waiting(4, 1, 40)
	unmeasured.Curve = nil
	depends := waiting(5, 1, 40)
	depends.Blocked = elastic.Blocked{Code: elastic.Depends, On: "job 12"}
	begins := waiting(6, 1, 40)
	begins.Blocked = elastic.Blocked{Code: elastic.BeginsLater, Until: now.Add(time.Hour)}
	limited := waiting(7, 1, 0)
	limited.TimeLimit = 30 * time.Minute
	huge := waiting(8, 1, 40)
	huge.Spec.Min, huge.Spec.Max = 64, 64
	s := elastic.Snapshot{Now: now, Nodes: cluster(3), Jobs: []elastic.Job{free, held, endless, unmeasured, depends, begins, limited, huge}, Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	p := project(s, "fcfs")
	want := []forecast.Unknown{forecast.Known, forecast.Held, forecast.NoTotal, forecast.NoSpeed, forecast.Held, forecast.Known, forecast.Known, forecast.Waits}
	for i, j := range p.Jobs {
		if j.Unknown != want[i] || (j.Unknown == forecast.Known) == j.Ends.IsZero() {
			t.Errorf("job %d: %q, ends %v; want %q", j.ID, j.Unknown, j.Ends, want[i])
		}
	}
	if at := p.Jobs[5].Starts; at.Before(now.Add(time.Hour)) || at.After(now.Add(70*time.Minute)) {
		t.Errorf("the job with a begin time starts at %v", at)
	}
	if j := p.Jobs[6]; !j.Limit || !j.Ends.Equal(j.Starts.Add(30*time.Minute)) {
		t.Errorf("the job with a time limit alone: %+v", j)
	}
}

// Ordinary jobs free their GPUs when their time limits end.
func TestTenants(t *testing.T) {
	s := elastic.Snapshot{Now: now, Nodes: cluster(1), Jobs: []elastic.Job{waiting(1, 4, 40)}, Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	s.Nodes[0].Used = 4
	s.Tenants = []elastic.Tenant{{ID: 9, Place: nodes.Placement{{Node: "n1", GPUs: 4}}, Ends: now.Add(time.Hour)}}
	if j := project(s, "lookahead").Jobs[0]; j.Starts.Before(now.Add(time.Hour)) || j.Starts.After(now.Add(70*time.Minute)) {
		t.Errorf("%+v", j)
	}
}

// An open move is taken as made, for what is left of its price.
func TestOpenMove(t *testing.T) {
	j := waiting(1, 4, 40)
	j.Phase, j.Place, j.Started = elastic.Running, nodes.Placement{{Node: "n1", GPUs: 1}}, now.Add(-time.Hour)
	s := elastic.Snapshot{Now: now, Nodes: cluster(1), Jobs: []elastic.Job{j}, Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	s.Nodes[0].Used = 1
	s.Intents = []elastic.Intent{{Job: 1, Kind: elastic.Resize, Step: elastic.Asked, From: j.Place, Target: nodes.Placement{{Node: "n1", GPUs: 4}}, Opened: now.Add(-5 * time.Second)}}
	p := project(s, "lookahead").Jobs[0]
	if want := now.Add(15*time.Second + 1000*time.Second); !p.Ends.Equal(want) || !p.Starts.IsZero() {
		t.Errorf("ends %v, want %v: %+v", p.Ends, want, p)
	}
}

// A job that its time limit ends while it is between two sizes has no segment that ends before it begins.
func TestLimitWithinAMove(t *testing.T) {
	j := waiting(1, 4, 40)
	j.TimeLimit, j.Price.Start = 10*time.Second, 20*time.Second
	s := elastic.Snapshot{Now: now, Nodes: cluster(1), Jobs: []elastic.Job{j}, Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	got := project(s, "lookahead").Jobs[0]
	if !got.Limit || !got.Ends.Equal(now.Add(10*time.Second)) || len(got.Segments) != 1 || !got.Segments[0].Moves || !got.Segments[0].To.Equal(got.Ends) {
		t.Errorf("%+v", got)
	}
}

// The bounds hold; what runs then ends at its size, half as sure.
func TestBounds(t *testing.T) {
	s := policytest.Site{Nodes: 8, PerNode: 4, Jobs: 40, Waiting: 20}.Snapshot()
	full := project(s, "knapsack")
	cut := forecast.Project(context.Background(), s, by("knapsack"), forecast.Bounds{Steps: 2})
	if cut.Stop != forecast.Steps || cut.Steps != 2 || full.Stop != forecast.Complete {
		t.Errorf("%q after %d steps, %q", cut.Stop, cut.Steps, full.Stop)
	}
	soon := forecast.Project(context.Background(), s, by("knapsack"), forecast.Bounds{Horizon: time.Minute})
	if soon.Stop != forecast.Horizon || soon.Until.After(now.Add(time.Minute)) {
		t.Errorf("%q until %v", soon.Stop, soon.Until)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if none := forecast.Project(ctx, s, by("knapsack"), forecast.Bounds{}); none.Stop != forecast.Cut || none.Steps != 0 || len(none.Jobs) != 40 {
		t.Errorf("%q after %d steps", none.Stop, none.Steps)
	}
}

// For any cluster and policy: no node has more GPUs in use than it has, at no time; each job's segments
// follow each other without gaps from the beginning to its end; what is sure is between 0 and 1; the
// order of the jobs is kept, and a job's end lies between low and high.
func TestInvariants(t *testing.T) {
	names := []string{"lookahead", "knapsack", "fcfs", "ef", "deadline", "srpt"}
	rapid.Check(t, func(t *rapid.T) {
		jobs := rapid.IntRange(1, 14).Draw(t, "jobs")
		site := policytest.Site{Nodes: rapid.IntRange(1, 5).Draw(t, "nodes"), PerNode: 4, Jobs: jobs, Waiting: rapid.IntRange(0, jobs).Draw(t, "waiting"), Fitted: rapid.Bool().Draw(t, "fitted")}
		s := site.Snapshot()
		for i := range s.Jobs {
			if rapid.IntRange(0, 5).Draw(t, "limit") == 0 {
				s.Jobs[i].TimeLimit = time.Duration(rapid.IntRange(1, 1000).Draw(t, "minutes")) * time.Minute
				s.Jobs[i].TimeLeft = s.Jobs[i].TimeLimit
			}
		}
		p := forecast.Project(context.Background(), s, by(rapid.SampledFrom(names).Draw(t, "policy")), forecast.Bounds{Steps: 60})
		if len(p.Jobs) != jobs {
			t.Fatalf("%d jobs of %d", len(p.Jobs), jobs)
		}
		var edges []time.Time
		for i, j := range p.Jobs {
			if j.ID != s.Jobs[i].ID {
				t.Fatalf("job %d at the place of %d", j.ID, s.Jobs[i].ID)
			}
			checkJob(t, p, j)
			for _, g := range j.Segments {
				edges = append(edges, g.From)
			}
		}
		total := 4 * site.Nodes
		for _, at := range edges {
			used := 0
			for _, j := range p.Jobs {
				for _, g := range j.Segments {
					if !g.From.After(at) && (g.To.IsZero() || g.To.After(at)) && at.Before(p.Until) {
						used += g.GPUs
					}
				}
			}
			if used > total {
				t.Fatalf("%d of %d GPUs are in use at %v", used, total, at)
			}
		}
	})
}

func checkJob(t *rapid.T, p forecast.Projection, j forecast.Job) {
	at := p.At
	for i, g := range j.Segments {
		if !g.From.Equal(at) || !g.To.IsZero() && !g.To.After(g.From) && g.To.Before(g.From) || g.Sure < 0 || g.Sure > 1 {
			t.Fatalf("job %d, segment %d: %+v, want it to begin at %v", j.ID, i, g, at)
		}
		if g.To.IsZero() && i < len(j.Segments)-1 {
			t.Fatalf("job %d: segment %d has no end", j.ID, i)
		}
		at = g.To
	}
	if j.Ends.IsZero() != (j.Unknown != forecast.Known) || math.IsNaN(j.Sure) || j.Sure < 0 || j.Sure > 1 {
		t.Fatalf("%+v", j)
	}
	if !j.Ends.IsZero() && (j.Low.After(j.Ends) || j.High.Before(j.Ends) || j.Ends.Before(p.At) || !j.Segments[len(j.Segments)-1].To.Equal(j.Ends)) {
		t.Fatalf("%+v", j)
	}
}

// A change is tried on a copy: a job that ends makes room, a pin is kept, a hold keeps a waiting job from
// starting, and a later deadline keeps an admission.
func TestChange(t *testing.T) {
	first, second := waiting(1, 4, 400), waiting(2, 4, 40)
	first.Spec.Min, first.Phase, first.Place, first.Started = 4, elastic.Running, nodes.Placement{{Node: "n1", GPUs: 4}}, now.Add(-time.Hour)
	first.Promised, first.Spec.Deadline = true, now.Add(10*time.Hour)
	s := elastic.Snapshot{Now: now, Nodes: cluster(1), Jobs: []elastic.Job{first, second}, Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	s.Nodes[0].Used = 4
	before := project(s, "fcfs")
	after := project(forecast.Change{Job: 1, End: true}.In(s), "fcfs")
	if len(after.Jobs) != 1 || !after.Jobs[0].Ends.Before(before.Jobs[1].Ends) || !after.Jobs[0].Starts.Equal(now) {
		t.Errorf("without the first: %+v, with it %+v", after.Jobs, before.Jobs)
	}
	if s.Nodes[0].Used != 4 || len(s.Jobs) != 2 {
		t.Error("the snapshot was changed")
	}
	if j := project(forecast.Change{Job: 2, Hold: true}.In(s), "fcfs").Jobs[1]; j.Unknown != forecast.Held {
		t.Errorf("held: %+v", j)
	}
	pinned := project(forecast.Change{Job: 2, Pin: 2}.In(s), "lookahead").Jobs[1]
	if !slices.ContainsFunc(pinned.Segments, func(g forecast.Segment) bool { return g.GPUs == 2 }) {
		t.Errorf("pinned to 2: %+v", pinned)
	}
	for _, c := range []struct {
		change forecast.Change
		want   bool
	}{{forecast.Change{Job: 1, Deadline: now.Add(11 * time.Hour)}, true}, {forecast.Change{Job: 1, Deadline: now.Add(9 * time.Hour)}, false}, {forecast.Change{Job: 1, NoDeadline: true}, false}} {
		if got := c.change.In(s).Jobs[0]; got.Promised != c.want || !got.Spec.Deadline.Equal(c.change.Deadline) {
			t.Errorf("%+v: %+v", c.change, got)
		}
	}
	if got := (forecast.Change{Job: 77, End: true}).In(s); len(got.Jobs) != 2 {
		t.Error("a job that is not there was ended")
	}
}
