package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// drawCaps adds limits to a cluster: on some of its jobs, above or below their present usage.
func drawCaps(t *rapid.T, s *elastic.Snapshot) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		switch rapid.IntRange(0, 3).Draw(t, "memory") {
		case 0:
			j.Spec.MemPerGPUMB = 1000
		case 1:
			j.Memory.PerNodeMB = 2000
		case 2:
			j.Memory.PerCPUMB = 500
		}
		if rapid.Bool().Draw(t, "limited") {
			j.TimeLimit = time.Duration(rapid.IntRange(1, 120).Draw(t, "limit")) * time.Minute
			if len(j.Place) > 0 {
				j.TimeLeft = j.TimeLimit / 2
			}
		}
	}
	for k := range rapid.IntRange(1, 4).Draw(t, "caps") {
		c := elastic.Cap{
			Name: fmt.Sprintf("limit %d", k+1), Jobs: map[elastic.JobID]bool{},
			Of:   rapid.SampledFrom([]elastic.Resource{elastic.GPUs, elastic.GPUs, elastic.CPUs, elastic.Nodes, elastic.Jobs, elastic.MemoryMB}).Draw(t, "of"),
			Most: rapid.IntRange(0, 12).Draw(t, "most"), Others: rapid.IntRange(0, 3).Draw(t, "others"),
		}
		if c.Of == elastic.MemoryMB {
			c.Most *= 1000
		}
		if c.Minutes = rapid.IntRange(0, 3).Draw(t, "minutes") == 0; c.Minutes {
			c.Most *= 60
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			c.Each = true
		case 1:
			c.Each, c.Node = true, true
		case 2:
			c.Least, c.Minutes, c.Of, c.Most = true, false, elastic.GPUs, rapid.IntRange(1, 3).Draw(t, "least")
		}
		for _, j := range s.Jobs {
			c.Jobs[j.ID] = rapid.IntRange(0, 3).Draw(t, "concerned") > 0
		}
		s.Caps = append(s.Caps, c)
	}
}

// amount computes a job's usage of a cap at a place independently; for its present run only
// what is left of that.
func amount(c elastic.Cap, j elastic.Job, at nodes.Placement, run bool) int {
	if len(at) == 0 {
		return 0
	}
	gpus, on := at.GPUs(), len(at)
	if c.Node {
		gpus, on = 0, 1
		for _, share := range at {
			gpus = max(gpus, share.GPUs)
		}
	}
	n := 1
	switch c.Of {
	case elastic.GPUs:
		n = gpus
	case elastic.CPUs:
		n = max(on, gpus*j.Spec.CPUsPerGPU)
	case elastic.Nodes:
		n = on
	case elastic.MemoryMB:
		switch {
		case j.Spec.MemPerGPUMB > 0:
			n = gpus * int(j.Spec.MemPerGPUMB)
		case j.Memory.PerNodeMB > 0:
			n = on * int(j.Memory.PerNodeMB)
		default:
			n = max(on, gpus*j.Spec.CPUsPerGPU) * int(j.Memory.PerCPUMB)
		}
	}
	switch {
	case !c.Minutes:
		return n
	case j.TimeLimit == 0:
		return n << 32
	case run:
		return n * int((j.TimeLeft+time.Minute-1)/time.Minute)
	}
	return n * int(j.TimeLimit/time.Minute)
}

// For every policy: no plan takes a job, or a group of jobs, beyond a limit at any moment
// during its moves. Jobs that exceed a limit and do not move are left as they are.
func TestNoPlanExceedsACap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		s.Limits.Preempt = rapid.IntRange(0, 3).Draw(t, "preempt") == 0
		drawCaps(t, &s)
		for _, p := range policy.All {
			a := p.Decide(s)
			plan := plan.Reconcile(s, a, plan.Arrange(s, a))
			target := map[elastic.JobID]nodes.Placement{}
			for _, in := range plan.Open {
				target[in.Job] = in.Target
			}
			for _, c := range s.Caps {
				kept(t, p.Name, s, c, target)
			}
		}
	})
}

