package plan_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// decided is jobs on four nodes of 4 GPUs and where each should be. Jobs are added by at and
// wants, in the order of their ids.
type decided struct {
	s     elastic.Snapshot
	a     elastic.Allocation
	where plan.Arrangement
}

func newDecided() *decided {
	c := &decided{s: elastic.Snapshot{Now: noon}, a: elastic.Allocation{}}
	c.where = plan.Arrangement{Target: map[elastic.JobID]nodes.Placement{}, Park: map[elastic.JobID]bool{}}
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		c.s.Nodes = append(c.s.Nodes, nodes.Node{Name: name, GPUs: 4, Usable: true})
	}
	return c
}

// placed reads "n1:2 n2:1".
func placed(t *testing.T, text string) nodes.Placement {
	t.Helper()
	var p nodes.Placement
	for word := range strings.FieldsSeq(text) {
		share := nodes.Share{}
		if _, err := fmt.Sscanf(strings.Replace(word, ":", " ", 1), "%s %d", &share.Node, &share.GPUs); err != nil {
			t.Fatal(err)
		}
		p = append(p, share)
	}
	return p
}

// job adds a job that is at one place, "" = held, and should be at another.
func (c *decided) job(t *testing.T, at, target string) *elastic.Job {
	t.Helper()
	id := elastic.JobID(len(c.s.Jobs) + 1)
	j := elastic.Job{ID: id, Phase: elastic.Waiting, Place: placed(t, at), Speaks: true, Spec: elastic.Spec{Min: 1, Max: 16}}
	if at != "" {
		j.Phase = elastic.Running
		for _, share := range j.Place {
			n := c.node(share.Node)
			n.Used += share.GPUs
			if len(j.Place) > 1 {
				n.Spanning++
			}
		}
	}
	c.s.Jobs = append(c.s.Jobs, j)
	c.a[id], c.where.Target[id] = elastic.Decision{Why: reason.Text{Text: "so decided"}}, placed(t, target)
	return &c.s.Jobs[len(c.s.Jobs)-1]
}

func (c *decided) node(name string) *nodes.Node { return &c.s.Nodes[name[1]-'1'] }

// opens returns what is opened: "start 1 on n1:2, ...".
func (c *decided) opens() (elastic.Plan, string) {
	p := plan.Reconcile(c.s, c.a, c.where)
	var words []string
	for _, in := range p.Open {
		words = append(words, fmt.Sprintf("%s %d on %s", in.Kind, in.Job, in.Target))
	}
	return p, strings.Join(words, ", ")
}

