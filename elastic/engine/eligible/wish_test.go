package eligible

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// featured is a cluster of nodes n1, n2, ... with four idle GPUs each, in partition gpu; the even ones
// are also in partition all.
func featured(features ...string) (s elastic.Snapshot, inventory []slurm.Node) {
	s.Now = time.Unix(1e9, 0)
	for i, f := range features {
		n := nodes.Node{Name: fmt.Sprintf("n%d", i+1), GPUs: 4, Usable: true, Partitions: []string{"gpu"}}
		if i%2 == 1 {
			n.Partitions = []string{"all", "gpu"}
		}
		s.Nodes = append(s.Nodes, n)
		inventory = append(inventory, slurm.Node{Name: n.Name, Features: strings.Fields(f)})
	}
	return s, inventory
}

// inEach returns the nodes of each partition.
func inEach(s elastic.Snapshot, partitions string) string {
	var out []string
	for _, p := range strings.Split(partitions, ",") {
		var names []string
		for _, n := range s.Nodes {
			if n.In(p) {
				names = append(names, n.Name)
			}
		}
		out = append(out, strings.Join(names, " "))
	}
	return strings.Join(out, " | ")
}

func TestWhatAWishLeaves(t *testing.T) {
	for _, tc := range []struct {
		constraint, excluded, partitions string
		want, why                        string
	}{
		{"", "", "gpu", "n1 n2 n3 n4", ""},
		{"a", "", "gpu", "n1 n2 n3 n4", ""}, // all have it
		{"fast", "", "gpu", "n1 n2", "its constraint fast leaves n[1-2]"},
		{"fast", "", "gpu,all", "n1 n2 | n2", "its constraint fast leaves n[1-2]"},
		{"y", "", "gpu,all", "n4 | n4", "its constraint y leaves n4"},
		{"", "n2,n3", "gpu", "n1 n4", "what it excludes (n[2-3]) leaves n[1,4]"},
		{"fast|slow", "n1", "gpu", "n2 n3 n4", "its constraint fast|slow and what it excludes (n1) leave n[2-4]"},
		{"[fast|slow]", "", "gpu", "n1 n2 | n3 n4", "its constraint [fast|slow] leaves n[1-4]"},
		{"[fast|slow]", "n1,n2", "gpu", "n3 n4", "its constraint [fast|slow] and what it excludes (n[1-2]) leave n[3-4]"},
		{"[fast|a]", "", "gpu", "n1 n2 | n1 n2 n3 n4", "its constraint [fast|a] leaves n[1-4]"},
		{"fast&slow", "", "gpu,all", "", "its constraint fast&slow leaves no node of its partition"},
		{"fast*2", "", "gpu", "", `its constraint "fast*2": column 5: a node count is not supported: sluice chooses the number of nodes, and changes it; it stays as it is until that is changed: scontrol update JobId=... Features=...`},
	} {
		s, inventory := featured("fast a", "fast a", "slow a", "slow a y")
		c := newChooser(&s, inventory)
		w := wish{constraint: tc.constraint, excluded: tc.excluded}
		got := c.chosen(w, tc.partitions)
		left := inEach(s, got.partitions)
		if strings.Trim(left, " |") == "" {
			left = ""
		}
		if left != tc.want || say.Reason(got.why, time.Time{}) != tc.why || (got.bad != nil) != strings.Contains(tc.constraint, "*") {
			t.Errorf("%+v in %s: %s has %q, %q; want %q, %q", w, tc.partitions, got.partitions, left, say.Reason(got.why, time.Time{}), tc.want, tc.why)
		}
		if bad := Unreadable(tc.constraint); (bad != nil) != (got.bad != nil) || bad != nil && !reflect.DeepEqual(bad, got.why) {
			t.Errorf("the user is told %v, where the job waits for %v", bad, got.why)
		}
		if again := c.chosen(w, tc.partitions); !reflect.DeepEqual(again, got) {
			t.Errorf("asked again: %+v, then %+v", got, again)
		}
		if back := asPartitioned(got.partitions); left != "" && !strings.Contains(","+tc.partitions+",", ","+back+",") && back != tc.partitions {
			t.Errorf("%s is shown as %s", got.partitions, back)
		}
		for _, n := range NodesAsInSlurm(s.Nodes) {
			if !slices.Equal(n.Partitions, []string{"gpu"}) && !slices.Equal(n.Partitions, []string{"all", "gpu"}) {
				t.Errorf("people see %v", n.Partitions)
			}
		}
	}
}

