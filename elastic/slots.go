package elastic

import "slices"

// slots is how many moves may be open at once (Limits.Moves), and whose they are. Every user
// who has jobs that could move has an equal share of them. What others do not use now, a user
// may take beyond his share, but not the last: one stays free for each job of another's that
// could move, up to that one's share. So a user alone has them all.
type slots struct {
	limit   int
	resizes map[uint32]int // open, by user
	others  map[uint32]int // saves, parks and the like: many are due and ask nobody (withDue)
	lent    map[uint32]int // resizes that wait for too long; they hold no slot of anybody else's
	could   map[uint32]int // jobs that could move and do not
	users   map[uint32]bool
}

func newSlots(s *Snapshot) *slots {
	if s.Limits.Moves < 1 {
		return &slots{}
	}
	b := &slots{limit: s.Limits.Moves, resizes: map[uint32]int{}, others: map[uint32]int{}, lent: map[uint32]int{}, could: map[uint32]int{}, users: map[uint32]bool{}}
	of := make(map[JobID]uint32, len(s.Jobs))
	for i := range s.Jobs {
		of[s.Jobs[i].ID] = s.Jobs[i].UID
	}
	moves := map[JobID]bool{}
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

// couldMove: it would be asked for a checkpoint, if its size were to change.
func couldMove(j *Job, l *Limits) bool {
	return j.Phase == Running && j.Speaks && j.Unread.IsZero() && j.Quiet.IsZero() && !j.UserHold && !j.Directive.Hold && (l.DeafAfter == 0 || j.Deaf < l.DeafAfter)
}

// add counts an open move.
func (b *slots) add(in Intent, uid uint32, lends bool) {
	switch {
	case in.Kind == Start:
		return
	case lends:
		b.lent[uid]++
	case in.Kind == Resize:
		b.resizes[uid]++
	default:
		b.others[uid]++
	}
	b.users[uid] = true
}

// opens counts a move that the job's user may open.
func (b *slots) opens(in Intent, j *Job) {
	if b.limit < 1 {
		return
	}
	b.add(in, j.UID, false)
	if in.Kind != Start && b.could[j.UID] > 0 {
		b.could[j.UID]--
	}
}

// share is what every user may have, whoever else is there.
func (b *slots) share(uid uint32) int {
	n := len(b.users)
	if !b.users[uid] {
		n++
	}
	return max(1, b.limit/n)
}

// full reports whether the user may open no other move now; own, that it is for how many that
// user has open, while there are slots for others.
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
		// What is due to one user beyond his share is not held against another.
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

// Lends reports whether the move has waited for its checkpoint for as long as the site gives
// one (Limits.Grace), whatever its job was granted. The job trains on meanwhile: the GPUs meant
// for it, and its slot, are others' until it answers.
func (in Intent) Lends(s *Snapshot) bool {
	return in.Kind == Resize && in.Step == Asked && s.Limits.Grace > 0 && s.Now.After(in.AskedAt.Add(s.Limits.Grace))
}

// Lent is the snapshot in which a move that lends promises its job what it has, and no more.
func (s Snapshot) Lent() Snapshot {
	cloned := false
	for i, in := range s.Intents {
		if !in.Lends(&s) {
			continue
		}
		if !cloned {
			s.Intents, cloned = slices.Clone(s.Intents), true
		}
		s.Intents[i].Target, s.Intents[i].AnyNodes = in.From, false
	}
	return s
}

// tooLate: the job answered after its GPUs were lent, and somebody has them now, or the slots.
func tooLate(s situation) bool {
	return answeredWell(s) && s.in.Lends(&s.snap) && (targetTaken(s) || crowded(s))
}

// crowded: as many jobs are between two sizes as may be.
func crowded(s situation) bool {
	moving := 0
	for _, in := range s.snap.Intents {
		if in.Kind != Start && in.ID != s.in.ID && !in.Lends(&s.snap) {
			moving++
		}
	}
	return s.snap.Limits.Moves > 0 && moving >= s.snap.Limits.Moves
}
