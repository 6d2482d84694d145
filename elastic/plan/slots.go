package plan

import (
	"github.com/sluice-hpc/sluice/elastic"
)

// slots counts the moves that may be open at once (Limits.Moves), by user. Every user with jobs
// that could move has an equal share of them. A user may take more than that share of what
// others do not use now; but for each job of another user that could move one slot stays free,
// up to the share of that user. So a user alone has all of them.
//
// For example, of 4 slots with two users each may have 2. While the second user has no move, and one
// job that could move, the first may have 3; with none that could, 4.
type slots struct {
	limit   int
	resizes map[uint32]int // open resizes, by user
	others  map[uint32]int // saves, parks and the like: many are due whatever is decided (withDue)
	lent    map[uint32]int // resizes that lend their GPUs (Intent.Lends); they take no slot of another user
	could   map[uint32]int // number of jobs that could move and do not
	users   map[uint32]bool
}

// newSlots counts the open moves, and the jobs that could move, by user. Without a bound
// (Limits.Moves of 0) it counts nothing.
func newSlots(s *elastic.Snapshot) *slots {
	if s.Limits.Moves < 1 {
		return &slots{}
	}
	b := &slots{limit: s.Limits.Moves, resizes: map[uint32]int{}, others: map[uint32]int{}, lent: map[uint32]int{}, could: map[uint32]int{}, users: map[uint32]bool{}}
	of := make(map[elastic.JobID]uint32, len(s.Jobs))
	for i := range s.Jobs {
		of[s.Jobs[i].ID] = s.Jobs[i].UID
	}
	moves := map[elastic.JobID]bool{}
	for _, in := range s.Intents {
		moves[in.Job] = true
		b.add(in, of[in.Job], in.Lends(s))
	}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; !moves[j.ID] && couldMove(j, &s.Limits) {
			b.could[j.UID]++
			b.users[j.UID] = true
		}
	}
	return b
}

// couldMove reports whether the job would be asked for a checkpoint if its size were to change.
func couldMove(j *elastic.Job, l *elastic.Limits) bool {
	return j.Phase == elastic.Running && j.Speaks && j.Unread.IsZero() && j.Quiet.IsZero() && !j.UserHold && !j.Directive.Hold && (l.DeafAfter == 0 || j.Deaf < l.DeafAfter) && !j.LosesCheckpoints()
}

// add counts an open move.
func (b *slots) add(in elastic.Intent, uid uint32, lends bool) {
	switch {
	case in.Kind == elastic.Start:
		return
	case lends:
		b.lent[uid]++
	case in.Kind == elastic.Resize:
		b.resizes[uid]++
	default:
		b.others[uid]++
	}
	b.users[uid] = true
}

// opens counts a move that is opened for the job's user.
func (b *slots) opens(in elastic.Intent, j *elastic.Job) {
	if b.limit < 1 {
		return
	}
	b.add(in, j.UID, false)
	if in.Kind != elastic.Start && b.could[j.UID] > 0 {
		b.could[j.UID]--
	}
}

// share returns the slots that every user may have, whatever others have.
func (b *slots) share(uid uint32) int {
	n := len(b.users)
	if !b.users[uid] {
		n++
	}
	return max(1, b.limit/n)
}

// full reports whether the user may open no other move now. own: because of the user's own open
// moves, while there are slots for others.
// Full and not own: all slots are taken. Not full within the user's own share, if one is left.
func (b *slots) full(uid uint32) (full, own bool) {
	if b.limit < 1 {
		return false, false
	}
	share := b.share(uid)
	taken := b.resizes[uid] + b.others[uid]
	mine, kept := taken+b.lent[uid], 0
	for v := range b.users {
		if v == uid {
			continue
		}
		// What is due for one user beyond that user's share does not count against another.
		has := b.resizes[v] + min(b.others[v], max(0, share-b.resizes[v]))
		taken += has
		kept += max(0, min(share-has-b.lent[v], b.could[v]))
	}
	switch {
	case taken >= b.limit:
		return true, false
	case mine < share:
		return false, false
	}
	full = mine >= b.limit || taken+kept >= b.limit
	return full, full
}
