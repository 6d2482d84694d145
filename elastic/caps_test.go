package elastic_test

import (
	"slices"
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
		"GPUs":                              {cap: elastic.Cap{Of: elastic.GPUs}, at: "n1:2 n2:1", want: 3},
		"GPUs of a node":                    {cap: elastic.Cap{Of: elastic.GPUs, Node: true}, at: "n1:2 n2:1", want: 2},
		"GPUs of a node, held":              {cap: elastic.Cap{Of: elastic.GPUs, Node: true}},
		"GPUs of a type":                    {cap: elastic.Cap{Of: elastic.GPUs, Type: "a100"}, at: "n1:2 n2:1 n3:1", want: 3},
		"GPUs of a type, of a node":         {cap: elastic.Cap{Of: elastic.GPUs, Type: "a100", Node: true}, at: "n1:2 n2:4 n3:1", want: 2},
		"GPUs of a type, none of a node":    {cap: elastic.Cap{Of: elastic.GPUs, Type: "a100", Node: true}, at: "n2:2"},
		"GPUs of a type that a node has":    {cap: elastic.Cap{Of: elastic.GPUs, Type: "a100"}, at: "n4:1", want: 1},
		"GPUs of a type that it has not":    {cap: elastic.Cap{Of: elastic.GPUs, Type: "h100"}, at: "n4:1"},
		"CPUs of a type of GPU":             {cap: elastic.Cap{Of: elastic.CPUs, Type: "a100"}, spec: elastic.Spec{CPUsPerGPU: 4}, at: "n1:2", want: 8},
		"CPUs":                              {cap: elastic.Cap{Of: elastic.CPUs}, spec: elastic.Spec{CPUsPerGPU: 4}, at: "n1:2 n2:1", want: 12},
		"CPUs of a node":                    {cap: elastic.Cap{Of: elastic.CPUs, Node: true}, spec: elastic.Spec{CPUsPerGPU: 4}, at: "n1:2 n2:1", want: 8},
		"CPUs, where none is asked for":     {cap: elastic.Cap{Of: elastic.CPUs}, at: "n1:2 n2:1", want: 2},
		"CPUs of a node, none asked for":    {cap: elastic.Cap{Of: elastic.CPUs, Node: true}, at: "n1:2 n2:1", want: 1},
		"nodes":                             {cap: elastic.Cap{Of: elastic.Nodes}, at: "n1:2 n2:1", want: 2},
		"memory by GPU":                     {cap: elastic.Cap{Of: elastic.MemoryMB}, spec: elastic.Spec{MemPerGPUMB: 1}, mem: elastic.Memory{PerNodeMB: 500}, at: "n1:2 n2:1", want: 3},
		"memory by node":                    {cap: elastic.Cap{Of: elastic.MemoryMB}, mem: elastic.Memory{PerNodeMB: 500}, at: "n1:2 n2:1", want: 1000},
		"memory by node, of a node":         {cap: elastic.Cap{Of: elastic.MemoryMB, Node: true}, mem: elastic.Memory{PerNodeMB: 500}, at: "n1:2 n2:1", want: 500},
		"memory by CPU":                     {cap: elastic.Cap{Of: elastic.MemoryMB}, spec: elastic.Spec{CPUsPerGPU: 2}, mem: elastic.Memory{PerCPUMB: 10}, at: "n1:2 n2:1", want: 60},
		"jobs":                              {cap: elastic.Cap{Of: elastic.Jobs}, at: "n1:2 n2:1", want: 1},
		"jobs that wait":                    {cap: elastic.Cap{Of: elastic.Jobs}},
		"CPUs of a job that waits":          {cap: elastic.Cap{Of: elastic.CPUs}, spec: elastic.Spec{CPUsPerGPU: 4}},
		"memory of a node of a waiting job": {cap: elastic.Cap{Of: elastic.MemoryMB, Node: true}, mem: elastic.Memory{PerNodeMB: 500}},
	} {
		j := &elastic.Job{ID: 1, Spec: tc.spec, Memory: tc.mem}
		if got := tc.cap.Use(j, placed(t, tc.at), &s); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestCapMinutes: minutes are rounded up and count what is left of the time limit. Without a
// limit they are unlimited; a job beyond its limit counts one minute.
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

// TestCapUsing: the reason lists the jobs and their usage, at most a few.
func TestCapUsing(t *testing.T) {
	job := func(user, at string) elastic.Job { return elastic.Job{User: user, Place: placed(t, at)} }
	big, first, waits := job("ann", "n1:1"), job("ann", "n1:1"), job("cy", "")
	big.Spec.MemPerGPUMB, big.Billing = 4000, 9000
	first.Billing, waits.Billing = 5, 7
	for name, tc := range map[string]struct {
		jobs []elastic.Job
		cap  elastic.Cap
		want string
	}{
		"no job": {[]elastic.Job{job("", "")}, elastic.Cap{Of: elastic.GPUs}, "not in use"},
		"some": {[]elastic.Job{job("ann", "n1:1"), job("bob", ""), job("cy", "n2:2")},
			elastic.Cap{Of: elastic.GPUs, Users: []reason.Use{{Job: 9, User: "dan", Has: "2"}}}, "job 9 of dan has 2, job 1 of ann has 1, job 3 of cy has 2"},
		"five": {slices.Repeat([]elastic.Job{job("ann", "n1:1")}, 5), elastic.Cap{Of: elastic.Jobs},
			"job 1 of ann has 1, job 2 of ann has 1, job 3 of ann has 1, and 2 more jobs"},
		"memory": {[]elastic.Job{big}, elastic.Cap{Of: elastic.MemoryMB}, "job 1 of ann has 4000M"},
		"billing, of its first run where that was more": {[]elastic.Job{first, job("bob", "n2:1"), waits}, elastic.Cap{Of: elastic.Billing},
			"job 1 of ann has 5, job 2 of bob has 1"},
	} {
		s := elastic.Snapshot{Jobs: slices.Concat(tc.jobs, []elastic.Job{job("", "n4:1")})} // the cap does not apply to the last job
		tc.cap.Name, tc.cap.Jobs = "it", map[elastic.JobID]bool{}
		for i := range s.Jobs {
			s.Jobs[i].ID = elastic.JobID(i + 1)
			tc.cap.Jobs[s.Jobs[i].ID] = i < len(tc.jobs)
		}
		if got := sentence(s.Limit(tc.cap)); got != "it ("+tc.want+")" {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