// TestReconcileRules: which moves are opened, and why no others.
func TestReconcileRules(t *testing.T) {
	for name, tc := range map[string]struct {
		jobs func(*testing.T, *decided)
		want string
		why  []string // of each job; that of a moved one is not compared
	}{
		"an order with a duplicate and a job that no longer exists": {func(t *testing.T, c *decided) {
			c.job(t, "", "n1:4")
			c.job(t, "", "n1:4")
			c.job(t, "", "n1:4")
			c.where.Order = []elastic.JobID{3, 99, 3, 2}
		}, "start 3 on n1:4", []string{"so decided; waits for GPUs on n1:4 to be given back", "so decided; waits for GPUs on n1:4 to be given back", ""}},
		"held by its user before it starts": {func(t *testing.T, c *decided) {
			c.job(t, "", "n1:4").Directive.Hold = true
		}, "", []string{"held; type sluice release to let it start"}},
		"held by its user, through Slurm or sluice, while it runs": {func(t *testing.T, c *decided) {
			c.job(t, "n1:2", "n1:4").UserHold = true
			c.job(t, "n2:2", "n2:4").Directive.Hold = true
			c.job(t, "n3:2", "n3:4")
		}, "resize 3 on n3:4", []string{"held by its user; it runs on, and starts again only when released", "held by its user; it runs on, and starts again only when released"}},
		"a job without nodes is told what keeps them from it": {func(t *testing.T, c *decided) {
			c.job(t, "", "").Kept = reason.Text{Text: "n4 is reserved"}
			c.job(t, "", "")
			c.job(t, "n1:1", "").Kept = reason.Text{Text: "n4 is reserved"}
		}, "", []string{"so decided; n4 is reserved", "so decided", "so decided"}},
		"a job that rests keeps its GPUs, and no more": {func(t *testing.T, c *decided) {
			c.job(t, "", "n1:2").Rest = noon.Add(time.Minute)
			c.job(t, "", "n1:2")
			c.job(t, "", "n1:2")
			c.job(t, "n2:1", "n2:2").Rest = noon.Add(time.Minute)
		}, "start 2 on n1:2, resize 4 on n2:2", []string{"so decided; starts at 12:01:00; until then Slurm may still carry out an earlier stop or hold", "", "so decided; waits for GPUs on n1:2 to be given back"}},
		"a job that waits keeps what is free of its GPUs, and no more": {func(t *testing.T, c *decided) {
			c.node("n2").Used = 3
			c.job(t, "", "n1:2 n2:2")
			c.job(t, "", "n1:2")
			c.job(t, "", "n1:2")
		}, "start 2 on n1:2", nil},
		"enough are between two sizes: its turn comes": {func(t *testing.T, c *decided) {
			c.s.Limits.Moves = 1
			c.job(t, "n3:1", "n3:2")
			c.job(t, "n4:1", "n1:2")
			c.job(t, "", "n1:2")
			c.job(t, "", "n1:2")
		}, "resize 1 on n3:2, start 3 on n1:2", []string{"", "would be resized, but as many resizes as are allowed at once are under way"}},
		"enough of its user's are: nothing is kept for it": {func(t *testing.T, c *decided) {
			c.s.Limits.Moves = 2
			c.job(t, "n3:1", "n3:2")
			c.job(t, "n4:1", "n1:2")
			c.job(t, "n2:1", "n2:1").UID = 1
			c.job(t, "", "n1:2")
			c.job(t, "", "n1:2")
		}, "resize 1 on n3:2, start 4 on n1:2, start 5 on n1:2", []string{"", "would be resized, but as many resizes of its user's jobs as are allowed at once are under way", "so decided"}},
		"an open move keeps its GPUs, and no more": {func(t *testing.T, c *decided) {
			c.job(t, "n2:2", "n1:2")
			c.s.Intents = []elastic.Intent{{Job: 1, Kind: elastic.Resize, Target: placed(t, "n1:2"), Cause: reason.Text{Text: "opened before"}}}
			c.job(t, "", "n1:2")
			c.job(t, "", "n1:2")
		}, "start 2 on n1:2", []string{"opened before", "", "so decided; waits for GPUs on n1:2 to be given back"}},
		"an open move to any nodes keeps none": {func(t *testing.T, c *decided) {
			c.job(t, "n2:2", "n1:4")
			c.s.Intents = []elastic.Intent{{Job: 1, Kind: elastic.Resize, Target: placed(t, "n1:4"), AnyNodes: true, Cause: reason.Text{Text: "opened before"}}}
			c.job(t, "", "n1:4")
		}, "start 2 on n1:4", []string{"opened before"}},
		"a limit of the site holds for those of one decision together": {func(t *testing.T, c *decided) {
			c.job(t, "", "n1:2")
			c.job(t, "", "n2:2")
			c.s.Caps = []elastic.Cap{{Name: "GrpTRES=gres/gpu=3", Of: elastic.GPUs, Most: 3, Jobs: map[elastic.JobID]bool{1: true, 2: true}}}
		}, "start 1 on n1:2", []string{"", "so decided; not now: "}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newDecided()
			tc.jobs(t, c)
			p, got := c.opens()
			if got != tc.want {
				t.Errorf("opened %q, want %q", got, tc.want)
			}
			for i, want := range tc.why {
				if why := sentence(p.Reasons[i].Why); want != "" && why != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(why, want)) {
					t.Errorf("job %d: %q, want %q", i+1, why, want)
				}
			}
			if len(p.Reasons) != len(c.s.Jobs) {
				t.Errorf("%d reasons for %d jobs", len(p.Reasons), len(c.s.Jobs))
			}
		})
	}
}

