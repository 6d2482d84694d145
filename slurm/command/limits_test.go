package command

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// The answers were recorded on a lab with accounting (sluice lab up --accounting).
func TestLimitsAsRecorded(t *testing.T) {
	site, err := parseAccounting(fixture(t, "22.05", "limits", "config.txt"))
	if err != nil || !site.enforced || !strings.HasPrefix(site.cluster, "lab") {
		t.Errorf("%+v, %v", site, err)
	}
	associations, err := parseAssociations(fixture(t, "22.05", "limits", "assoc.txt"))
	want := slurm.Association{Account: "theory", User: "i5a", Group: []slurm.Amount{{Of: "cpu", N: 10}, {Of: "gres/gpu", N: 2}},
		Job: []slurm.Amount{{Of: "cpu", N: 4}, {Of: "gres/gpu", N: 2}, {Of: "node", N: 1}}, Own: []slurm.Amount{{Of: "job", N: 3}}}
	if err != nil || len(associations) != 9 || !reflect.DeepEqual(associations[8], want) {
		t.Errorf("%+v, %v", associations, err)
	}
	if a := associations[5]; a.Account != "phys" || a.Parent != "root" || !reflect.DeepEqual(a.Group, []slurm.Amount{{Of: "gres/gpu", N: 6}, {Of: "job", N: 5}}) {
		t.Errorf("%+v", a)
	}
	qos, err := parseQOS(fixture(t, "22.05", "limits", "qos.txt"))
	if err != nil || len(qos) != 2 || fmt.Sprint(qos[1]) != "{capped [{gres/gpu 7} {job 9}] [{gres/gpu 3} {job 2}] [{gres/gpu 5} {node 2} {job 4}] [] [{gres/gpu 4}] [{gres/gpu 1}] true}" {
		t.Errorf("%v, %v", qos, err)
	}
	partitions, err := parsePartitions(fixture(t, "22.05", "limits", "partition.txt"))
	if err != nil || !reflect.DeepEqual(partitions, []slurm.Partition{{Name: "gpu", MaxNodes: 1, QOS: "capped", Up: true}}) {
		t.Errorf("%+v, %v", partitions, err)
	}
	reservations, err := parseReservations(fixture(t, "22.05", "limits", "reservation.txt"))
	if err != nil || len(reservations) != 2 || reservations[1].Name != "maint" || len(reservations[1].Nodes) != 2 ||
		reservations[1].End.Sub(reservations[1].Start) != time.Hour || !reservations[0].Start.Equal(time.Unix(1795279547, 0)) {
		t.Errorf("%+v, %v", reservations, err)
	}
	if none, err := parseReservations(fixture(t, "22.05", "limits", "noreservation.txt")); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}

// A torn or strange answer is an error: half of the limits must not pass for all.
func TestLimitsThatCannotBeRead(t *testing.T) {
	for _, out := range []string{"", "\n", "phys||", "phys|||root|gres/gpu=6|5|cpu=4||", "phys|||root|gres/gpu=x|5|||\n", "phys|||root|gres/gpu=|5|||\n", "phys|||\n", "|||root|||||\n"} {
		if list, err := parseAssociations(out); err == nil {
			t.Errorf("%q was read as %+v", out, list)
		}
	}
	for _, out := range []string{"", "PartitionName=gpu MaxNodes=4", "PartitionName=gpu State=UP MaxNodes=many", "slurm_load_partitions: error"} {
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

// The number of queries does not depend on the number of jobs: three where limits
// are not enforced and nothing is reserved, six at most.
func TestLimitsTakeFewQueries(t *testing.T) {
	s := newStubs(t)
	s.set("scontrol", `case "$*" in
*config*) printf 'ClusterName = c\nAccountingStorageEnforce = none\n' ;;
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
	s.write("reservation", fixture(t, "22.05", "limits", "reservation.txt"))
	s.set("sacctmgr", `cat $here/$4`)
	s.set("squeue", `nonce=${4#*:@}; nonce=${nonce%%|*}; printf '7@%s|r1@%s.\n8@%s|@%s.\n' $nonce $nonce $nonce $nonce`)
	s.set("scontrol", `case "$*" in
*config*) printf 'ClusterName = c\nAccountingStorageEnforce = associations,limits,qos\n' ;;
*partition*) echo 'PartitionName=gpu State=UP MaxNodes=2 MinNodes=0 MaxTime=UNLIMITED' ;;
*) cat $here/reservation ;; esac`)
	got, err = s.client(Config{}).Limits(context.Background())
	if err != nil || !got.Enforced || len(got.Associations) != 9 || len(got.QOS) != 2 || len(got.Reservations) != 2 || len(got.Reserved) != 1 || got.Reserved[7] != "r1" {
		t.Fatalf("%+v, %v", got, err)
	}
	if calls := s.calls(); len(calls) != 6 {
		t.Errorf("%d queries: %v", len(calls), calls)
	}
	s.set("sacctmgr", "exit 1") // what cannot be had whole is not had at all
	if got, err = s.client(Config{}).Limits(context.Background()); err == nil || got.Partitions != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzLimits(f *testing.F) {
	for _, name := range []string{"assoc.txt", "qos.txt", "partition.txt", "reservation.txt", "noreservation.txt", "config.txt"} {
		f.Add(fixture(f, "22.05", "limits", name))
	}
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
			all(a.Group, a.Own, a.Job, a.Node)
		}
		if err == nil && len(associations) == 0 {
			t.Fatal("nothing passed for the associations")
		}
		qos, _ := parseQOS(out)
		for _, q := range qos {
			all(q.Group, q.User, q.Account, q.Job, q.Node, q.Least)
		}
		partitions, err := parsePartitions(out)
		for _, p := range partitions {
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
		_, _ = parseReserved(out, fixtureDelimiter)
	})
}
