package policy

import (
	"fmt"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestManySharesAreSettled: a policy whose answers exceed one share after the other is asked a bounded
// number of times, and the answer is within all shares.
func TestManySharesAreSettled(t *testing.T) {
	for users, most := range map[int]int{fewShares - 24: questions + 2, fewShares + 36: 1} {
		t.Run(fmt.Sprint(users), func(t *testing.T) { settles(t, users, most) })
	}
}

// settles has a user of each share want all GPUs.
func settles(t *testing.T, users, most int) {
	s := elastic.Snapshot{Nodes: []nodes.Node{{Name: "g1", Partitions: []string{"gpu"}, GPUs: 4 * users, Usable: true}}}
	for id := range elastic.JobID(users) {
		s.Jobs = append(s.Jobs, elastic.Job{ID: id + 1, Partition: "gpu", Phase: elastic.Waiting, Spec: elastic.Spec{Min: 1, Max: 4 * users}, Speaks: true})
		s.Caps = append(s.Caps, elastic.Cap{Name: fmt.Sprint("share", id), Of: elastic.GPUs, Most: 4, Reclaims: true, Jobs: map[elastic.JobID]bool{id + 1: true}})
	}
	asked := 0
	greedy := func(s elastic.Snapshot) elastic.Allocation { // all for the first that takes more than 4
		asked++
		out, idle := elastic.Allocation{}, 4*users
		for i := range s.Jobs {
			options := s.Jobs[i].Spec.Options(idle)
			if len(options) > 0 {
				n := options[len(options)-1]
				out[s.Jobs[i].ID], idle = elastic.Decision{GPUs: n}, idle-n
			}
		}
		return out
	}
	b, a := bounded(s, question{decide: greedy, beside: greedy, rigid: func(string) bool { return false }, few: fewShares})
	for k := range b.snap.Caps {
		if got := b.share(k, a); got.want > got.room() {
			t.Errorf("the answer has %d GPUs of share %d, which has %d", got.want, k, got.room())
		}
	}
	if used(a) != 4*users || asked > most {
		t.Errorf("asked %d times, and %d of %d GPUs are used", asked, used(a), 4*users)
	}
}

// TestWhatNobodyTakesIsKept: of many shares, a job beyond its own keeps what no other job wants, and gives it
// back for one that waits.
func TestWhatNobodyTakesIsKept(t *testing.T) {
	place := nodes.Placement{{Node: "g1", GPUs: 6}}
	s := elastic.Snapshot{Nodes: []nodes.Node{{Name: "g1", Partitions: []string{"gpu"}, GPUs: 8, Used: 6, Usable: true}}}
	s.Jobs = []elastic.Job{{ID: 1, Partition: "gpu", Phase: elastic.Running, Place: place, Spec: elastic.Spec{Min: 1, Max: 8, AllowUneven: true}, Speaks: true}}
	s.Caps = []elastic.Cap{{Name: "share", Of: elastic.GPUs, Most: 4, Reclaims: true, Jobs: map[elastic.JobID]bool{1: true}}}
	p, err := ByName("knapsack")
	if err != nil {
		t.Fatal(err)
	}
	if d := p.AtOnce(s)[1]; d.GPUs != 8 {
		t.Errorf("without others the job goes from 6 to %d, want all 8: %v", d.GPUs, d.Why)
	}
	s.Jobs = append(s.Jobs, elastic.Job{ID: 2, Partition: "gpu", Phase: elastic.Waiting, Spec: elastic.Spec{Min: 4, Max: 4, AllowUneven: true}, Speaks: true})
	if a := p.AtOnce(s); a[1].GPUs != 4 || a[2].GPUs != 4 {
		t.Errorf("the job has %d GPUs while one of others that needs 4 gets %d, want 4 each", a[1].GPUs, a[2].GPUs)
	}
}
