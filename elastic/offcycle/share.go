package offcycle

import (
	"maps"
	"time"
)

// How many goroutines work in folders at once: all of them may hang for ever, each in a thread
// of its own. Half of them are reserved for users with few.
const (
	mostAll  = 128
	mostUser = 32
	fewUser  = 4
)

// crew counts the goroutines at work, by user. It has no lock of its own: that of the Mailbox is
// held.
type crew struct {
	all   int
	of    map[uint32]int
	ready map[uint32][]*folder // folders that wait for a goroutine, in order
}

func newCrew() crew { return crew{of: map[uint32]int{}, ready: map[uint32][]*folder{}} }

// takes counts another goroutine for the user, if one is allowed.
//
// With fewer than 64 at work a user may have 32, beyond that 4. So the folders of two users that
// hang leave 64 goroutines, for 16 others at least. The caller MUST call leaves for each true.
func (c *crew) takes(uid uint32) bool {
	if c.all >= mostAll || c.of[uid] >= mostUser || c.all >= mostAll/2 && c.of[uid] >= fewUser {
		return false
	}
	c.all++
	c.of[uid]++
	return true
}

// leaves gives a goroutine of the user back. The caller MUST call dispatch afterwards, since
// folders may wait for it.
func (c *crew) leaves(uid uint32) {
	c.all--
	if c.of[uid]--; c.of[uid] <= 0 {
		delete(c.of, uid)
	}
}

// patience is the time that calls may wait: a fixed amount, refilled by a tenth of the time that
// passes. One user may use half of it. It bounds the part of a cycle that waits for folders,
// however many of them are late and however often the cycle runs: a tenth of the time, and a
// twentieth for the folders of one user. It has no lock of its own.
type patience struct {
	most time.Duration
	free time.Duration // part of each wait that is not counted
	all  purse
	of   map[uint32]purse // purses that are not full
}

// purse is an amount of waiting time at a time. left may be negative: a wait is counted in full
// when it is over.
type purse struct {
	left time.Duration
	at   time.Time
}

func newPatience(most, free time.Duration, now time.Time) patience {
	return patience{most: most, free: free, all: purse{most, now}, of: map[uint32]purse{}}
}

// refilled returns the purse at a later time. A clock that was set back refills nothing. It gains
// one part in share of the time that has passed, up to most.
func (p purse) refilled(most time.Duration, share time.Duration, now time.Time) purse {
	if passed := now.Sub(p.at); passed > 0 {
		p.left = min(most, p.left+passed/share)
	}
	p.at = now
	return p
}

// user returns the purse of a user now: half of the whole one, refilled half as fast. A user
// without one has a full purse, so that only users that waited lately take memory.
func (p *patience) user(uid uint32, now time.Time) purse {
	u, some := p.of[uid]
	if !some {
		u = purse{p.most / 2, now}
	}
	return u.refilled(p.most/2, 20, now)
}

// left returns how long a call for a folder of the user may wait now. 0 or less = not at all. It is
// the smaller of the user's and the common purse.
func (p *patience) left(uid uint32, now time.Time) time.Duration {
	p.all = p.all.refilled(p.most, 10, now)
	return min(p.all.left, p.user(uid, now).left)
}

// spend counts a wait. The caller MUST call it once for each wait, with all of its time; the free
// part is taken off here.
func (p *patience) spend(uid uint32, d time.Duration, now time.Time) {
	if d -= p.free; d <= 0 {
		return
	}
	p.all = p.all.refilled(p.most, 10, now)
	u := p.user(uid, now)
	p.all.left -= d
	u.left -= d
	p.of[uid] = u
	if len(p.of) > 1024 { // purses of users that waited long ago are full again
		maps.DeleteFunc(p.of, func(_ uint32, u purse) bool { return u.refilled(p.most/2, 20, now).left >= p.most/2 })
	}
}