// TestReconcileRoom: a job's own share of a node counts as free for it, and Slurm's rule
// about jobs over several nodes is kept.
func TestReconcileRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		at, target string
		more       func(*decided, *elastic.Job)
		want       bool
	}{
		"it keeps what it has on a node that takes nothing new": {"n1:2", "n1:2 n2:2", func(c *decided, _ *elastic.Job) { c.node("n1").Usable = false }, true},
		"it does not grow there":                                {"n1:2", "n1:3", func(c *decided, _ *elastic.Job) { c.node("n1").Usable = false }, false},
		"its own CPUs are free for it": {"n1:2", "n1:4", func(c *decided, j *elastic.Job) {
			j.Spec.CPUsPerGPU, c.node("n1").CPUs, c.node("n1").CPUsUsed = 2, 8, 4
		}, true},
		"others' CPUs are not": {"n1:2", "n1:4", func(c *decided, j *elastic.Job) {
			j.Spec.CPUsPerGPU, c.node("n1").CPUs, c.node("n1").CPUsUsed = 2, 8, 5
		}, false},
		"its own memory is free for it": {"n1:2", "n1:4", func(c *decided, j *elastic.Job) {
			j.Spec.MemPerGPUMB, c.node("n1").MemoryMB, c.node("n1").MemUsedMB = 100, 400, 200
		}, true},
		"others' memory is not": {"n1:2", "n1:4", func(c *decided, j *elastic.Job) {
			j.Spec.MemPerGPUMB, c.node("n1").MemoryMB, c.node("n1").MemUsedMB = 100, 400, 201
		}, false},
		"beside another job over several nodes":                     {"", "n1:1 n2:1", spanned, false},
		"beside another one, on one node":                           {"", "n1:1", spanned, true},
		"beside another one, where the site shares nodes":           {"", "n1:1 n2:1", func(c *decided, j *elastic.Job) { spanned(c, j); c.s.Limits.ShareNodes = true }, true},
		"it is beside another one already":                          {"n1:1 n2:1", "n1:2 n2:2", spanned, true},
		"it was on one node, and comes to be on several":            {"n1:1", "n1:1 n2:1", spanned, false},
		"it is on several nodes, and comes to one where another is": {"n2:1 n3:1", "n1:1 n2:1", spanned, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newDecided()
			tc.more(c, c.job(t, tc.at, tc.target))
			if _, got := c.opens(); (got != "") != tc.want {
				t.Errorf("opened %q", got)
			}
		})
	}
}

// spanned puts another job on several nodes, with n1.
func spanned(c *decided, _ *elastic.Job) {
	c.node("n1").Used++
	c.node("n1").Spanning++
}

// TestOpened: the fields of a move that was just opened.
func TestOpened(t *testing.T) {
	c := newDecided()
	c.s.By = "d1"
	c.job(t, "", "n1:2").Incarnation = 3
	j := c.job(t, "n2:1", "n2:2")
	j.Incarnation, j.Restarts = 5, 4
	p, _ := c.opens()
	want := []elastic.Intent{
		{Job: 1, Kind: elastic.Start, Step: elastic.Requeued, To: 4, Target: placed(t, "n1:2"), Cause: reason.Text{Text: "so decided"}, Opened: noon, Moved: noon,
			PendingAt: noon, Request: elastic.RequestID(1, 4, noon, "d1")},
		{Job: 2, Kind: elastic.Resize, Step: elastic.Intended, To: 6, From: placed(t, "n2:1"), Target: placed(t, "n2:2"), Restarts: 4, Cause: reason.Text{Text: "so decided"},
			Opened: noon, Moved: noon, Request: elastic.RequestID(2, 6, noon, "d1")},
	}
	if !reflect.DeepEqual(p.Open, want) {
		t.Errorf("%+v\nwant\n%+v", p.Open, want)
	}
}

// TestRequestsNameTheDaemon: two daemons that open the same move at the same moment use
// different request ids.
func TestRequestsNameTheDaemon(t *testing.T) {
	s := rack(t, "n1:2", "-")
	a := elastic.Allocation{1: {GPUs: 4, Place: at(t, "n2:4")}, 2: {GPUs: 1, Place: at(t, "n1:1")}}
	names := map[string]bool{}
	for _, by := range []string{"", "one", "other"} {
		s.By = by
		for _, in := range plan.Reconcile(s, a, plan.Arrange(s, a)).Open {
			if in.Job == 1 {
				names[in.Request] = true
			}
		}
	}
	if len(names) != 3 {
		t.Error(names)
	}
}
