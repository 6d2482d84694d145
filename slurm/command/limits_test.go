package command

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// amountsOf lists resources and how many of each.
func amountsOf(words ...any) (out []slurm.Amount) {
	for i := 0; i < len(words); i += 2 {
		out = append(out, slurm.Amount{Of: words[i].(string), N: words[i+1].(int)})
	}
	return out
}

// recordedLimits are the limits that record-limits.sh set, without the usage since then.
func recordedLimits() (associations map[string]slurm.Association, qos slurm.QOS) {
	const gpu, cpu, node, job, mem, wall = slurm.OfGPUs, slurm.OfCPUs, slurm.OfNodes, slurm.OfJobs, slurm.OfMemory, slurm.OfWall
	associations = map[string]slurm.Association{
		"phys": {Account: "phys", Parent: "root", Group: amountsOf(gpu, 6, mem, 64001, job, 5), Job: amountsOf(cpu, 4),
			Minutes: slurm.Minutes{Budget: amountsOf(cpu, 5000, gpu, 100, wall, 90)}},
		"phys mail": {Account: "phys", User: "mail", Job: amountsOf(cpu, 4)},
		"theory":    {Account: "theory", Parent: "phys", Job: amountsOf(cpu, 4), Minutes: slurm.Minutes{Group: amountsOf(gpu, 3000)}},
		"theory games": {Account: "theory", User: "games", Group: amountsOf(cpu, 10, gpu, 2), Job: amountsOf(cpu, 4, gpu, 2, mem, 16384, node, 1), Own: amountsOf(job, 3),
			Minutes: slurm.Minutes{Job: amountsOf(gpu, 600), Wall: 26*time.Hour + 3*time.Minute}},
	}
	qos = slurm.QOS{Name: "capped", Group: amountsOf(gpu, 7, job, 9), User: amountsOf(gpu, 3, job, 2), Account: amountsOf(gpu, 5, node, 2, job, 4),
		Node: amountsOf(gpu, 4), Least: amountsOf(gpu, 1), OverPartition: true, UserMinutes: amountsOf(gpu, 480), AccountMinutes: amountsOf(cpu, 9000),
		Minutes: slurm.Minutes{Budget: amountsOf(gpu, 200, wall, 60), Group: amountsOf(gpu, 900), Job: amountsOf(gpu, 240), Wall: 2 * time.Hour}}
	return associations, qos
}

// The answers were recorded on labs with accounting, one a release: see
// testdata/record-limits.sh.
func TestLimitsAsRecorded(t *testing.T) {
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			file := func(name string) string { return fixture(t, release, "limits", name) }
			site, err := parseAccounting(file("config.txt"))
			if err != nil || !site.enforced || !site.safe || !site.memory || !strings.HasPrefix(site.cluster, "lab") {
				t.Errorf("%+v, %v", site, err)
			}
			var l slurm.Limits
			var err1, err2 error
			l.Associations, err1 = parseAssociations(file("assoc.txt"))
			l.QOS, err2 = parseQOS(file("qos.txt"))
			wantAssociations, wantQOS := recordedLimits()
			if err := errors.Join(err1, err2); err != nil || len(l.Associations) != 9 || len(l.QOS) != 2 || !reflect.DeepEqual(l.QOS[1], wantQOS) {
				t.Fatalf("%v\n%+v\n%+v", err, l.QOS, l.Associations)
			}
			for _, a := range l.Associations {
				if want, ok := wantAssociations[strings.TrimSpace(a.Account+" "+a.User)]; ok && !reflect.DeepEqual(a, want) {
					t.Errorf("got  %+v\nwant %+v", a, want)
				}
			}
			usageAsRecorded(t, file("usage.txt"), site.cluster, l)
			partitions, err := parsePartitions(file("partition.txt"))
			if err != nil || !reflect.DeepEqual(partitions, []slurm.Partition{{Name: "gpu", MaxNodes: 1, CPUsPerNode: 8, MemoryPerNode: 32000, QOS: "capped", Tier: 1, Up: true, Default: true}}) {
				t.Errorf("%+v, %v", partitions, err)
			}
			reservations, err := parseReservations(file("reservation.txt"))
			if err != nil || len(reservations) != 2 || reservations[1].Name != "maint" || reservations[0].Maint || !reservations[1].Maint || len(reservations[1].Nodes) != 2 || reservations[1].End.Sub(reservations[1].Start) != time.Hour {
				t.Errorf("%+v, %v", reservations, err)
			}
			if none, err := parseReservations(file("noreservation.txt")); err != nil || len(none) != 0 {
				t.Errorf("%v, %v", none, err)
			}
			memoryAsRecorded(t, release, file("jobs.txt"))
		})
	}
}

