package eligible

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

func gpusOf(n int) []slurm.Amount { return []slurm.Amount{{Of: slurm.OfGPUs, N: n}} }

// site has an account below another, two QOS, and a partition with one of its own.
func siteLimits() slurm.Limits {
	return slurm.Limits{
		Enforced: true,
		Associations: []slurm.Association{
			{Account: "root"},
			{Account: "phys", Parent: "root", Group: append(gpusOf(8), slurm.Amount{Of: slurm.OfJobs, N: 5})},
			{Account: "theory", Parent: "phys", Group: gpusOf(6)},
			{Account: "theory", User: "alice", Group: gpusOf(4), Job: gpusOf(3), Own: []slurm.Amount{{Of: slurm.OfJobs, N: 2}}},
			{Account: "phys", User: "bob"},
		},
		QOS: []slurm.QOS{
			{Name: "normal"},
			{Name: "big", Group: gpusOf(16), Job: gpusOf(12), OverPartition: true},
			{Name: "part", Job: gpusOf(2), User: gpusOf(5), Least: gpusOf(1)},
			{Name: "long", AnyTime: true},
		},
		Partitions: []slurm.Partition{
			{Name: "gpu", Up: true, MaxNodes: 2}, {Name: "fast", Up: true, QOS: "part", MaxTime: time.Hour},
			{Name: "blink", Up: true, MaxTime: time.Second}, {Name: "lifted", Up: true, MaxTime: time.Second, QOS: "long"},
			{Name: "shut", Up: false}, {Name: "theirs", Up: true, AllowAccounts: []string{"chem"}},
		},
	}
}

func runs(id slurm.JobID, user, account, qos string, gpus int) slurm.Job {
	return slurm.Job{ID: id, User: user, Account: account, QOS: qos, Partition: "gpu", State: slurm.Running, GPUs: gpus, CPUs: gpus, Nodes: []string{"n1"}, TimeLimit: time.Minute}
}

func TestWhichLimitsHoldForAJob(t *testing.T) {
	for _, tc := range []struct {
		name, user, account, qos, partition string
		want                                string // those that bind, and in brackets those a higher one replaces
	}{
		{"of its association, and of the accounts above", "alice", "theory", "normal", "gpu",
			"GrpTRES=gres/gpu=4 of user alice in account theory; MaxJobs=2 of user alice in account theory; MaxTRES=gres/gpu=3 of user alice in account theory; " +
				"GrpTRES=gres/gpu=6 of account theory; GrpTRES=gres/gpu=8 of account phys; GrpJobs=5 of account phys; MaxNodes=2 of partition gpu"},
		{"what a QOS sets goes first", "alice", "theory", "big", "gpu",
			"GrpTRES=gres/gpu=16 of QOS big; MaxTRES=gres/gpu=12 of QOS big; (GrpTRES=gres/gpu=4 of user alice in account theory); MaxJobs=2 of user alice in account theory; " +
				"(MaxTRES=gres/gpu=3 of user alice in account theory); (GrpTRES=gres/gpu=6 of account theory); (GrpTRES=gres/gpu=8 of account phys); GrpJobs=5 of account phys; MaxNodes=2 of partition gpu"},
		{"the partition's QOS before the job's", "bob", "phys", "normal", "fast",
			"MaxTRESPerUser=gres/gpu=5 of QOS part for user bob; MaxTRES=gres/gpu=2 of QOS part; MinTRES=gres/gpu=1 of QOS part; GrpTRES=gres/gpu=8 of account phys; GrpJobs=5 of account phys"},
		{"unless the job's says otherwise", "bob", "phys", "big", "fast",
			"GrpTRES=gres/gpu=16 of QOS big; MaxTRES=gres/gpu=12 of QOS big; MaxTRESPerUser=gres/gpu=5 of QOS part for user bob; (MaxTRES=gres/gpu=2 of QOS part); MinTRES=gres/gpu=1 of QOS part; " +
				"(GrpTRES=gres/gpu=8 of account phys); GrpJobs=5 of account phys"},
		{"a partition that is down", "bob", "phys", "big", "shut", "partition shut: it starts no jobs now"},
		{"more time than its partition gives", "bob", "phys", "normal", "blink", "partition blink: its MaxTime is 0s"},
		{"unless its QOS lifts that", "bob", "phys", "long", "blink", "GrpTRES=gres/gpu=8 of account phys; GrpJobs=5 of account phys"},
		{"which that of the partition does not", "bob", "phys", "normal", "lifted", "partition lifted: its MaxTime is 0s"},
		{"a partition for others", "bob", "phys", "big", "theirs", "partition theirs: closed to account phys"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sj := runs(1, tc.user, tc.account, tc.qos, 1)
			sj.Partition = tc.partition
			var got []string
			for _, r := range newCapBook(indexed(siteLimits(), nil)).rules(sj) {
				if r.exempt {
					r.name = "(" + r.name + ")"
				}
				got = append(got, r.name)
			}
			if all := strings.Join(got, "; "); all != tc.want && !(strings.HasPrefix(tc.want, "partition") && strings.HasSuffix(all, tc.want)) {
				t.Errorf("got  %s\nwant %s", all, tc.want)
			}
		})
	}
}

