package elastic_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// crowd is jobs of users on a node each, of which the first few have an open move, and a plan in
// which every other one shrinks.
type crowd struct {
	s     elastic.Snapshot
	a     elastic.Allocation
	where elastic.Arrangement
}

func newCrowd(limit int) *crowd {
	return &crowd{
		s:     elastic.Snapshot{Now: noon, Limits: elastic.Limits{Moves: limit, Grace: 5 * time.Minute, DeafAfter: 3}},
		a:     elastic.Allocation{},
		where: elastic.Arrangement{Target: map[elastic.JobID]nodes.Placement{}},
	}
}

// add adds jobs of a user; those that move have done so for a while.
func (c *crowd) add(uid uint32, idle, moving int, kind elastic.Kind, since time.Duration) {
	for n := range idle + moving {
		id := elastic.JobID(len(c.s.Jobs) + 1)
		node := "n" + string(rune('a'+len(c.s.Jobs)/26)) + string(rune('a'+len(c.s.Jobs)%26))
		on := func(gpus int) nodes.Placement { return nodes.Placement{{Node: node, GPUs: gpus}} }
		c.s.Nodes = append(c.s.Nodes, nodes.Node{Name: node, GPUs: 4, Used: 2, Usable: true})
		c.s.Jobs = append(c.s.Jobs, elastic.Job{ID: id, UID: uid, Phase: elastic.Running, Speaks: true, Place: on(2), Spec: elastic.Spec{Min: 1, Max: 4}})
		if n < moving {
			c.s.Intents = append(c.s.Intents, elastic.Intent{ID: int64(id), Job: id, Kind: kind, Step: elastic.Asked, From: on(2), Target: on(4), AskedAt: noon.Add(-since)})
			c.where.Target[id] = on(4)
			continue
		}
		c.a[id], c.where.Target[id], c.where.Order = elastic.Decision{GPUs: 1}, on(1), append(c.where.Order, id)
	}
}

// opened counts the moves that are opened, by user.
func (c *crowd) opened() map[uint32]int {
	out := map[uint32]int{}
	for _, in := range elastic.Reconcile(c.s, c.a, c.where).Open {
		out[c.s.Jobs[in.Job-1].UID]++
	}
	return out
}

// TestMovesAreSharedByUsers: what one user's jobs have open never keeps another user from the
// share that is the other's, and a user alone has everything.
func TestMovesAreSharedByUsers(t *testing.T) {
	for name, tc := range map[string]struct {
		add  func(*crowd)
		want map[uint32]int
	}{
		"alone":                      {func(c *crowd) { c.add(1, 20, 0, "", 0) }, map[uint32]int{1: 8}},
		"the first of two in order":  {func(c *crowd) { c.add(1, 20, 0, "", 0); c.add(2, 20, 0, "", 0) }, map[uint32]int{1: 4, 2: 4}},
		"the other has one job":      {func(c *crowd) { c.add(1, 20, 0, "", 0); c.add(2, 1, 0, "", 0) }, map[uint32]int{1: 7, 2: 1}},
		"the other has more already": {func(c *crowd) { c.add(1, 0, 7, elastic.Resize, 0); c.add(2, 5, 0, "", 0) }, map[uint32]int{2: 1}},
		"those have waited for long": {func(c *crowd) { c.add(1, 20, 8, elastic.Resize, time.Hour); c.add(2, 9, 0, "", 0) }, map[uint32]int{2: 8}},
		"a hundred saves are due":    {func(c *crowd) { c.add(1, 20, 100, elastic.Save, 0); c.add(2, 9, 0, "", 0) }, map[uint32]int{2: 4}},
		"three users": {func(c *crowd) { c.add(1, 9, 0, "", 0); c.add(2, 9, 0, "", 0); c.add(3, 9, 0, "", 0) },
			map[uint32]int{1: 4, 2: 2, 3: 2}},
	} {
		c := newCrowd(8)
		tc.add(c)
		got := c.opened()
		for _, uid := range []uint32{1, 2, 3} {
			if got[uid] != tc.want[uid] {
				t.Errorf("%s: %v opened, want %v", name, got, tc.want)
				break
			}
		}
	}
}

