package plan_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestCapsOfOneDecision: a move that Slurm would leave pending is not opened, given what others
// have, are bound to, and take in the same decision.
func TestCapsOfOneDecision(t *testing.T) {
	both := map[elastic.JobID]bool{1: true, 2: true}
	for name, tc := range map[string]struct {
		cap  elastic.Cap
		jobs func(*testing.T, *decided)
		want string
		why  string // of the last job
	}{
		"what one grows by counts": {elastic.Cap{Of: elastic.GPUs, Most: 7}, func(t *testing.T, c *decided) {
			c.job(t, "n1:2", "n1:4")
			c.job(t, "", "n2:3")
		}, "resize 1 on n1:4, start 2 on n2:3", ""},
		"... and no less": {elastic.Cap{Of: elastic.GPUs, Most: 6, Name: "GrpTRES=gres/gpu=6"}, func(t *testing.T, c *decided) {
			c.job(t, "n1:2", "n1:4").User = "ann"
			c.job(t, "", "n2:3")
		}, "resize 1 on n1:4", "so decided; not now: n2:3 would be beyond GrpTRES=gres/gpu=6: job 1 of ann has 2"},
		"one that shrinks has its GPUs until then, and no more": {elastic.Cap{Of: elastic.GPUs, Most: 7}, func(t *testing.T, c *decided) {
			c.job(t, "n1:4", "n1:2")
			c.job(t, "", "n2:3")
		}, "resize 1 on n1:2, start 2 on n2:3", ""},
		"what is promised counts": {elastic.Cap{Of: elastic.GPUs, Most: 4}, func(t *testing.T, c *decided) {
			c.job(t, "", "n1:3")
			c.s.Intents = []elastic.Intent{{Job: 1, Kind: elastic.Start, Step: elastic.Written, Target: placed(t, "n1:3")}}
			c.job(t, "", "n2:2")
		}, "", ""},
		"each alone": {elastic.Cap{Of: elastic.GPUs, Most: 2, Each: true, Name: "MaxTRES=gres/gpu=2"}, func(t *testing.T, c *decided) {
			c.job(t, "", "n1:2")
			c.job(t, "", "n2:3")
		}, "start 1 on n1:2", "so decided; not now: n2:3 is beyond MaxTRES=gres/gpu=2"},
		"the least": {elastic.Cap{Of: elastic.GPUs, Most: 2, Least: true, Name: "MinTRES=gres/gpu=2"}, func(t *testing.T, c *decided) {
			c.job(t, "", "n1:2")
			c.job(t, "", "n2:1")
		}, "start 1 on n1:2", "so decided; not now: 1 GPUs are fewer than MinTRES=gres/gpu=2 asks for"},
		"of others alone": {elastic.Cap{Of: elastic.GPUs, Most: 1, Each: true, Jobs: map[elastic.JobID]bool{7: true}}, func(t *testing.T, c *decided) {
			c.job(t, "", "n1:2")
		}, "start 1 on n1:2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newDecided()
			tc.jobs(t, c)
			if tc.cap.Jobs == nil {
				tc.cap.Jobs = both
			}
			c.s.Caps = []elastic.Cap{tc.cap}
			p, got := c.opens()
			if got != tc.want {
				t.Errorf("opened %q, want %q", got, tc.want)
			}
			if why := sentence(p.Reasons[len(p.Reasons)-1].Why); tc.why != "" && why != tc.why {
				t.Errorf("%q, want %q", why, tc.why)
			}
		})
	}
}

// TestBillingOfAFirstRun: Slurm keeps counting the billing of a job's first run.
func TestBillingOfAFirstRun(t *testing.T) {
	one := nodes.Placement{{Node: "n1", GPUs: 1}}
	running := elastic.Job{ID: 1, Phase: elastic.Running, Partition: "a", Place: one}
	s := elastic.Snapshot{
		Nodes: []nodes.Node{{Name: "n1", GPUs: 8}},
		Caps:  []elastic.Cap{{Of: elastic.Billing, Most: 8, Jobs: map[elastic.JobID]bool{1: true, 2: true}, Bills: map[string]elastic.Bill{"a": {GPU: 1}}}},
	}
	for billing, want := range map[int]bool{0: false, 1: false, 7: false, 8: true} {
		running.Billing = billing
		s.Jobs = []elastic.Job{running, {ID: 2, Phase: elastic.Waiting, Partition: "a"}}
		if _, refused := plan.Refuses(s, s.Jobs[1], one); refused != want {
			t.Errorf("beside a job billed %d: refused: %t", billing, refused)
		}
	}
}