// The usage of ordinary jobs of the group counts, and that of jobs to which the limit does not
// apply, because Slurm counts both.
func TestWhoUsesALimit(t *testing.T) {
	b := newCapBook(indexed(siteLimits(), nil))
	mine := []slurm.Job{runs(1, "alice", "theory", "normal", 2), runs(2, "alice", "theory", "big", 3)}
	for _, sj := range mine {
		b.concern(sj)
	}
	for _, sj := range append(mine, runs(3, "bob", "phys", "normal", 1), runs(4, "carol", "chem", "normal", 8)) {
		b.count(sj)
	}
	var got []string
	for _, c := range b.all() {
		if !c.Each && !c.Least {
			got = append(got, fmt.Sprintf("%s: binds %d, others %d %v", c.Name, len(c.Jobs), c.Others, users(c)))
		}
	}
	want := []string{
		"GrpTRES=gres/gpu=4 of user alice in account theory: binds 1, others 3 [job 2 of alice has 3]",
		"MaxJobs=2 of user alice in account theory: binds 2, others 0 []",
		"GrpTRES=gres/gpu=6 of account theory: binds 1, others 3 [job 2 of alice has 3]",
		"GrpTRES=gres/gpu=8 of account phys: binds 1, others 4 [job 2 of alice has 3 job 3 of bob has 1]",
		"GrpJobs=5 of account phys: binds 2, others 1 [job 3 of bob has 1]",
		"GrpTRES=gres/gpu=16 of QOS big: binds 1, others 0 []",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A reservation excludes jobs whose time limit reaches into it. Jobs in it may use its nodes only,
// and only from its beginning.
func TestWhatReservationsLeave(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	l := slurm.Limits{Reserved: map[slurm.JobID]string{1: "course", 2: "maint"}, Reservations: []slurm.Reservation{
		{Name: "course", Start: now.Add(-time.Hour), End: now.Add(time.Hour), Nodes: []string{"n1"}},
		{Name: "maint", Start: now.Add(10 * time.Hour), End: now.Add(12 * time.Hour), Nodes: []string{"n1", "n2"}},
		{Name: "past", Start: now.Add(-10 * time.Hour), End: now.Add(-time.Hour), Nodes: []string{"n3"}},
	}}
	for _, tc := range []struct {
		job   slurm.JobID
		limit time.Duration
		open  string
	}{
		{1, time.Hour, "n1"}, // its own
		{1, 0, ""},           // its own, but it would run into the maintenance
		{2, time.Hour, ""},   // not yet
		{3, time.Hour, "n2 n3"},
		{3, 0, "n3"},
		{3, 11 * time.Hour, "n3"},
	} {
		k := keptFrom(l, tc.job, tc.limit, now)
		var open []string
		for _, n := range []string{"n1", "n2", "n3"} {
			if k.open(n) {
				open = append(open, n)
			}
		}
		if got := strings.Join(open, " "); got != tc.open {
			t.Errorf("job %d with a limit of %v may have %q, want %q (%s)", tc.job, tc.limit, got, tc.open, k.why)
		}
	}
}

// users formats which jobs use a limit.
func users(c elastic.Cap) (out []string) {
	for _, u := range c.Users {
		out = append(out, fmt.Sprintf("job %d of %s has %s", u.Job, u.User, u.Has))
	}
	return out
}

// A partition's MaxTime is named only where a shorter time limit would let the job start.
func TestMaxTimeIsNamedWhereItAloneCloses(t *testing.T) {
	for name, c := range map[string]struct {
		partition slurm.Partition
		qos, in   string
		named     bool
	}{
		"too long":                       {slurm.Partition{Up: true}, "normal", "gpu", true},
		"too long, and down":             {slurm.Partition{}, "normal", "gpu", false},
		"too long, and for others":       {slurm.Partition{Up: true, AllowAccounts: []string{"chem"}}, "normal", "gpu", false},
		"too long, and not for its QOS":  {slurm.Partition{Up: true, DenyQOS: []string{"normal"}}, "normal", "gpu", false},
		"its QOS lifts that":             {slurm.Partition{}, "long", "gpu", false},
		"it may start in another one":    {slurm.Partition{Up: true}, "normal", "gpu,fast", false},
		"too long for one, others there": {slurm.Partition{Up: true, DenyAccounts: []string{"chem"}}, "normal", "gpu", true},
	} {
		c.partition.Name, c.partition.MaxTime = "gpu", time.Second
		limits := slurm.Limits{QOS: []slurm.QOS{{Name: "normal"}, {Name: "long", AnyTime: true}}, Partitions: []slurm.Partition{c.partition, {Name: "fast", Up: true}}}
		sj := runs(1, "bob", "phys", c.qos, 1)
		sj.Partition = c.in
		named := false
		for _, r := range newCapBook(indexed(limits, nil)).rules(sj) {
			named = named || capOf(r).MaxTime > 0
		}
		if named != c.named {
			t.Errorf("%s: named=%t", name, named)
		}
	}
}
