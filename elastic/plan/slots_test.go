package plan_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/nodes"
)

// usersJobs is jobs of users, on a node each, of which the first few have an open move, and a
// plan in which every other one shrinks.
type usersJobs struct {
	s     elastic.Snapshot
	a     elastic.Allocation
	where plan.Arrangement
}

func newUsersJobs(limit int) *usersJobs {
	return &usersJobs{
		s:     elastic.Snapshot{Now: noon, Limits: elastic.Limits{Moves: limit, Grace: 5 * time.Minute, DeafAfter: 3}},
		a:     elastic.Allocation{},
		where: plan.Arrangement{Target: map[elastic.JobID]nodes.Placement{}},
	}
}

// add adds jobs of a user; those that move have moved for some time.
func (c *usersJobs) add(uid uint32, idle, moving int, kind elastic.Kind, since time.Duration) {
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
func (c *usersJobs) opened() map[uint32]int {
	out := map[uint32]int{}
	for _, in := range plan.Reconcile(c.s, c.a, c.where).Open {
		out[c.s.Jobs[in.Job-1].UID]++
	}
	return out
}

// TestMovesAreSharedByUsers: one user's open moves never take another user's share, and a user
// alone has all slots.
func TestMovesAreSharedByUsers(t *testing.T) {
	for name, tc := range map[string]struct {
		add  func(*usersJobs)
		want map[uint32]int
	}{
		"alone":                      {func(c *usersJobs) { c.add(1, 20, 0, "", 0) }, map[uint32]int{1: 8}},
		"the first of two in order":  {func(c *usersJobs) { c.add(1, 20, 0, "", 0); c.add(2, 20, 0, "", 0) }, map[uint32]int{1: 4, 2: 4}},
		"the other has one job":      {func(c *usersJobs) { c.add(1, 20, 0, "", 0); c.add(2, 1, 0, "", 0) }, map[uint32]int{1: 7, 2: 1}},
		"the other has more already": {func(c *usersJobs) { c.add(1, 0, 7, elastic.Resize, 0); c.add(2, 5, 0, "", 0) }, map[uint32]int{2: 1}},
		"those have waited for long": {func(c *usersJobs) { c.add(1, 20, 8, elastic.Resize, time.Hour); c.add(2, 9, 0, "", 0) }, map[uint32]int{2: 8}},
		"a hundred saves are due":    {func(c *usersJobs) { c.add(1, 20, 100, elastic.Save, 0); c.add(2, 9, 0, "", 0) }, map[uint32]int{2: 4}},
		"three users": {func(c *usersJobs) { c.add(1, 9, 0, "", 0); c.add(2, 9, 0, "", 0); c.add(3, 9, 0, "", 0) },
			map[uint32]int{1: 4, 2: 2, 3: 2}},
	} {
		c := newUsersJobs(8)
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

// For any open moves: no more are opened than the site allows, a user with less than an equal
// share gets more unless all slots are taken, and no slot stays free that a user could use.
func TestSharesOfMovesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		c := newUsersJobs(limit)
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
