package eligible

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// busy is a look in which every function of this package has something to do, and its snapshot.
func busy() (*Look, elastic.Snapshot) {
	limits := siteLimits()
	limits.Partitions = append(limits.Partitions, slurm.Partition{Name: "lab", Up: true, CPUsPerNode: 8})
	limits.Reservations = []slurm.Reservation{{Name: "maint", Maint: true, Start: noon.Add(time.Hour), End: noon.Add(2 * time.Hour), Nodes: []string{"n2"}}}
	edge := map[string]bool{"lab": true}
	l := &Look{
		Limited: true, Edge: edge, Site: Read(limits, edge), Own: map[elastic.JobID]Job{}, Ahead: noon,
		Open:  []elastic.Intent{{Job: 2, Kind: elastic.Resize}},
		Nodes: []slurm.Node{{Name: "n1", GPUs: 4, Features: []string{"fast"}}, {Name: "n2", GPUs: 4, States: []string{"DRAIN"}}, {Name: "l1", GPUs: 2}},
	}
	for id := slurm.JobID(1); id <= 4; id++ {
		sj := runs(id, "alice", "theory", "normal", 1)
		sj.Partition, sj.State, sj.Held, sj.Nodes = "gpu,lab", slurm.Pending, true, nil
		l.Jobs = append(l.Jobs, sj)
	}
	l.Jobs[0].Constraint, l.Jobs[0].Dependency = "fast", "afterok:2(unfulfilled)"
	l.Jobs[1].Constraint = "fast*2"
	l.Jobs[2].State, l.Jobs[2].Held, l.Jobs[2].Partition, l.Jobs[2].Nodes = slurm.Running, false, "gpu", []string{"n2"}
	s := elastic.Snapshot{Now: noon, Nodes: Inventory(l.Jobs, l.Nodes)}
	for i := range s.Nodes {
		s.Nodes[i].Partitions = [][]string{{"gpu"}, {"gpu"}, {"lab"}}[i]
		s.Nodes[i].CPUs = 64
	}
	for i := range l.Jobs[:3] {
		sj := &l.Jobs[i]
		own := Job{Slurm: sj, Counts: true, Partitions: "gpu,lab", Owner: 7, Lead: 2 * time.Hour, Array: elastic.Array{Job: 1, Index: i, Count: 4}}
		own.Refused.Start = own.Refused.Start.And(nodes.Placement{{Node: "n1", GPUs: 1}}, reason.SlurmSaid{Text: "no"}, noon)
		l.Own[elastic.JobID(sj.ID)] = own
		s.Jobs = append(s.Jobs, elastic.Job{ID: elastic.JobID(sj.ID), Phase: elastic.Waiting, Partition: "gpu,lab", Spec: elastic.Spec{Min: 1}})
	}
	s.Jobs[2].Phase, s.Jobs[2].Place = elastic.Running, nodes.Placement{{Node: "n2", GPUs: 1}}
	l.Arrays = Arriving(slices.Values([]Task{{ID: 1, Owner: 7, Array: elastic.Array{Count: 4, Open: true}, Lives: true, Submitted: noon}}))
	return l, s
}

// all applies everything to a snapshot, in the order of the cycle.
func all(l *Look, s *elastic.Snapshot) {
	Ordinary(s, l.Jobs[3:], nil, l.Nodes, &elastic.Snapshot{})
	PerNode(l.Site.Limits, s.Nodes)
	s.Caps = l.Caps(s)
	Spread(s)
	l.Choose(s)
	l.Restrict(s)
}

// TestTheSameLookTheSameSnapshot: the result depends only on the look and the snapshot, and the look
// is not changed.
func TestTheSameLookTheSameSnapshot(t *testing.T) {
	l, first := busy()
	_, second := busy()
	all(l, &first)
	all(l, &second)
	if !reflect.DeepEqual(first, second) {
		t.Errorf("the same look:\n%+v\nand again:\n%+v", first, second)
	}
	untouched, _ := busy()
	untouched.Site, l.Site = Site{}, Site{} // it remembers which limits it was asked for
	if !reflect.DeepEqual(l, untouched) {
		t.Errorf("the look has become %+v\nfrom %+v", l, untouched)
	}
	if len(first.Caps) == 0 || first.Jobs[0].Kept == nil || first.Jobs[0].Blocked.Code == "" || len(first.Jobs[2].Departures) == 0 || len(first.Edges) == 0 || first.Jobs[0].MaxNodes == 0 {
		t.Errorf("something has nothing to say: %+v", first)
	}
}