// A job with a constraint is in a reservation, or is excluded from one.
func TestWishesAndReservations(t *testing.T) {
	s, inventory := featured("fast", "fast", "slow", "slow")
	got := newChooser(&s, inventory).chosen(wish{constraint: "fast"}, "gpu")
	l := slurm.Limits{Reservations: []slurm.Reservation{{Name: "r", Start: s.Now, End: s.Now.Add(time.Hour), Nodes: []string{"n2", "n3"}}}}
	k := keptFrom(l, 7, 0, s.Now)
	if !k.concerns(&s, got.partitions) {
		t.Fatal("the reservation has no effect on any job")
	}
	if left := inEach(s, k.partition(&s, got.partitions)); left != "n1" {
		t.Errorf("left are %q", left)
	}
	if concerned := keptFrom(slurm.Limits{Reservations: []slurm.Reservation{{Name: "r", End: s.Now.Add(time.Hour), Nodes: []string{"n3"}}}}, 7, 0, s.Now); concerned.concerns(&s, got.partitions) {
		t.Error("nodes that it does not accept concern it")
	}
}

// TestChoose: every job and every demand gets the partition of the nodes that it accepts.
func TestChoose(t *testing.T) {
	s, inventory := featured("fast", "slow")
	l := &Look{Nodes: inventory, Own: map[elastic.JobID]Job{}, Site: Read(slurm.Limits{Excluded: map[slurm.JobID][]string{3: {"n1"}}}, nil)}
	for id, constraint := range []string{1: "fast", 2: "fast*2", 3: ""} {
		if id == 0 {
			continue
		}
		l.Own[elastic.JobID(id)] = Job{Slurm: &slurm.Job{ID: slurm.JobID(id), Constraint: constraint, Partition: "gpu"}}
		s.Jobs = append(s.Jobs, elastic.Job{ID: elastic.JobID(id), Partition: "gpu"})
	}
	for id, constraint := range map[slurm.JobID]string{8: "slow", 9: "slow*2"} {
		l.Jobs = append(l.Jobs, slurm.Job{ID: id, State: slurm.Pending, Constraint: constraint})
		s.Demands = append(s.Demands, elastic.Demand{ID: elastic.JobID(id), Partition: "gpu"})
	}
	l.Choose(&s)
	for i, want := range []string{"n1", "", "n2"} {
		if got := inEach(s, s.Jobs[i].Partition); got != want || s.Jobs[i].Kept == nil {
			t.Errorf("job %d: %q, want %q (%s)", i+1, got, want, reason.String(s.Jobs[i].Kept))
		}
	}
	for _, d := range s.Demands {
		if want := map[elastic.JobID]string{8: "n2", 9: "n1 n2"}[d.ID]; inEach(s, d.Partition) != want {
			t.Errorf("%+v waits for %q", d, inEach(s, d.Partition))
		}
	}
	for _, d := range DemandsAsInSlurm(s.Demands) {
		if d.Partition != "gpu" {
			t.Errorf("people see %+v", d)
		}
	}
}

// Whatever a policy decides, no job is placed on a node that it does not accept, nor on nodes of
// several partitions or alternatives.
func TestNoJobIsPlacedWhereItDoesNotAccept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, inventory, wishes := drawChoosy(t)
		for _, p := range policy.All {
			where := plan.Arrange(s, p.Allocate(s))
			for i, j := range s.Jobs {
				target := where.Target[j.ID]
				if len(target) == 0 || target.Equal(j.Place) {
					continue
				}
				if !accepted(wishes[i], s, inventory, target) {
					t.Fatalf("%s puts job %d, which wants %+v, on %v: %+v", p.Name, j.ID, wishes[i], target, inventory)
				}
			}
		}
	})
}

// wanted is what a random job was submitted with.
type wanted struct {
	wish
	partitions string
}