// Whoever has what open: no more than the site allows are opened, a user with less than an
// equal share gets more unless all slots are taken, and none stays free that a user could use.
func TestSharesOfMovesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		c := newCrowd(limit)
		users := rapid.IntRange(1, 5).Draw(t, "users")
		idle, open := map[uint32]int{}, map[uint32]int{}
		total := 0
		for uid := range uint32(users) {
			idle[uid], open[uid] = rapid.IntRange(0, 8).Draw(t, "idle"), rapid.IntRange(0, 4).Draw(t, "open")
			c.add(uid, idle[uid], open[uid], elastic.Resize, 0)
			total += open[uid]
		}
		got, sum, waiting := c.opened(), 0, 0
		for uid := range uint32(users) {
			sum += got[uid]
			waiting += idle[uid] - got[uid]
		}
		if sum > 0 && total+sum > limit {
			t.Fatalf("%d open, %v opened, %d allowed", total, got, limit)
		}
		if total+sum < limit && waiting > 0 {
			t.Fatalf("%d open, %v opened of %v, %d allowed: slots stay free", total, got, idle, limit)
		}
		for uid := range uint32(users) {
			if open[uid]+got[uid] < limit/users && got[uid] < idle[uid] && total+sum < limit {
				t.Fatalf("user %d has %d of %d", uid, open[uid]+got[uid], limit)
			}
		}
	})
}

// TestLentGPUs: a move that waits for longer than the site's grace keeps nothing from others;
// answered then, it goes on if its GPUs are free and is withdrawn if they are not.
func TestLentGPUs(t *testing.T) {
	c := newCrowd(8)
	c.add(1, 0, 1, elastic.Resize, time.Hour)
	c.add(2, 1, 0, "", 0)
	other := c.s.Jobs[1]
	other.Place = nil
	target := nodes.Placement{{Node: "naa", GPUs: 2}}
	if c.s.Available(target, other) {
		t.Error("GPUs promised to a move are free for others")
	}
	lent := c.s.Lent()
	if !lent.Available(target, other) || c.s.Intents[0].Target.GPUs() != 4 {
		t.Errorf("lent GPUs are not free: %v", lent.Intents)
	}
	in, job := c.s.Intents[0], c.s.Jobs[0]
	in.Request, job.Spec.Grace = "1.2.3", 2*time.Hour
	if next := elastic.Advance(in, job, lent); next.Close != "" || len(next.Do) > 0 {
		t.Errorf("while it waits: %+v", next)
	}
	job.Saved = elastic.Saved{Request: "1.2.3", Checkpoint: "00000001"}
	if next := elastic.Advance(in, job, lent); next.Intent.Step != elastic.Verified {
		t.Errorf("it answers, its GPUs are free: %+v", next)
	}
	lent.Nodes[0].Used = 4
	next := elastic.Advance(in, job, lent)
	if _, withdrawn := append(next.Do, nil)[0].(elastic.WithdrawRequest); next.Close != elastic.Abandoned || !withdrawn {
		t.Errorf("it answers, its GPUs are taken: %+v", next)
	}
}

// TestGraceIsBounded: no job is waited for longer than the site's maximum, whatever its spec or
// its runner says; that maximum is at least what the site gives every job.
func TestGraceIsBounded(t *testing.T) {
	const year = 365 * 24 * time.Hour
	site := elastic.Limits{Grace: 5 * time.Minute, MaxGrace: 4 * time.Hour}
	for _, tc := range []struct {
		limits elastic.Limits
		spec   elastic.Spec
		rhythm time.Duration
		want   time.Duration
	}{
		{site, elastic.Spec{}, 0, 5 * time.Minute},
		{site, elastic.Spec{Grace: time.Hour}, 0, time.Hour},
		{site, elastic.Spec{Grace: 200000 * time.Hour}, 0, 4 * time.Hour},
		{site, elastic.Spec{Habit: true}, 10 * time.Minute, 25 * time.Minute},
		{site, elastic.Spec{Habit: true}, 1e8 * time.Second, 4 * time.Hour},
		{site, elastic.Spec{}, 3 * year, 5 * time.Minute},
		{elastic.Limits{Grace: time.Hour, MaxGrace: time.Minute}, elastic.Spec{}, 0, time.Hour},
	} {
		if got := tc.limits.GraceOf(tc.spec, tc.rhythm); got != tc.want {
			t.Errorf("%+v, rhythm %v: %v, want %v", tc.spec, tc.rhythm, got, tc.want)
		}
	}
}