// TestDepart: a running job leaves drained nodes, and nodes on which maintenance begins within its
// lead and before its time limit, unless the job is in that reservation.
func TestDepart(t *testing.T) {
	drained := slurm.Node{Name: "n2", States: []string{"IDLE", "DRAIN"}, Reason: "disk"}
	maint := func(in time.Duration) slurm.Limits {
		return slurm.Limits{Reserved: map[slurm.JobID]string{9: "r"}, Reservations: []slurm.Reservation{{Name: "r", Maint: true, Start: noon.Add(in), End: noon.Add(in + time.Hour), Nodes: []string{"n1"}}}}
	}
	other := maint(time.Minute)
	other.Reservations[0].Maint = false
	for name, tc := range map[string]struct {
		id     elastic.JobID
		phase  elastic.Phase
		left   time.Duration
		limits slurm.Limits
		want   string
	}{
		"of a drained node":                   {1, elastic.Running, 0, slurm.Limits{}, "n2 drained"},
		"it waits":                            {1, elastic.Waiting, 0, slurm.Limits{}, ""},
		"before a maintenance, as well":       {1, elastic.Running, 0, maint(9 * time.Minute), "n1 maintenance n2 drained"},
		"before one that is far":              {1, elastic.Running, 0, maint(11 * time.Minute), "n2 drained"},
		"before one that it does not live to": {1, elastic.Running, 5 * time.Minute, maint(9 * time.Minute), "n2 drained"},
		"in one":                              {1, elastic.Running, 0, maint(-time.Minute), "n1 maintenance n2 drained"},
		"after one":                           {1, elastic.Running, 0, maint(-time.Hour), "n2 drained"},
		"before its own":                      {9, elastic.Running, 0, maint(time.Minute), "n2 drained"},
		"before a reservation of others":      {1, elastic.Running, 0, other, "n2 drained"},
	} {
		l := &Look{Nodes: []slurm.Node{{Name: "n1"}, drained}, Site: Read(tc.limits, nil)}
		l.Own = map[elastic.JobID]Job{tc.id: {Slurm: &slurm.Job{ID: slurm.JobID(tc.id), TimeLeft: tc.left}, Lead: 10 * time.Minute}}
		s := elastic.Snapshot{Now: noon, Jobs: []elastic.Job{{ID: tc.id, Phase: tc.phase, Place: nodes.Placement{{Node: "n1", GPUs: 1}, {Node: "n2", GPUs: 1}}}}}
		l.depart(&s)
		got := ""
		for _, d := range s.Jobs[0].Departures {
			got += fmt.Sprintf(" %s %s", d.Node, map[bool]string{true: "drained", false: "maintenance"}[d.Cause == elastic.Draining])
		}
		if tc.want != "" {
			tc.want = " " + tc.want
		}
		if got != tc.want {
			t.Errorf("%s: it leaves%s, want%s", name, got, tc.want)
		}
	}
}

