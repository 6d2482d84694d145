package eligible

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

func of(resource string, n int) []slurm.Amount { return []slurm.Amount{{Of: resource, N: n}} }

// minutesSite has limits on memory, minutes and wall time on each level.
func minutesSite() slurm.Limits {
	return slurm.Limits{
		Enforced: true,
		Associations: []slurm.Association{
			{Account: "phys", Minutes: slurm.Minutes{Budget: append(gpusOf(100), of(slurm.OfWall, 90)...), Used: append(gpusOf(100), of(slurm.OfWall, 12)...)}},
			{Account: "theory", Parent: "phys", Group: of(slurm.OfMemory, 64000), Minutes: slurm.Minutes{Budget: of(slurm.OfCPUs, 600), Used: of(slurm.OfCPUs, 60)}},
			{Account: "theory", User: "alice", Job: of(slurm.OfMemory, 16000), Minutes: slurm.Minutes{Group: gpusOf(3000), Job: gpusOf(600), Wall: time.Hour}},
			{Account: "phys", User: "bob", Minutes: slurm.Minutes{Wall: 2 * time.Hour}},
		},
		QOS: []slurm.QOS{
			{Name: "normal"},
			{Name: "rich", Minutes: slurm.Minutes{Budget: gpusOf(5000), Used: gpusOf(1000), Wall: 3 * time.Hour}, UserMinutes: gpusOf(700), AccountMinutes: of(slurm.OfMemory, 900)},
		},
		Partitions: []slurm.Partition{{Name: "gpu", Up: true}, {Name: "small", Up: true, CPUsPerNode: 8, MemoryPerNode: 32000}},
	}
}

func TestLimitsOnMemoryAndMinutes(t *testing.T) {
	const theory = "GrpTRES=mem=64000M of account theory; "
	for _, tc := range []struct {
		name, user, account, qos, partition string
		limit                               time.Duration
		safe                                bool
		want                                string // those that bind
	}{
		{"of a user, what the accounts have used up, and not what they have left", "alice", "theory", "normal", "gpu", time.Hour, false,
			"MaxTRES=mem=16000M of user alice in account theory; GrpTRESRunMins=gres/gpu=3000 of user alice in account theory; MaxTRESMins=gres/gpu=600 of user alice in account theory; " +
				theory + "GrpTRESMins=gres/gpu=100 of account phys, which is used up"},
		{"with safe what is left is a limit", "alice", "theory", "normal", "gpu", time.Hour, true,
			"MaxTRES=mem=16000M of user alice in account theory; GrpTRESRunMins=gres/gpu=3000 of user alice in account theory; MaxTRESMins=gres/gpu=600 of user alice in account theory; " +
				theory + "GrpTRESMins=cpu=600 of account theory, of which 540 are left; GrpTRESMins=gres/gpu=100 of account phys, which is used up"},
		{"a time limit beyond MaxWall", "bob", "phys", "normal", "gpu", 121 * time.Minute, false,
			"MaxWall=2h0m0s of user bob in account phys, which is less than its time limit; GrpTRESMins=gres/gpu=100 of account phys, which is used up"},
		{"without a time limit a job gets MaxWall", "bob", "phys", "normal", "gpu", 0, false, "GrpTRESMins=gres/gpu=100 of account phys, which is used up"},
		{"what a QOS has left goes before what an account has not, and its wall before a user's", "bob", "phys", "rich", "gpu", 150 * time.Minute, false,
			"MaxTRESRunMinsPerUser=gres/gpu=700 of QOS rich for user bob; MaxTRESRunMinsPerAccount=mem=900 of QOS rich for account phys"},
		{"and with safe", "bob", "phys", "rich", "gpu", 150 * time.Minute, true,
			"GrpTRESMins=gres/gpu=5000 of QOS rich, of which 4000 are left; MaxTRESRunMinsPerUser=gres/gpu=700 of QOS rich for user bob; MaxTRESRunMinsPerAccount=mem=900 of QOS rich for account phys"},
		{"of each node in a partition", "bob", "phys", "rich", "small", time.Hour, false,
			"MaxTRESRunMinsPerUser=gres/gpu=700 of QOS rich for user bob; MaxTRESRunMinsPerAccount=mem=900 of QOS rich for account phys; MaxCPUsPerNode=8 of partition small; MaxMemPerNode=32000M of partition small"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sj := runs(1, tc.user, tc.account, tc.qos, 1)
			sj.Partition, sj.TimeLimit = tc.partition, tc.limit
			l := minutesSite()
			l.Safe = tc.safe
			var got []string
			for _, r := range newCapBook(indexed(l, nil)).rules(sj) {
				if !r.exempt {
					got = append(got, r.name)
				}
			}
			if all := strings.Join(got, "; "); all != tc.want {
				t.Errorf("got  %s\nwant %s", all, tc.want)
			}
		})
	}
}

// The caps that follow from rules, and their usage by ordinary jobs: memory in MB, minutes until the
// time limit.
func TestWhoUsesMemoryAndMinutes(t *testing.T) {
	l := minutesSite()
	l.Safe = true
	b := newCapBook(indexed(l, nil))
	mine := runs(1, "alice", "theory", "normal", 2)
	b.concern(mine)
	other := runs(2, "carol", "theory", "normal", 3)
	other.MemoryMB, other.CPUs, other.TimeLimit, other.TimeLeft = 5000, 4, time.Hour, 10*time.Minute-time.Second
	endless := runs(3, "alice", "theory", "normal", 1)
	endless.TimeLimit = 0
	for _, sj := range []slurm.Job{mine, other, endless} {
		b.count(sj)
	}
	var got []string
	for _, c := range b.all() {
		if c.Shared() {
			got = append(got, fmt.Sprintf("%s: %d %s minutes=%t %v", c.Name, c.Most, c.Of, c.Minutes, users(c)))
		} else if c.Of == elastic.Jobs && c.Most == 0 {
			got = append(got, c.Name)
		}
	}
	want := []string{
		"GrpTRESRunMins=gres/gpu=3000 of user alice in account theory: 3000 GPUs minutes=true [job 3 of alice has no end]",
		"GrpTRES=mem=64000M of account theory: 64000 MB of memory minutes=false [job 2 of carol has 5000M]",
		"GrpTRESMins=cpu=600 of account theory, of which 540 are left: 540 CPUs minutes=true [job 2 of carol has 40 min job 3 of alice has no end]",
		"GrpTRESMins=gres/gpu=100 of account phys, which is used up",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// MaxCPUsPerNode of a partition reduces a node's CPUs if the node is in no other partition.
func TestCPUsOfAPartitionOnANode(t *testing.T) {
	list := []nodes.Node{
		{Name: "n1", CPUs: 64, CPUsUsed: 6, Partitions: []string{"small"}},
		{Name: "n2", CPUs: 4, Partitions: []string{"small"}},
		{Name: "n3", CPUs: 64, Partitions: []string{"small", "gpu"}},
		{Name: "n4", CPUs: 64, Partitions: []string{"gpu"}},
		{Name: "n5", CPUs: 64, CPUsUsed: 12, Partitions: []string{"small"}}, // the limit was lowered
	}
	PerNode(minutesSite(), list)
	var got []int
	for _, n := range list {
		got = append(got, n.CPUs)
	}
	if want := []int{8, 4, 64, 64, 12}; !slices.Equal(got, want) || list[0].CPUsUsed != 6 {
		t.Errorf("%v, want %v", got, want)
	}
}
