package engine

import "github.com/sluice-hpc/sluice/checkpoint"

// What one user's files of progress cost others at most, a cycle. They end the reading of a
// user's files: the file that passes them is the last. What is left waits for its turn; who was
// not heard for longest is next.
const linesPerUser, bytesPerUser = 2000, 256 << 10

// reading is a job's file of progress, and how far it was read before.
type reading struct {
	box
	offset int64
}

// lines are what was read of one.
type lines struct {
	read  bool // it was tried; else the user's budget was spent
	lines []checkpoint.Progress
	next  int64
	bad   []error
	err   error
}

// readerBudget is what was read in this cycle, by user.
type readerBudget map[uint32]struct{ lines, bytes int64 }

func (b readerBudget) spent(uid uint32) bool {
	return b[uid].lines >= linesPerUser || b[uid].bytes >= bytesPerUser
}

// progress reads the new lines of jobs, within what each user may cost, in the order given.
func (y *eyes) progress(all []reading) []lines {
	out, budget := make([]lines, len(all)), readerBudget{}
	for i, r := range all {
		if budget.spent(r.uid) {
			continue
		}
		l := &out[i]
		l.read = true
		l.lines, l.next, l.bad, l.err = y.mail.Progress(r.token, r.uid, r.offset)
		if l.err == nil {
			budget.spend(r, l)
		}
	}
	return out
}

// spend counts what was read. A file that was made shorter was read from its start.
func (b readerBudget) spend(r reading, l *lines) {
	of := b[r.uid]
	of.lines += int64(len(l.lines) + len(l.bad))
	of.bytes += max(0, l.next-r.offset)
	if l.next < r.offset {
		of.bytes += l.next
	}
	b[r.uid] = of
}