// TestArriving: no task of an array starts before all tasks exist. A job that ran, or whose array has
// no incomplete first task, does not wait.
func TestArriving(t *testing.T) {
	first := Task{ID: 5, Owner: 7, Array: elastic.Array{Count: 3, Open: true}, Submitted: noon, Lives: true}
	second := Task{ID: 6, Owner: 7, Array: elastic.Array{Job: 5, Index: 1, Count: 3}, Submitted: noon.Add(time.Second), Lives: true}
	third, strange := second, second
	third.ID, third.Array.Index, third.Lives = 8, 2, false // it has ended since: it was there
	strange.ID, strange.Owner = 9, 8
	closed := first
	closed.Array.Open = false
	for name, tc := range map[string]struct {
		tasks    []Task
		after    time.Duration
		ran      bool
		want     elastic.Block
		complete int
	}{
		"some are to come":               {[]Task{first, second}, time.Second, false, elastic.Arriving, 0},
		"another user's counts for none": {[]Task{first, second, strange}, time.Second, false, elastic.Arriving, 0},
		"they did not come":              {[]Task{first, second}, time.Second + elastic.ArrayPatience, false, elastic.Incomplete, 0},
		"all are there":                  {[]Task{first, second, third}, time.Second, false, "", 1},
		"it ran":                         {[]Task{first, second}, time.Second, true, "", 0},
		"all were there":                 {[]Task{closed, second}, time.Second, false, "", 0},
	} {
		open := Arriving(slices.Values(tc.tasks))
		if n := len(open.Complete()); n != tc.complete {
			t.Errorf("%s: %d arrays are complete", name, n)
		}
		own := Job{Slurm: &slurm.Job{ID: 6}, Owner: 7, Array: second.Array, Ran: tc.ran}
		if got := open.awaits(6, own, noon.Add(tc.after)); got.Code != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestOutdated: limits are read again if a job waits for a limit, or its account has no association.
func TestOutdated(t *testing.T) {
	site := Read(siteLimits(), nil)
	for _, tc := range []struct {
		account, reason string
		state           slurm.State
		held, want      bool
	}{
		{"phys", "QOSMaxJobsPerUserLimit", slurm.Pending, false, true},
		{"phys", "QOSMaxJobsPerUserLimit", slurm.Pending, true, false},
		{"phys", "Resources", slurm.Pending, false, false},
		{"phys", "PartitionDown", slurm.Running, false, false},
		{"new", "JobHeldUser", slurm.Pending, true, true},
	} {
		sj := slurm.Job{User: "bob", Account: tc.account, Reason: tc.reason, State: tc.state, Held: tc.held}
		if got := site.Outdated(sj); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
	if (Site{}).Outdated(slurm.Job{State: slurm.Pending, Held: true}) {
		t.Error("limits that were never read speak against a job")
	}
}

// TestNodesLeftOut: nodes are unusable because of unfit GPUs, and for a while after they return.
func TestNodesLeftOut(t *testing.T) {
	list := []nodes.Node{{Name: "n1", Usable: true}, {Name: "n2", Usable: true}, {Name: "n3", Usable: true}, {Name: "n4"}}
	findings := []elastic.Finding{{Node: "n1", Excluded: true, Why: "XID 79"}, {Node: "n2", Why: "one job says so"}}
	lost := map[string]time.Time{"n2": noon.Add(-10 * time.Second), "n3": noon.Add(-15 * time.Second), "n4": noon}
	got := Returned(Fit(list, findings), lost, 15*time.Second, noon)
	for i, want := range []string{nodes.Unfit, nodes.Returned, "", ""} {
		if got[i].Why.State != want || got[i].Usable != (got[i].Name == "n3") {
			t.Errorf("%+v, want %q", got[i], want)
		}
	}
}

// TestOtherNodesFirst: a job that Slurm refused to start on n1 is tried on other nodes first, and on n1
// if there are no others that the job may use and that are usable.
func TestOtherNodesFirst(t *testing.T) {
	for _, tc := range []struct {
		name     string
		job      slurm.Job
		reserved []string
		down     string
		phase    elastic.Phase
		want     string
	}{
		{"the others are idle", slurm.Job{}, nil, "", elastic.Waiting, "n2 n3"},
		{"one of them is down", slurm.Job{}, nil, "n2", elastic.Waiting, "n2 n3"},
		{"all of them are down", slurm.Job{}, nil, "n2 n3", elastic.Waiting, "n1 n2 n3"},
		{"the job excludes them", slurm.Job{ExcNodes: []string{"n2", "n3"}}, nil, "", elastic.Waiting, "n1"},
		{"a reservation keeps them", slurm.Job{}, []string{"n2", "n3"}, "", elastic.Waiting, "n1"},
		{"its constraint and a reservation do", slurm.Job{Constraint: "fast"}, []string{"n3"}, "", elastic.Waiting, "n1"},
		{"one that it may have is down", slurm.Job{Constraint: "fast"}, nil, "n3", elastic.Waiting, "n1 n3"},
		{"it runs", slurm.Job{}, nil, "", elastic.Running, "n1 n2 n3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, inventory := featured("fast", "slow", "fast")
			s.Now = noon
			for i := range s.Nodes {
				s.Nodes[i].Usable = !strings.Contains(tc.down, s.Nodes[i].Name)
			}
			limits := slurm.Limits{}
			if tc.reserved != nil {
				limits.Reservations = []slurm.Reservation{{Name: "kept", Start: noon.Add(-time.Hour), End: noon.Add(time.Hour), Nodes: tc.reserved}}
			}
			tc.job.ID, tc.job.Partition = 1, "gpu"
			j := elastic.Job{ID: 1, Phase: tc.phase, Partition: "gpu", Spec: elastic.Spec{Min: 1}}
			j.Refused.Start = j.Refused.Start.And(nodes.Placement{{Node: "n1", GPUs: 1}}, reason.SlurmSaid{Text: "no"}, noon.Add(-time.Minute))
			s.Jobs = append(s.Jobs, j)
			l := &Look{Nodes: inventory, Own: map[elastic.JobID]Job{1: {Slurm: &tc.job, Refused: j.Refused}}, Site: Read(limits, nil)}
			l.Choose(&s)
			l.Restrict(&s)
			if got := inEach(s, s.Jobs[0].Partition); got != tc.want {
				t.Errorf("it is tried on %q, want %q", got, tc.want)
			}
		})
	}
}

// TestRefusedAndIdle: Idle is set on a refusal while as many GPUs as the job needs are idle.
func TestRefusedAndIdle(t *testing.T) {
	s := elastic.Snapshot{Nodes: []nodes.Node{{Name: "n1", GPUs: 4, Used: 2, Usable: true, Partitions: []string{"gpu"}}}}
	var once elastic.Refused
	once.Start = once.Start.And(nil, reason.SlurmSaid{Text: "no"}, noon)
	for _, tc := range []struct {
		known elastic.Refused
		needs int
		want  bool
	}{{once, 2, true}, {once, 3, false}, {elastic.Refused{Idle: true}, 1, false}} {
		j := elastic.Job{Partition: "gpu", Spec: elastic.Spec{Min: tc.needs}}
		if got := Refused(tc.known, &j, &s); got.Idle != tc.want {
			t.Errorf("%+v: %v", tc, got.Idle)
		}
	}
}
