package elastic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestCapAmounts: how much of each resource a job takes at a place.
func TestCapAmounts(t *testing.T) {
	s := elastic.Snapshot{Nodes: []nodes.Node{
		{Name: "n1", GPUs: 4, Type: "a100"}, {Name: "n2", GPUs: 4, Type: "v100"}, {Name: "n3", GPUs: 4, Type: "a100"},
		{Name: "n4", GPUs: 4, Type: "a100+v100", Types: []nodes.OfType{{Type: "a100", GPUs: 1}, {Type: "v100", GPUs: 3}}},
	}}
	for name, tc := range map[string]struct {
		cap  elastic.Cap
		spec elastic.Spec
		mem  elastic.Memory
		at   string
		want int
	}{
		"GPUs":                               {cap: elastic.Cap{Of: elastic.GPUs}, at: "n1:2 n2:1", want: 3},
		"GPUs of a node":                     {cap: elastic.Cap{Of: elastic.GPUs, Node: true}, at: "n1:2 n2:1", want: 2},
		"GPUs of a node, held":               {cap: elastic.Cap{Of: elastic.GPUs, Node: true}},
		"GPUs of a type":                     {cap: elastic.Cap{Of: elastic.GPUs, Type: "a100"}, at: "n1:2 n2:1 n3:1", want: 3},
		"GPUs of a type, of a node":          {cap: elastic.Cap{Of: elastic.GPUs, Type: "a100", Node: true}, at: "n1:2 n2:4 n3:1", want: 2},
		"GPUs of a type, none of a node":     {cap: elastic.Cap{Of: elastic.GPUs, Type: "a100", Node: true}, at: "n2:2"},
		"GPUs of a type that a node has":     {cap: elastic.Cap{Of: elastic.GPUs, Type: "a100"}, at: "n4:1", want: 1},
		"GPUs of a type that it has not":     {cap: elastic.Cap{Of: elastic.GPUs, Type: "h100"}, at: "n4:1"},
		"CPUs of a type of GPU":              {cap: elastic.Cap{Of: elastic.CPUs, Type: "a100"}, spec: elastic.Spec{CPUsPerGPU: 4}, at: "n1:2", want: 8},
		"CPUs":                               {cap: elastic.Cap{Of: elastic.CPUs}, spec: elastic.Spec{CPUsPerGPU: 4}, at: "n1:2 n2:1", want: 12},
		"CPUs of a node":                     {cap: elastic.Cap{Of: elastic.CPUs, Node: true}, spec: elastic.Spec{CPUsPerGPU: 4}, at: "n1:2 n2:1", want: 8},
		"CPUs, where none is asked for":      {cap: elastic.Cap{Of: elastic.CPUs}, at: "n1:2 n2:1", want: 2},
		"CPUs of a node, none asked for":     {cap: elastic.Cap{Of: elastic.CPUs, Node: true}, at: "n1:2 n2:1", want: 1},
		"nodes":                              {cap: elastic.Cap{Of: elastic.Nodes}, at: "n1:2 n2:1", want: 2},
		"memory by GPU":                      {cap: elastic.Cap{Of: elastic.MemoryMB}, spec: elastic.Spec{MemPerGPUMB: 1}, mem: elastic.Memory{PerNodeMB: 500}, at: "n1:2 n2:1", want: 3},
		"memory by node":                     {cap: elastic.Cap{Of: elastic.MemoryMB}, mem: elastic.Memory{PerNodeMB: 500}, at: "n1:2 n2:1", want: 1000},
		"memory by node, of a node":          {cap: elastic.Cap{Of: elastic.MemoryMB, Node: true}, mem: elastic.Memory{PerNodeMB: 500}, at: "n1:2 n2:1", want: 500},
		"memory by CPU":                      {cap: elastic.Cap{Of: elastic.MemoryMB}, spec: elastic.Spec{CPUsPerGPU: 2}, mem: elastic.Memory{PerCPUMB: 10}, at: "n1:2 n2:1", want: 60},
		"jobs":                               {cap: elastic.Cap{Of: elastic.Jobs}, at: "n1:2 n2:1", want: 1},
		"jobs that wait":                     {cap: elastic.Cap{Of: elastic.Jobs}},
		"CPUs of a job that waits":           {cap: elastic.Cap{Of: elastic.CPUs}, spec: elastic.Spec{CPUsPerGPU: 4}},
		"memory of a node of one that waits": {cap: elastic.Cap{Of: elastic.MemoryMB, Node: true}, mem: elastic.Memory{PerNodeMB: 500}},
	} {
		j := &elastic.Job{ID: 1, Spec: tc.spec, Memory: tc.mem}
		if got := tc.cap.Amount(j, placed(t, tc.at), &s); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestCapMinutes: minutes are begun ones, of what is left of a limit; without one they
// have no end, and a job that is beyond its limit has one minute more.
func TestCapMinutes(t *testing.T) {
	c := elastic.Cap{Of: elastic.GPUs, Minutes: true}
	for limit, want := range map[time.Duration]string{
		0: "no end", 1: "2 min", time.Minute: "2 min", time.Minute + 1: "4 min", 90 * time.Second: "4 min", 10 * time.Minute: "20 min",
	} {
		if got := c.Count(c.Takes(&elastic.Job{TimeLimit: limit}, 2, 1, 2)); got != want {
			t.Errorf("2 GPUs for %v: %s, want %s", limit, got, want)
		}
	}
	for _, tc := range []struct {
		left, limit time.Duration
		want        string
	}{{0, 0, "no end"}, {0, time.Hour, "2 min"}, {-time.Minute, time.Hour, "2 min"}, {5 * time.Minute, time.Hour, "10 min"}} {
		if got := c.Count(c.Over(2, tc.left, tc.limit)); got != tc.want {
			t.Errorf("2 GPUs with %v of %v left: %s, want %s", tc.left, tc.limit, got, tc.want)
		}
	}
	if got := (elastic.Cap{Of: elastic.GPUs}).Takes(&elastic.Job{TimeLimit: time.Hour}, 2, 1, 2); got != 2 {
		t.Errorf("not of minutes: %d", got)
	}
}

// TestCapUsing: who has how much, and of many no more than a few.
func TestCapUsing(t *testing.T) {
	for name, tc := range map[string]struct {
		jobs func(*testing.T, *decided)
		cap  elastic.Cap
		want string
	}{
		"nobody": {func(t *testing.T, c *decided) { c.job(t, "", "") }, elastic.Cap{Of: elastic.GPUs}, "nobody has any"},
		"some": {func(t *testing.T, c *decided) {
			c.job(t, "n1:1", "").User = "ann"
			c.job(t, "", "").User = "bob"
			c.job(t, "n2:2", "").User = "cy"
		}, elastic.Cap{Of: elastic.GPUs, Users: []reason.Use{{Job: 9, User: "dan", Has: "2"}}}, "job 9 of dan has 2, job 1 of ann has 1, job 3 of cy has 2"},
		"five": {func(t *testing.T, c *decided) {
			for range 5 {
				c.job(t, "n1:1", "").User = "ann"
			}
		}, elastic.Cap{Of: elastic.Jobs}, "job 1 of ann has 1, job 2 of ann has 1, job 3 of ann has 1, and 2 more jobs"},
		"memory": {func(t *testing.T, c *decided) {
			j := c.job(t, "n1:1", "")
			j.User, j.Spec.MemPerGPUMB, j.Billing = "ann", 4000, 9000
		}, elastic.Cap{Of: elastic.MemoryMB}, "job 1 of ann has 4000M"},
		"billing, of its first run where that was more": {func(t *testing.T, c *decided) {
			c.job(t, "n1:1", "").User = "ann"
			c.job(t, "n2:1", "").User = "bob"
			c.job(t, "", "").User = "cy"
			c.s.Jobs[0].Billing, c.s.Jobs[2].Billing = 5, 7
		}, elastic.Cap{Of: elastic.Billing}, "job 1 of ann has 5, job 2 of bob has 1"},
	} {
		c := newDecided()
		tc.jobs(t, c)
		tc.cap.Jobs = map[elastic.JobID]bool{}
		for _, j := range c.s.Jobs {
			tc.cap.Jobs[j.ID] = true
		}
		c.job(t, "n4:1", "") // none of the cap's
		tc.cap.Name = "it"
		if got := sentence(c.s.Limit(tc.cap)); got != "it ("+tc.want+")" {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestCapsOfOneDecision: what Slurm would leave pending is not opened, beside what others
// have, are promised, and take in the same decision.
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
			plan, got := c.opens()
			if got != tc.want {
				t.Errorf("opened %q, want %q", got, tc.want)
			}
			if why := sentence(plan.Reasons[len(plan.Reasons)-1].Why); tc.why != "" && why != tc.why {
				t.Errorf("%q, want %q", why, tc.why)
			}
		})
	}
}

// TestLicensesBetweenSizes: a job does not start with a license of one that is between two
// sizes. It keeps its GPUs meanwhile, and no more.
func TestLicensesBetweenSizes(t *testing.T) {
	c := newDecided()
	c.job(t, "n2:1", "n2:2").Licenses = []string{"matlab"}
	c.s.Intents = []elastic.Intent{{Job: 1, Kind: elastic.Resize, Step: elastic.Asked, From: placed(t, "n2:1"), Target: placed(t, "n2:2")}}
	c.job(t, "", "n1:2").Licenses = []string{"ansys", "matlab"}
	c.job(t, "", "n1:2")
	c.job(t, "", "n1:2")
	c.job(t, "", "n3:2").Licenses = []string{"ansys"}
	plan, got := c.opens()
	if want := "start 3 on n1:2, start 5 on n3:2"; got != want {
		t.Errorf("opened %q, want %q", got, want)
	}
	if why := sentence(plan.Reasons[1].Why); !strings.Contains(why, "waits until job 1, which asks for the same licenses") {
		t.Errorf("%q", why)
	}
}