func kept(t *rapid.T, policy string, s elastic.Snapshot, c elastic.Cap, target map[elastic.JobID]nodes.Placement) {
	sum, grows := c.Others, false
	for _, j := range s.Jobs {
		if !c.Jobs[j.ID] {
			continue
		}
		to, moves := target[j.ID]
		n, has := amount(c, j, to, false), amount(c, j, j.Place, true)
		if in, ok := s.Intent(j.ID); ok && !(in.AnyNodes && len(j.Place) > 0) {
			has = max(has, amount(c, j, in.Target, false))
		} else if ok {
			has = max(has, amount(c, j, j.Place, false))
		}
		sum += max(n, has)
		grows = grows || moves && n > has
		switch {
		case !moves || len(to) == 0:
		case c.Least && n < c.Most, (c.Each || c.Node) && !c.Least && n > c.Most:
			t.Fatalf("%s: job %d goes to %v against %+v\n%s", policy, j.ID, to, c, dump(s))
		}
	}
	if grows && !c.Each && !c.Least && sum > c.Most {
		t.Fatalf("%s: the jobs take %d of %+v: %v\n%s", policy, sum, c, target, dump(s))
	}
}

// A limit below what jobs have moves no job by itself: while no job waits under it, a job
// beyond it keeps what it has.
func TestACapAloneMovesNoJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := plain(t)
		for i := range s.Jobs {
			if s.Jobs[i].Phase == elastic.Waiting {
				t.Skip()
			}
			s.Jobs[i].Directive.Pin = 0
		}
		all, used := map[elastic.JobID]bool{}, 0
		for _, j := range s.Jobs {
			all[j.ID] = true
			used += max(j.GPUs(), s.Committed(j).GPUs())
		}
		free := policy.All[0].Decide(s)
		s.Caps = []elastic.Cap{{Name: "limit", Of: elastic.GPUs, Most: rapid.IntRange(0, 4).Draw(t, "most"), Jobs: all, Each: rapid.Bool().Draw(t, "each")}}
		a := policy.All[0].Decide(s)
		for _, j := range s.Jobs {
			if was := s.Committed(j).GPUs(); a[j.ID].GPUs < was && free[j.ID].GPUs >= was && used > s.Caps[0].Most && !s.Caps[0].Each {
				t.Fatalf("job %d goes from %d to %d: %s\n%s", j.ID, was, a[j.ID].GPUs, sentence(a[j.ID].Why), dump(s))
			}
		}
	})
}

// group returns a cap on the GPUs of these jobs together.
func group(most, others int, ids ...elastic.JobID) elastic.Cap {
	c := elastic.Cap{Name: fmt.Sprintf("GrpTRES=gres/gpu=%d of account phys", most), Of: elastic.GPUs, Most: most, Others: others, Jobs: map[elastic.JobID]bool{}}
	for _, id := range ids {
		c.Jobs[id] = true
	}
	if others > 0 {
		c.Users = []reason.Use{{Job: 77, User: "bob", Has: fmt.Sprint(others)}}
	}
	return c
}