// usageAsRecorded: two jobs with two GPUs each had run for about 2 min.
func usageAsRecorded(t *testing.T, out, cluster string, l slurm.Limits) {
	t.Helper()
	if err := parseUsage(out, cluster, &l); err != nil {
		t.Fatal(err)
	}
	for _, a := range l.Associations {
		if m := a.Minutes; a.Account == "phys" && a.User == "" {
			if len(m.Used) != 3 || m.Used[1].Of != slurm.OfGPUs || m.Used[1].N < 3 || m.Used[1].N > 20 || m.Used[0].N < 2 || m.Used[0].N > m.Used[1].N || m.Used[2].N < 1 || m.Used[2].N > 10 {
				t.Errorf("%+v", m)
			}
		} else if len(m.Used) != 0 {
			t.Errorf("%+v", a)
		}
	}
	if m := l.QOS[1].Minutes; !reflect.DeepEqual(m.Used, amountsOf(slurm.OfGPUs, 0, slurm.OfWall, 0)) {
		t.Errorf("%+v", m)
	}
	l.Associations[0].Minutes.Budget = amountsOf("gres/gpu:a100", 5)
	if err := parseUsage(out, cluster, &l); err == nil {
		t.Error("a budget without a usage was taken for unused")
	}
}

// memoryAsRecorded: per GPU, per CPU, per node, and without a request, which 20.11 does
// not count before the job runs.
func memoryAsRecorded(t *testing.T, release, out string) {
	t.Helper()
	_, memory, err := parseJobLimits(out, fixtureDelimiter)
	got := map[slurm.Memory]bool{}
	for _, m := range memory {
		got[m] = true
	}
	want := map[slurm.Memory]bool{{PerNode: 1000}: true, {PerCPU: 500}: true}
	switch release {
	case "20.11":
		want[slurm.Memory{PerNode: 2000}] = true
	case "22.05":
		want[slurm.Memory{PerNode: 2000}], want[slurm.Memory{PerNode: 64000}] = true, true
	default:
		want[slurm.Memory{PerGPU: 1000}], want[slurm.Memory{PerNode: 64000}] = true, true
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// A job's memory is known once it runs; before that, Slurm reports the memory for the
// size that it was submitted with.
func TestMemoryThatAJobHas(t *testing.T) {
	for _, tc := range []struct {
		tracked string
		nodes   []string
		want    int
	}{
		{"cpu=2,mem=2000M,node=1,gres/gpu=2", []string{"gpu1"}, 2000},
		{"cpu=2,mem=62.50G,node=1", []string{"gpu1"}, 64000},
		{"cpu=2,node=1", []string{"gpu1"}, 0},
		{"cpu=2,mem=2000M,node=1", nil, 0},
	} {
		v, j := reader{record: make([]string, jobFieldCount)}, slurm.Job{Nodes: tc.nodes}
		v.record[fTresAlloc] = tc.tracked
		if v.size(&j); v.err != nil || j.MemoryMB != tc.want || j.CPUs != 2 {
			t.Errorf("%s on %v: %+v, %v", tc.tracked, tc.nodes, j, v.err)
		}
	}
	for text, want := range map[string]int{"2500": 2500, "64001M": 64001, "62.50G": 64000, "1T": 1 << 20, "2048K": 2, "1E": 1 << 40, "9999999999999P": 1 << 44} {
		if got, ok := megabytes(text); !ok || got != want {
			t.Errorf("%s is %d, %t; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "M", "4X", "-1", "0x10", "1e9", "1.2.3", "NaN", "+5"} {
		if got, ok := megabytes(text); ok {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

// A truncated or unreadable answer is an error: a part of the limits must not be taken
// for all of them.
func TestLimitsThatCannotBeRead(t *testing.T) {
	for _, out := range []string{"", "\n", "phys||", "phys|||root|gres/gpu=6|5|cpu=4|||||||", "phys|||root|gres/gpu=x|5||||||||\n",
		"phys|||root|gres/gpu=|5||||||||\n", "phys|||root|mem=4X|5||||||||\n", "phys|||root||5|||||soon|||\n", "phys|||root||5||||||||soon\n", "phys|||\n", "|||root||||||||||\n"} {
		if list, err := parseAssociations(out); err == nil {
			t.Errorf("%q was read as %+v", out, list)
		}
	}
	for _, out := range []string{"ClusterName=c Account=phys UserName= Partition= GrpTRESMins=gres/gpu=100", "ClusterName=c Account=phys UserName= Partition= GrpTRESMins=gres/gpu=100(x)",
		"ClusterName=d Account=phys UserName= Partition= GrpTRESMins=gres/gpu=100(7)", "ClusterName=c Account=phys UserName=bob(5) Partition= GrpTRESMins=gres/gpu=100(7)", ""} {
		l := slurm.Limits{Associations: []slurm.Association{{Account: "phys", Minutes: slurm.Minutes{Budget: amountsOf(slurm.OfGPUs, 100)}}}}
		if err := parseUsage(out, "c", &l); err == nil {
			t.Errorf("%q was read as %+v", out, l)
		}
	}
	for _, out := range []string{"", "PartitionName=gpu MaxNodes=4", "PartitionName=gpu State=UP MaxNodes=many", "PartitionName=gpu State=UP MaxMemPerNode=lots", "PartitionName=gpu State=UP PriorityTier=high", "PartitionName=gpu State=UP MinNodes=1 MaxNodes=1 MaxTime=1 MaxCPUsPerNode=1 MaxMemPerNode=1 PriorityTier=1 TRESBillingWeights=CPU=much", "slurm_load_partitions: error"} {
		if list, err := parsePartitions(out); err == nil {
			t.Errorf("%q was read as %+v", out, list)
		}
	}
	for _, out := range []string{"ReservationName=r StartTime=5", "ReservationName=r StartTime=9 EndTime=5 Nodes=n1", "ReservationName=r StartTime=5 EndTime=9 Nodes=n[1"} {
		if list, err := parseReservations(out); err == nil {
			t.Errorf("%q was read as %+v", out, list)
		}
	}
}

// The number of queries does not depend on the number of jobs: three if limits are not
// enforced and nothing is reserved, at most eight.
func TestLimitsTakeFewQueries(t *testing.T) {
	s := newStubs(t)
	s.set("scontrol", `case "$*" in
*config*) printf 'ClusterName = c\nAccountingStorageEnforce = none\nSLURM_VERSION = 24.11.5\n' ;;
*partition*) echo 'PartitionName=gpu State=UP MaxNodes=2 MinNodes=0 MaxTime=UNLIMITED' ;;
*) echo 'No reservations in the system' ;; esac`)
	got, err := s.client(Config{}).Limits(context.Background())
	if err != nil || got.Enforced || len(got.Partitions) != 1 || got.Partitions[0].MaxNodes != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if calls := s.calls(); len(calls) != 3 {
		t.Errorf("%d queries: %v", len(calls), calls)
	}
	s.write("assoc", fixture(t, "22.05", "limits", "assoc.txt"))
	s.write("qos", fixture(t, "22.05", "limits", "qos.txt"))
	s.write("assoc_mgr", fixture(t, "22.05", "limits", "usage.txt"))
	s.write("reservation", fixture(t, "22.05", "limits", "reservation.txt"))
	s.set("sacctmgr", `cat $here/$4`)
	s.set("squeue", `nonce=${4#*@}; nonce=${nonce%%|*}; [ $3 = -o ] && { printf '7@%s|gpu[1-2]@%s.\n8@%s|@%s.\n' $nonce $nonce $nonce $nonce; exit; }
printf '7@%s|r1@%s|1000M@%s|cpu=2,mem=1000M,node=1@%s.\n8@%s|@%s|0@%s|@%s.\n' $nonce $nonce $nonce $nonce $nonce $nonce $nonce $nonce`)
	s.write("config", fixture(t, "22.05", "limits", "config.txt"))
	s.set("scontrol", `case "$*" in
*config*) cat $here/config ;;
*assoc_mgr*) cat $here/assoc_mgr ;;
*partition*) echo 'PartitionName=gpu State=UP MaxNodes=2 MinNodes=0 MaxTime=UNLIMITED' ;;
*) cat $here/reservation ;; esac`)
	got, err = s.client(Config{}).Limits(context.Background())
	if err != nil || !got.Enforced || len(got.Associations) != 9 || len(got.QOS) != 2 || len(got.Reservations) != 2 || len(got.Reserved) != 1 || got.Reserved[7] != "r1" || !got.Safe ||
		got.Memory[7] != (slurm.Memory{PerNode: 1000}) || !reflect.DeepEqual(got.Excluded, map[slurm.JobID][]string{7: {"gpu1", "gpu2"}}) || len(got.Associations[5].Minutes.Used) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if calls := s.calls(); len(calls) != 8 {
		t.Errorf("%d queries: %v", len(calls), calls)
	}
	s.set("squeue", `nonce=${4#*@}; nonce=${nonce%%|*}; [ $3 = -o ] && exit 1; printf '7@%s|r1@%s|1000M@%s|cpu=2,mem=1000M,node=1@%s.\n' $nonce $nonce $nonce $nonce`)
	if got, err = s.client(Config{}).Limits(context.Background()); err == nil { // a node that a job excludes would be given to it
		t.Errorf("without the nodes that jobs exclude: %+v", got)
	}
	s.set("sacctmgr", "exit 1") // an answer that is incomplete is not used at all
	if got, err = s.client(Config{}).Limits(context.Background()); err == nil || got.Partitions != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// As seen on Slurm 22.05.8 and 24.11.5, with and without accounting.
func TestWhomAPartitionLetsIn(t *testing.T) {
	const partition = "PartitionName=gpu State=UP AllowAccounts=Phys AllowQos=fast"
	for _, tc := range []struct {
		release, enforce string
		accounts, qos    string // allowed
	}{
		{"22.05.8", "none", "Phys", ""},
		{"22.05.8", "associations", "Phys", "fast"},
		{"22.05.8", "associations,limits", "Phys", "fast"},
		{"24.11.5", "none", "", ""},
		{"24.11.5", "associations", "Phys,theory,strings", "fast"},
		{"24.11.5", "associations,limits", "Phys,theory,strings", "fast"},
	} {
		for _, list := range []string{"Allow", "Deny"} {
			s := newStubs(t)
			s.set("scontrol", `case "$*" in
*config*) printf 'ClusterName = c\nAccountingStorageEnforce = `+tc.enforce+`\nSLURM_VERSION = `+tc.release+`\n' ;;
*partition*) echo '`+strings.ReplaceAll(partition, "Allow", list)+`' ;;
*) echo 'No reservations in the system' ;; esac`)
			s.set("sacctmgr", `case "$*" in
*qos*) echo 'fast|||||||||||||||||' ;;
*) printf '%s\n' 'theory|||phys||||||||||' 'strings|||theory||||||||||' 'phys|||root||||||||||' 'chem|||root||||||||||' 'theory|ann||||||||||||' ;; esac`)
			l, err := s.client(Config{}).Limits(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := l.Partitions[0]
			accounts, qos := p.AllowAccounts, p.AllowQOS
			if list == "Deny" {
				accounts, qos = p.DenyAccounts, p.DenyQOS
			}
			if strings.Join(accounts, ",") != tc.accounts || strings.Join(qos, ",") != tc.qos {
				t.Errorf("%s, %s, %s: accounts %v, QOS %v; want %s, %s", tc.release, tc.enforce, list, accounts, qos, tc.accounts, tc.qos)
			}
		}
	}
}

func FuzzLimits(f *testing.F) {
	for _, release := range releases {
		for _, name := range []string{"assoc.txt", "qos.txt", "partition.txt", "reservation.txt", "noreservation.txt", "config.txt", "usage.txt", "jobs.txt"} {
			f.Add(fixture(f, release, "limits", name))
		}
	}
	f.Add("PartitionName=gpu State=UP TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu:a100=2.0\n")
	f.Fuzz(func(t *testing.T, out string) {
		all := func(amounts ...[]slurm.Amount) {
			for _, list := range amounts {
				for _, a := range list {
					if a.N < 0 || a.Of == "" {
						t.Fatalf("%+v", a)
					}
				}
			}
		}
		associations, err := parseAssociations(out)
		for _, a := range associations {
			all(a.Group, a.Own, a.Job, a.Node, a.Minutes.Budget, a.Minutes.Group, a.Minutes.Job)
		}
		if err == nil && len(associations) == 0 {
			t.Fatal("an empty answer was taken for the associations")
		}
		qos, _ := parseQOS(out)
		for _, q := range qos {
			all(q.Group, q.User, q.Account, q.Job, q.Node, q.Least, q.Minutes.Budget, q.UserMinutes)
		}
		l := slurm.Limits{Associations: associations, QOS: qos}
		if parseUsage(out, "c", &l) == nil {
			for _, a := range l.Associations {
				if len(a.Minutes.Used) != len(a.Minutes.Budget) {
					t.Fatalf("%+v", a)
				}
			}
		}
		partitions, err := parsePartitions(out)
		for _, p := range partitions {
			for _, w := range p.Weights {
				if w.Of == "" || !(w.N >= 0) {
					t.Fatalf("%+v", p)
				}
			}
			if err == nil && (p.Name == "" || p.MaxNodes < 0 || p.MinNodes < 0 || p.MaxTime < 0) {
				t.Fatalf("%+v", p)
			}
		}
		reservations, err := parseReservations(out)
		for _, r := range reservations {
			if err == nil && (r.Name == "" || !r.End.After(r.Start)) {
				t.Fatalf("%+v", r)
			}
		}
		_, _ = parseAccounting(out)
		_, _, _ = parseJobLimits(out, fixtureDelimiter)
		_, _ = parseExcluded(out, fixtureDelimiter)
	})
}

// TestSacctmgrAtTheSameTime: associations and QOS are asked for at the same time. Each call here waits
// until the other one has begun.
func TestSacctmgrAtTheSameTime(t *testing.T) {
	s := newStubs(t)
	s.write("config", fixture(t, "22.05", "limits", "config.txt"))
	s.write("assoc.txt", fixture(t, "22.05", "limits", "assoc.txt"))
	s.write("qos.txt", fixture(t, "22.05", "limits", "qos.txt"))
	s.write("assoc_mgr", fixture(t, "22.05", "limits", "usage.txt"))
	s.set("squeue", `nonce=${4#*@}; nonce=${nonce%%|*}; [ $3 = -o ] && { printf '7@%s|@%s.\n' $nonce $nonce; exit; }
printf '7@%s|@%s|0@%s|@%s.\n' $nonce $nonce $nonce $nonce`)
	s.set("scontrol", `case "$*" in
*config*) cat $here/config ;;
*assoc_mgr*) cat $here/assoc_mgr ;;
*partition*) echo 'PartitionName=gpu State=UP MaxNodes=2 MinNodes=0 MaxTime=UNLIMITED' ;;
*) echo 'No reservations in the system' ;; esac`)
	s.set("sacctmgr", `: > $here/began-$4
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
[ -e $here/began-assoc ] && [ -e $here/began-qos ] && exec cat $here/$4.txt; sleep .1; done; exit 1`)
	got, err := s.client(Config{}).Limits(t.Context())
	if err != nil || len(got.Associations) != 9 || len(got.QOS) != 2 {
		t.Errorf("%d associations, %d QOS, %v", len(got.Associations), len(got.QOS), err)
	}
}