// drawChoosy draws a random cluster of nodes with features and jobs with constraints. Some jobs run,
// not all of them on nodes that they would accept now.
func drawChoosy(t *rapid.T) (s elastic.Snapshot, inventory []slurm.Node, wishes []wanted) {
	var features []string
	for range rapid.IntRange(1, 6).Draw(t, "nodes") {
		features = append(features, rapid.SampledFrom([]string{"", "fast", "slow", "fast x", "slow x", "x"}).Draw(t, "features"))
	}
	s, inventory = featured(features...)
	s.Limits.Preempt = rapid.Bool().Draw(t, "preempt")
	c := newChooser(&s, inventory)
	for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
		w := wanted{wish{
			constraint: rapid.SampledFrom([]string{"", "fast", "fast|slow", "[fast|slow]", "[fast|x]&x", "fast&x", "x", "fast*2"}).Draw(t, "constraint"),
			excluded:   rapid.SampledFrom([]string{"", "", "n1", "n2,n3"}).Draw(t, "excluded"),
		}, rapid.SampledFrom([]string{"gpu", "all", "gpu,all"}).Draw(t, "partitions")}
		j := elastic.Job{
			ID: elastic.JobID(i + 1), Phase: elastic.Waiting, Speaks: true, Partition: w.partitions,
			Spec: elastic.Spec{Min: rapid.IntRange(1, 3).Draw(t, "min"), AllowUneven: rapid.Bool().Draw(t, "uneven"), Total: 100},
		}
		at := &s.Nodes[rapid.IntRange(0, len(s.Nodes)-1).Draw(t, "at")]
		if at.GPUs-at.Used >= j.Spec.Min && rapid.Bool().Draw(t, "runs") {
			at.Used += j.Spec.Min
			j.Phase, j.Place = elastic.Running, nodes.Placement{{Node: at.Name, GPUs: j.Spec.Min}}
		}
		j.Partition = c.chosen(w.wish, w.partitions).partitions
		s.Jobs, wishes = append(s.Jobs, j), append(wishes, w)
	}
	return s, inventory, wishes
}

// accepted checks each node independently of the virtual partitions.
func accepted(w wanted, s elastic.Snapshot, inventory []slurm.Node, target nodes.Placement) bool {
	has := func(share nodes.Share, feature string) bool {
		i := slices.IndexFunc(inventory, func(n slurm.Node) bool { return n.Name == share.Node })
		return slices.Contains(inventory[i].Features, feature)
	}
	every := func(ok func(nodes.Share) bool) bool {
		return !slices.ContainsFunc(target, func(share nodes.Share) bool { return !ok(share) })
	}
	inOne := slices.ContainsFunc(strings.Split(w.partitions, ","), func(p string) bool {
		return every(func(share nodes.Share) bool {
			i := slices.IndexFunc(s.Nodes, func(n nodes.Node) bool { return n.Name == share.Node })
			return s.Nodes[i].In(p)
		})
	})
	fast := func(share nodes.Share) bool { return has(share, "fast") }
	slow := func(share nodes.Share) bool { return has(share, "slow") }
	x := func(share nodes.Share) bool { return has(share, "x") }
	left := every(func(share nodes.Share) bool { return !slices.Contains(strings.Split(w.excluded, ","), share.Node) })
	asked := map[string]bool{
		"": true, "fast": every(fast), "x": every(x), "fast*2": false, "[fast|slow]": every(fast) || every(slow),
		"fast|slow":  every(func(share nodes.Share) bool { return fast(share) || slow(share) }),
		"[fast|x]&x": every(x), "fast&x": every(fast) && every(x),
	}[w.constraint]
	return inOne && left && asked
}

// TestTypesWishedFor: a job uses a node with several types of GPU only if it requests exactly one type.
func TestTypesWishedFor(t *testing.T) {
	for wished, want := range map[string][2]string{
		"red":      {"n1 n2", "its type of GPU, red, leaves n[1-2]"},
		"blue":     {"n2 n3", "its type of GPU, blue, leaves n[2-3]"},
		"blue,red": {"n3 | n1", "its type of GPU, blue or red, leaves n[1,3]; GPUs of n2, with several types, are for jobs that name one: sluice submit --gpu-types=blue"},
		"green":    {"", "its type of GPU, green, leaves no node of its partition"},
	} {
		s, inventory := featured("", "", "", "")
		inventory[0].GPUs, inventory[0].GPUType = 4, "red"
		inventory[1].GPUs, inventory[1].Types = 4, []slurm.OfType{{Type: "blue", GPUs: 1}, {Type: "red", GPUs: 3}}
		inventory[2].GPUs, inventory[2].GPUType = 4, "blue"
		got := newChooser(&s, inventory).chosen(wish{types: wished}, "gpu")
		if left := inEach(s, got.partitions); left != want[0] || say.Reason(got.why, time.Time{}) != want[1] {
			t.Errorf("%s: %q, %q; want %q", wished, left, say.Reason(got.why, time.Time{}), want)
		}
	}
}