// capScene returns a cluster of two nodes with jobs of one account.
func capScene(jobs ...elastic.Job) elastic.Snapshot {
	s := elastic.Snapshot{Now: now, Limits: elastic.Limits{}}
	for _, name := range []string{"n1", "n2"} {
		s.Nodes = append(s.Nodes, nodes.Node{Name: name, GPUs: 4, Usable: true, Partitions: []string{"gpu"}})
	}
	for _, j := range jobs {
		j.Partition, j.User, j.Speaks = "gpu", "alice", true
		s.Nodes = nodes.With(s.Nodes, nodes.Load{Place: j.Place})
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func held(id elastic.JobID, least, most int) elastic.Job {
	return elastic.Job{ID: id, Phase: elastic.Waiting, Spec: elastic.Spec{Min: least, Max: most}}
}

func on(id elastic.JobID, most int, place ...nodes.Share) elastic.Job {
	return elastic.Job{ID: id, Phase: elastic.Running, Spec: elastic.Spec{Min: 1, Max: most}, Place: place}
}

func needs(j elastic.Job, perGPU int64) elastic.Job {
	j.Spec.MemPerGPUMB = perGPU
	return j
}

func asks(j elastic.Job, m elastic.Memory) elastic.Job {
	j.Memory = m
	return j
}

func cpus(j elastic.Job, perGPU int) elastic.Job {
	j.Spec.CPUsPerGPU = perGPU
	return j
}

func lasts(j elastic.Job, limit, left time.Duration) elastic.Job {
	j.TimeLimit, j.TimeLeft = limit, left
	return j
}

func TestDecisionsWithinCaps(t *testing.T) {
	n1 := func(n int) nodes.Share { return nodes.Share{Node: "n1", GPUs: n} }
	n2 := func(n int) nodes.Share { return nodes.Share{Node: "n2", GPUs: n} }
	for _, tc := range []struct {
		name string
		jobs []elastic.Job
		caps []elastic.Cap
		want map[elastic.JobID]int
		say  map[elastic.JobID]string
	}{
		{"one job starts up to the limit", []elastic.Job{held(1, 1, 4)}, []elastic.Cap{group(2, 0, 1)},
			map[elastic.JobID]int{1: 2}, map[elastic.JobID]string{1: "no more within GrpTRES=gres/gpu=2 of account phys (not in use)"}},
		{"ordinary jobs count", []elastic.Job{held(1, 1, 4)}, []elastic.Cap{group(4, 3, 1)},
			map[elastic.JobID]int{1: 1}, map[elastic.JobID]string{1: "(job 77 of bob has 3)"}},
		{"two share what there is", []elastic.Job{held(1, 1, 8), held(2, 1, 8)}, []elastic.Cap{group(4, 0, 1, 2)}, map[elastic.JobID]int{1: 2, 2: 2}, nil},
		{"a job below its minimum waits, others do not wait for it", []elastic.Job{held(1, 3, 4), held(2, 1, 2)}, []elastic.Cap{group(4, 2, 1)},
			map[elastic.JobID]int{1: 0, 2: 2}, map[elastic.JobID]string{1: "waits for 3 GPUs: within GrpTRES=gres/gpu=4 of account phys (job 77 of bob has 2)"}},
		{"a running job gives back for one that waits", []elastic.Job{on(1, 4, n1(4)), held(2, 1, 4)}, []elastic.Cap{group(4, 0, 1, 2)},
			map[elastic.JobID]int{1: 3, 2: 0}, map[elastic.JobID]string{1: "shrinks 4 -> 3: another job waits within GrpTRES=gres/gpu=4"}},
		{"the next job starts before any job grows", []elastic.Job{on(1, 4, n1(3)), held(2, 1, 4)}, []elastic.Cap{group(4, 0, 1, 2)}, map[elastic.JobID]int{1: 3, 2: 1}, nil},
		{"a lowered limit leaves a running job alone", []elastic.Job{on(1, 8, n1(4))}, []elastic.Cap{group(2, 0, 1)}, map[elastic.JobID]int{1: 4}, nil},
		{"each alone", []elastic.Job{held(1, 1, 8), held(2, 1, 8)}, []elastic.Cap{{Name: "MaxTRES=gres/gpu=2 of QOS q", Of: elastic.GPUs, Most: 2, Each: true, Jobs: map[elastic.JobID]bool{1: true}}},
			map[elastic.JobID]int{1: 2, 2: 4}, nil},
		{"number of jobs", []elastic.Job{on(1, 1, n2(1)), held(2, 1, 1)}, []elastic.Cap{{Name: "GrpJobs=1 of account phys", Of: elastic.Jobs, Most: 1, Jobs: map[elastic.JobID]bool{1: true, 2: true}}},
			map[elastic.JobID]int{1: 1, 2: 0}, map[elastic.JobID]string{2: "within GrpJobs=1 of account phys (job 1 of alice has 1)"}},
		{"a job that runs grows while another waits to be one that runs", []elastic.Job{on(1, 4, n1(1)), held(2, 1, 1)}, []elastic.Cap{{Name: "GrpJobs=1", Of: elastic.Jobs, Most: 1, Jobs: map[elastic.JobID]bool{1: true, 2: true}}},
			map[elastic.JobID]int{1: 4, 2: 0}, nil},
		{"two tasks of an array", []elastic.Job{held(1, 1, 4), held(2, 1, 4), held(3, 1, 4)}, []elastic.Cap{{Name: "%2", Of: elastic.Jobs, Most: 2, Throttle: true, Jobs: map[elastic.JobID]bool{1: true, 2: true, 3: true}}},
			map[elastic.JobID]int{1: 4, 2: 4, 3: 0}, map[elastic.JobID]string{3: "waits: 2 of its array's tasks run (%2)"}},
		{"memory grows with the GPUs", []elastic.Job{needs(held(1, 1, 4), 1000)}, []elastic.Cap{{Name: "GrpTRES=mem=2500M of account phys", Of: elastic.MemoryMB, Most: 2500, Jobs: map[elastic.JobID]bool{1: true}}},
			map[elastic.JobID]int{1: 2}, map[elastic.JobID]string{1: "no more within GrpTRES=mem=2500M of account phys (not in use)"}},
		{"two share memory", []elastic.Job{needs(on(1, 4, n1(1)), 1000), needs(held(2, 1, 4), 1000)}, []elastic.Cap{{Name: "GrpTRES=mem=3000M", Of: elastic.MemoryMB, Most: 3000, Jobs: map[elastic.JobID]bool{1: true, 2: true}}},
			map[elastic.JobID]int{1: 2, 2: 1}, map[elastic.JobID]string{2: "(job 1 of alice has 1000M)"}},
		{"memory of each node does not keep a job from growing on it", []elastic.Job{asks(held(1, 1, 4), elastic.Memory{PerNodeMB: 2000})}, []elastic.Cap{{Name: "MaxTRES=mem=2500M", Of: elastic.MemoryMB, Most: 2500, Each: true, Jobs: map[elastic.JobID]bool{1: true}}},
			map[elastic.JobID]int{1: 4}, nil},
		{"MaxCPUsPerNode", []elastic.Job{cpus(held(1, 1, 4), 2)}, []elastic.Cap{{Name: "MaxCPUsPerNode=4 of partition gpu", Of: elastic.CPUs, Most: 4, Each: true, Node: true, Jobs: map[elastic.JobID]bool{1: true}}},
			map[elastic.JobID]int{1: 2}, map[elastic.JobID]string{1: "no more within MaxCPUsPerNode=4 of partition gpu"}},
		{"so many on each of two nodes", []elastic.Job{cpus(held(1, 1, 8), 1)}, []elastic.Cap{{Name: "MaxCPUsPerNode=4 of partition gpu", Of: elastic.CPUs, Most: 4, Each: true, Node: true, Jobs: map[elastic.JobID]bool{1: true}}},
			map[elastic.JobID]int{1: 8}, nil},
		{"GPU minutes of a job", []elastic.Job{lasts(held(1, 1, 4), time.Hour, 0)}, []elastic.Cap{{Name: "MaxTRESMins=gres/gpu=120 of QOS q", Of: elastic.GPUs, Most: 120, Each: true, Minutes: true, Jobs: map[elastic.JobID]bool{1: true}}},
			map[elastic.JobID]int{1: 2}, map[elastic.JobID]string{1: "no more within MaxTRESMins=gres/gpu=120 of QOS q"}},
		{"GPU minutes that run: a move has the whole time limit before it", []elastic.Job{lasts(on(1, 4, n1(2)), time.Hour, 10*time.Minute)},
			[]elastic.Cap{{Name: "GrpTRESRunMins=gres/gpu=150", Of: elastic.GPUs, Most: 150, Minutes: true, Jobs: map[elastic.JobID]bool{1: true}}}, map[elastic.JobID]int{1: 2}, nil},
		{"GPU minutes that are used up start nothing and grow nothing", []elastic.Job{on(1, 4, n1(1)), held(2, 1, 4)}, []elastic.Cap{{Name: "GrpTRESMins=gres/gpu=100 of account phys, which is used up", Of: elastic.Jobs, Each: true, Jobs: map[elastic.JobID]bool{1: true, 2: true}}},
			map[elastic.JobID]int{1: 1, 2: 0}, map[elastic.JobID]string{1: "stays at 1 GPU: started again, it would not be within GrpTRESMins=gres/gpu=100", 2: "waits for 1 GPU: within GrpTRESMins=gres/gpu=100 of account phys, which is used up"}},
		{"without a time limit there is no end of minutes", []elastic.Job{held(1, 1, 4)}, []elastic.Cap{{Name: "MaxTRESMins=gres/gpu=120", Of: elastic.GPUs, Most: 1 << 30, Each: true, Minutes: true, Jobs: map[elastic.JobID]bool{1: true}}},
			map[elastic.JobID]int{1: 0}, map[elastic.JobID]string{1: "within MaxTRESMins=gres/gpu=120"}},
		{"at least", []elastic.Job{held(1, 1, 8)}, []elastic.Cap{{Name: "MinTRES", Of: elastic.GPUs, Most: 3, Least: true, Jobs: map[elastic.JobID]bool{1: true}}, group(3, 0, 1)}, map[elastic.JobID]int{1: 3}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := capScene(tc.jobs...)
			s.Caps = tc.caps
			a := policy.All[0].Decide(s)
			for id, want := range tc.want {
				if a[id].GPUs != want || !strings.Contains(sentence(a[id].Why), tc.say[id]) {
					t.Errorf("job %d gets %d, want %d: %s", id, a[id].GPUs, want, sentence(a[id].Why))
				}
			}
		})
	}
}

// BenchmarkCaps measures a decision on 2000 jobs of 100 accounts, each with a limit, and the
// same without limits.
func BenchmarkCaps(b *testing.B) {
	s := elastic.Snapshot{Now: now}
	for i := range 500 {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%d", i+1), GPUs: 8, Usable: true, Partitions: []string{"gpu"}})
	}
	for i := range 2000 {
		j := elastic.Job{ID: elastic.JobID(i + 1), Phase: elastic.Waiting, Partition: "gpu", Spec: elastic.Spec{Min: 1, Max: 8}}
		if i < 1500 {
			j.Phase, j.Speaks, j.Place = elastic.Running, true, nodes.Placement{{Node: s.Nodes[i%500].Name, GPUs: 1}}
			s.Nodes = nodes.With(s.Nodes, nodes.Load{Place: j.Place})
		}
		s.Jobs = append(s.Jobs, j)
	}
	for _, with := range []bool{false, true} {
		t := s
		for k := 0; with && k < 100; k++ {
			c := group(25, 0)
			for i := k; i < 2000; i += 100 {
				c.Jobs[elastic.JobID(i+1)] = true
			}
			t.Caps = append(t.Caps, c)
		}
		b.Run(fmt.Sprintf("limits=%v", with), func(b *testing.B) {
			for range b.N {
				a := policy.All[0].Decide(t)
				plan.Reconcile(t, a, plan.Arrange(t, a))
			}
		})
	}
}
