package claim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/nodes"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// site has 16 GPUs on two nodes, of which an ordinary job has some of n2.
func site(others int, jobs ...elastic.Job) *elastic.Snapshot {
	s := &elastic.Snapshot{Now: now, Limits: elastic.Limits{Cooldown: time.Minute}, Nodes: []nodes.Node{
		{Name: "n1", GPUs: 8, Usable: true, Partitions: []string{"gpu", "fast"}},
		{Name: "n2", GPUs: 8, Used: others, Usable: true, Partitions: []string{"gpu"}},
	}}
	for i, j := range jobs {
		j.ID = elastic.JobID(i + 1)
		s.Nodes = nodes.With(s.Nodes, nodes.Load{Place: j.Place})
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// waits returns a waiting job of "user@account".
func waits(who string, least, most int) elastic.Job {
	user, account, _ := strings.Cut(who, "@")
	return elastic.Job{User: user, Account: account, Phase: elastic.Waiting, Partition: "gpu", Speaks: true, Spec: elastic.Spec{Min: least, Max: most}}
}

func runs(who string, least, most, has int) elastic.Job {
	j := waits(who, least, most)
	j.Phase, j.Place = elastic.Running, nodes.Placement{{Node: "n1", GPUs: has}}
	return j
}

func with(j elastic.Job, change func(*elastic.Job)) elastic.Job {
	change(&j)
	return j
}

func TestClaims(t *testing.T) {
	faster := func(upTo int) *speed.Curve { // every GPU helps up to this many
		var samples []speed.Sample
		for n := 1; n <= 16; n++ {
			samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: n, Nodes: (n + 7) / 8}, Units: 1, At: now, Seconds: 1/float64(min(n, upTo)) + .001*float64(n)})
		}
		return speed.Fit(samples, now)
	}
	for _, c := range []struct {
		name string
		s    *elastic.Snapshot
		want string // of each user: wants/keeps/has deserved bound
	}{
		{"waiting jobs want their most, and keep nothing", site(0, waits("ann@phys", 1, 4), waits("ann@phys", 1, 2), waits("bob@bio", 2, 3)),
			"bob@bio 3/0/0 3 3, ann@phys 6/0/0 6 6"},
		{"without a maximum all GPUs of the partition", site(0, with(waits("ann@phys", 1, 0), func(j *elastic.Job) { j.Partition = "fast" })), "ann@phys 8/0/0 8 8"},
		{"two jobs of a partition want no more than it has", site(0, with(waits("ann@phys", 1, 6), func(j *elastic.Job) { j.Partition = "fast" }), with(waits("ann@phys", 1, 6), func(j *elastic.Job) { j.Partition = "fast" })),
			"ann@phys 8/0/0 8 8"},
		{"no more than makes it faster", site(0, with(waits("ann@phys", 1, 16), func(j *elastic.Job) { j.Curve = faster(5) })), "ann@phys 5/0/0 5 5"},
		{"what ordinary jobs have is not divided", site(6, waits("ann@phys", 1, 0), waits("bob@bio", 1, 0)), "bob@bio 16/0/0 4 4, ann@phys 16/0/0 6 6"},
		{"a running job keeps its minimum", site(0, runs("ann@phys", 2, 16, 8), waits("bob@bio", 1, 0)), "bob@bio 16/0/0 6 6, ann@phys 16/2/8 10 10"},
		{"minimums beyond what is deserved", site(0, runs("bob@bio", 8, 8, 8), waits("ann@phys", 1, 0), waits("eve@phys", 1, 0)),
			"bob@bio 8/8/8 7 8, ann@phys 16/0/0 5 4, eve@phys 16/0/0 4 4"},
		{"a silent job, one that rests, and a pinned one", site(0, with(runs("ann@phys", 1, 9, 2), func(j *elastic.Job) { j.Speaks = false }),
			with(runs("eve@phys", 1, 9, 2), func(j *elastic.Job) { j.Moved = now }), with(runs("joe@phys", 1, 9, 2), func(j *elastic.Job) { j.Directive.Pin = 3 })),
			"ann@phys 2/2/2 2 2, eve@phys 9/2/2 9 9, joe@phys 3/3/2 3 3"},
		{"held by its user, and blocked", site(0, with(waits("ann@phys", 1, 9), func(j *elastic.Job) { j.Directive.Hold = true }),
			with(waits("bob@bio", 1, 9), func(j *elastic.Job) { j.Blocked.Code = elastic.BeginsLater })), "bob@bio 0/0/0 0 0, ann@phys 0/0/0 0 0"},
		{"an account that vanished", site(0, waits("ann@phys", 1, 12), runs("eve@old", 1, 9, 2)), "eve@old 9/1/2 4 4, ann@phys 12/0/0 12 12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, err := share.Parse("phys=60,bio=40")
			if err != nil {
				t.Fatal(err)
			}
			got, err := Of(tree, c.s, nil, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			var each []string
			for _, u := range got.Each {
				each = append(each, fmt.Sprintf("%s@%s %d/%d/%d %d %d", u.User, u.Account, u.GPUs, u.Least, u.Has, u.Deserved.GPUs, u.Bound))
			}
			if text := strings.Join(each, ", "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestUnknownAccountsAreNamed(t *testing.T) {
	tree, err := share.Parse("phys=1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Of(tree, site(0, waits("ann@phys", 1, 1), waits("eve@old", 1, 1), waits("bob@", 1, 1)), nil, nil, nil)
	if err != nil || fmt.Sprintf("%q", got.Unknown) != `["" "old"]` {
		t.Errorf("%q, %v", got.Unknown, err)
	}
}

func TestRigidJobsKeepAll(t *testing.T) {
	tree, err := share.Parse("phys=1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Of(tree, site(0, runs("ann@phys", 1, 9, 5)), nil, func(string) bool { return true }, nil)
	if err != nil || got.Each[0].Least != 5 {
		t.Errorf("%+v, %v", got.Each, err)
	}
}

// Caps are made only where they bind, those that lacked most lately first.
func TestCapsOnlyWhereTheyBind(t *testing.T) {
	tree, err := share.Parse("phys=1,bio=1,chem=1")
	if err != nil {
		t.Fatal(err)
	}
	s := site(0, waits("ann@phys", 1, 16), waits("ann@phys", 1, 16), waits("bob@bio", 1, 16), waits("eve@chem", 1, 2))
	credit := share.NewLedger(0)
	credit.Book("phys", "ann", 2, 1, time.Hour)
	c, err := Of(tree, s, credit, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, limit := range c.Caps() {
		text = append(text, fmt.Sprintf("%+v %d of %d jobs", limit.Why, limit.Most, len(limit.Jobs)))
	}
	const want = "{value:{} Account:phys User:ann QOS: Scavenger:false GPUs:7} 7 of 2 jobs, {value:{} Account:bio User:bob QOS: Scavenger:false GPUs:7} 7 of 1 jobs"
	if got := strings.Join(text, ", "); !c.Contended() || got != want {
		t.Error(got)
	}
	s.Jobs = s.Jobs[3:]
	if c, err = Of(tree, s, credit, nil, nil); err != nil || c.Contended() || len(c.Caps()) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestFirstLaneOfItsUser: a job of another user that names a sweep's token does not take the place of the lane that
// the sweep keeps.
func TestFirstLaneOfItsUser(t *testing.T) {
	tree, err := share.Parse("phys=1,bio=1")
	if err != nil {
		t.Fatal(err)
	}
	lane := func(who string, uid uint32) elastic.Job {
		return with(runs(who, 1, 1, 1), func(j *elastic.Job) { j.Spec.Sweep, j.UID = strings.Repeat("a", 32), uid })
	}
	got, err := Of(tree, site(0, lane("bob@bio", 1001), lane("ann@phys", 1000), lane("ann@phys", 1000)), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Each {
		if c.Least != 1 {
			t.Errorf("%+v keeps %d, want its first lane", c, c.Least)
		}
	}
}
